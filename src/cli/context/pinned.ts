import { constants, existsSync, realpathSync } from 'node:fs'
import { type FileHandle, open, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { Refusal } from '../../api/calls/errors.js'
import { resultOr } from '../../api/values/objects.js'
import { unreadable } from '../../csv/unreadable.js'
import { type Files, nodeFiles } from '../../runs/output/writer.js'
import { isInside } from './home.js'

/** Whether paths lead to what a process has opened, as on Linux. Elsewhere a path is checked once, before it is opened. */
const hasDescriptors = existsSync('/proc/self/fd')

/** Returns a path that leads to what is open, whatever its name leads to since; also for a child process. */
const pathOf = (opened: FileHandle): string => `/proc/${process.pid}/fd/${opened.fd}`

/** Closes what is open, and throws a Refusal, where it is outside of the only folder of the files of a command. */
async function checkInside(opened: FileHandle, root: string, name: string, path: string): Promise<void> {
  // What was removed since has no path.
  if (resultOr(false, () => isInside(root, realpathSync.native(pathOf(opened))))) return
  await opened.close()
  throw new Refusal('usage.mcp_outside', { name, path, root })
}

/** A regular file of a folder, which stays that file when another one gets its name. */
export interface PinnedFile {
  readonly file: FileHandle
  readonly path: string
}

/**
 * Opens a file in a folder; `undefined` where nothing can be pinned. Throws a Refusal for one outside of it, and for what is no
 * file: read by its name afterwards, it could be another one by then.
 */
export async function pinFile(root: string, name: string, path: string): Promise<PinnedFile | undefined> {
  if (!hasDescriptors) return undefined
  const refuse = (cause: unknown) => {
    throw unreadable(path, cause)
  }
  const found = await stat(path).catch(refuse)
  if (found.isDirectory()) throw new Refusal('csv.folder', { path })
  if (!found.isFile()) throw new Refusal('csv.not_regular', { path })
  const file = await open(path).catch(refuse)
  await checkInside(file, root, name, path)
  return { file, path: pathOf(file) }
}

/** The file system for a file to write in a folder that stays the same when its name leads elsewhere. */
export interface PinnedFolder extends Files {
  at(path: string): string
  close(): Promise<void>
}

/** Pins the folder of a file to write; `undefined` where nothing can be pinned. Throws a Refusal for one outside of `root`. */
export async function pinFolder(root: string, name: string, path: string): Promise<PinnedFolder | undefined> {
  if (!hasDescriptors) return undefined
  const folder = await open(dirname(path), constants.O_RDONLY | constants.O_DIRECTORY).catch(
    (cause: unknown) => {
      throw new Refusal('output.failed', { path, cause })
    },
  )
  await checkInside(folder, root, name, path)
  const at = (file: string) => join(pathOf(folder), basename(file))
  return {
    at,
    create: (file) => nodeFiles.create(at(file)),
    kind: (file) => nodeFiles.kind(at(file)),
    device: (file, signal) => nodeFiles.device(at(file), signal),
    remove: (file) => nodeFiles.remove(at(file)),
    rename: (from, to) => nodeFiles.rename(at(from), at(to)),
    syncFolder: () => folder.sync(),
    close: () => folder.close(),
  }
}
