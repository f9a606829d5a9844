import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'

/** How things of tests are given up. */
interface Closing {
  readonly remove?: () => unknown
  readonly close?: () => unknown
  readonly drop?: () => unknown
  readonly stop?: () => unknown
}

/** Gives an object the members of another one: methods are called on that one, and values read and set there. */
function become(standing: object, current: object): void {
  for (const name of Object.getOwnPropertyNames(standing)) Reflect.deleteProperty(standing, name)
  for (let from: object = current; from && from !== Object.prototype; from = Object.getPrototypeOf(from))
    for (const [name, found] of Object.entries(Object.getOwnPropertyDescriptors(from))) {
      if (name === 'constructor' || Object.hasOwn(standing, name)) continue
      const { enumerable = false } = found
      const member =
        typeof found.value === 'function'
          ? { value: found.value.bind(current), writable: true }
          : { get: () => Reflect.get(current, name), set: (to: unknown) => Reflect.set(current, name, to) }
      Object.defineProperty(standing, name, { ...member, enumerable, configurable: true })
    }
}

function opened<T extends object>(
  open: () => T | Promise<T>,
  before: (run: () => Promise<void>) => void,
  after: (run: () => Promise<void>) => void,
): T {
  const standing = {} as T
  let now: T | undefined
  before(async () => {
    now = await open()
    become(standing, now)
  })
  after(async () => {
    const { remove, close, drop, stop } = (now ?? {}) as Closing
    await (remove ?? close ?? drop ?? stop)?.call(now)
  })
  return standing
}

/** What each test has anew: it is opened before the test, and removed or closed after it. */
export const perTest = <T extends object>(open: () => T | Promise<T>): T =>
  opened(open, beforeEach, afterEach)

/** What the tests of a file or of a block share: it is opened before the first of them, and closed after the last. */
export const perFile = <T extends object>(open: () => T | Promise<T>): T => opened(open, beforeAll, afterAll)
