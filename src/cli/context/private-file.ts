import { closeSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs'
import { checkFile } from './home.js'

/** The text of a private file; nothing when there is none. */
export function readPrivate(file: string): string | undefined {
  checkFile(file)
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** Replaces a private file whole: 0600 from its first byte, durable before it takes the name. */
export function writePrivate(file: string, text: string, unique: string): void {
  checkFile(file)
  const partial = `${file}.${unique}.partial`
  const descriptor = openSync(partial, 'wx', 0o600)
  try {
    writeSync(descriptor, text)
    fsyncSync(descriptor)
    closeSync(descriptor)
    renameSync(partial, file)
  } catch (error) {
    rmSync(partial, { force: true })
    throw error
  }
}
