import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'

/** How things of tests are given up. */
interface Closing {
  readonly remove?: () => unknown
  readonly close?: () => unknown
  readonly drop?: () => unknown
  readonly stop?: () => unknown
}

/** An object in whose place stands what `current` returns. */
const standingFor = <T extends object>(current: () => T): T =>
  new Proxy({} as T, {
    get: (_, name) => {
      const value: unknown = Reflect.get(current(), name)
      return typeof value === 'function' ? value.bind(current()) : value
    },
    set: (_, name, value) => Reflect.set(current(), name, value),
    has: (_, name) => Reflect.has(current(), name),
    ownKeys: () => Reflect.ownKeys(current()),
    getOwnPropertyDescriptor: (_, name) => {
      const found = Reflect.getOwnPropertyDescriptor(current(), name)
      return found && { ...found, configurable: true }
    },
  })

function opened<T extends object>(
  open: () => T | Promise<T>,
  before: (run: () => Promise<void>) => void,
  after: (run: () => Promise<void>) => void,
): T {
  let now: T | undefined
  before(async () => {
    now = await open()
  })
  after(async () => {
    const { remove, close, drop, stop } = (now ?? {}) as Closing
    await (remove ?? close ?? drop ?? stop)?.call(now)
  })
  return standingFor(() => {
    if (!now) throw new Error('It is not open yet: it is there in tests and in what runs before them.')
    return now
  })
}

/** What each test has anew: it is opened before the test, and removed or closed after it. */
export const perTest = <T extends object>(open: () => T | Promise<T>): T =>
  opened(open, beforeEach, afterEach)

/** What the tests of a file or of a block share: it is opened before the first of them, and closed after the last. */
export const perFile = <T extends object>(open: () => T | Promise<T>): T => opened(open, beforeAll, afterAll)
