import { fstatSync, statSync, writeSync } from 'node:fs'
import type { Streams } from './context.js'

type OutputStream = Streams['stdout']

/** What every pipe takes without waiting for its reader, in bytes. */
const room = 4_096

/**
 * Returns stdout or stderr of the process. The stream of a file or pipe is made once it is needed, which takes a tenth of a
 * short command: the first bytes are written without it. What could not be written, the stream tries again, and reports.
 */
export function outputOf(descriptor: 1 | 2, open: () => OutputStream): OutputStream {
  if (!isPlain(descriptor)) return open()
  let opened: OutputStream | undefined
  let left = room
  const listeners: (readonly [event: string, listener: () => void])[] = []
  const stream = () => {
    if (opened) return opened
    opened = open()
    for (const [event, listener] of listeners) opened.on(event, listener)
    return opened
  }
  const early: Record<string | symbol, unknown> = {
    write(text: string | Uint8Array, written?: () => void) {
      const bytes = Buffer.from(text as string)
      if (bytes.length > left) return stream().write(bytes, written)
      left -= bytes.length
      const rest = bytes.subarray(tryWrite(descriptor, bytes))
      if (rest.length > 0) return stream().write(rest, written)
      if (written) process.nextTick(written)
      return true
    },
    on(event: string, listener: () => void) {
      listeners.push([event, listener])
      return output
    },
    listenerCount: (event: string) => listeners.filter(([name]) => name === event).length,
    isTTY: undefined,
    columns: undefined,
    rows: undefined,
  }
  const output = new Proxy({} as OutputStream, {
    get(_, name) {
      if (opened === undefined && name in early) return early[name]
      const value: unknown = Reflect.get(stream(), name)
      return typeof value === 'function' ? value.bind(stream()) : value
    },
  })
  return output
}

/** Whether it is a file, a pipe, or what is thrown away; a terminal is none. */
function isPlain(descriptor: number): boolean {
  try {
    const file = fstatSync(descriptor)
    if (file.isCharacterDevice()) return file.rdev === statSync('/dev/null').rdev
    return file.isFile() || file.isFIFO() || file.isSocket()
  } catch {
    return false
  }
}

/** Returns how many bytes were written. */
function tryWrite(descriptor: number, bytes: Uint8Array): number {
  try {
    return writeSync(descriptor, bytes)
  } catch {
    return 0
  }
}
