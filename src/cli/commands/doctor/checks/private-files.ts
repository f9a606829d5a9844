import { dirname, join } from 'node:path'
import { isFile } from '../context/databases.js'
import { type Entry, quoted } from '../context/files.js'
import type { Scene } from '../context/scene.js'
import { orElse, problem, type Verdict, warning } from '../context/verdict.js'

/** Whether the folders are there, private, and can be written to. */
export function folders(scene: Scene): readonly Verdict[] {
  const { home } = scene
  const all = [...new Set([home.config, home.catalogue, home.state].map((file) => dirname(file)))]
  const there = all.filter((folder) => scene.files.entry(folder))
  const fine = there.length === 0 ? 'is made by the first command' : 'is private'
  return orElse(
    all.flatMap((folder) => folderTroubles(scene, folder)),
    `${all.join(', ')} ${fine}.`,
  )
}

function folderTroubles(scene: Scene, folder: string): readonly Verdict[] {
  const entry = scene.files.entry(folder)
  if (!entry) return []
  if (entry.kind === 'link')
    return [problem(`${folder} is a symbolic link.`, 'Set PROSPECT_HOME to the folder itself.')]
  if (entry.kind !== 'folder')
    return [problem(`${folder} is not a folder.`, 'Set PROSPECT_HOME to a folder.')]
  // One that holds nothing yet becomes private with the first command.
  const isEmpty = scene.files.names(folder).length === 0
  const troubles = isEmpty ? [] : ownTroubles(scene, folder, entry)
  if (scene.files.isWritable(folder) || troubles.length > 0) return troubles
  return [problem(`${folder} cannot be written to.`, `chmod 700 ${quoted(folder)}`)]
}

/** Whether the files are real ones, private, and of this user. */
export function privateFiles(scene: Scene): readonly Verdict[] {
  const { config, credentials, engine, catalogue, state } = scene.home
  const main = [config, credentials, engine, catalogue, state].filter(isFile)
  const beside = main.slice(2).flatMap((file) => [`${file}-wal`, `${file}-shm`])
  const below = ['runs', 'locks'].flatMap((name) => within(scene, join(dirname(state), name)))
  const there = [...main, ...beside, ...below].filter((file) => scene.files.entry(file))
  const troubles = [
    ...main.flatMap((file) => fileTroubles(scene, file)),
    ...[...beside, ...below].flatMap((file) =>
      fileTroubles(scene, file).map(({ text, hint }) => warning(text, hint)),
    ),
  ]
  const some = there.length === 1 ? '1 file is' : `${there.length} files are`
  return orElse(troubles, there.length === 0 ? 'There are no files yet.' : `${some} readable by you only.`)
}

/** A folder and what is in it, folders below included. */
function within(scene: Scene, folder: string): string[] {
  const names = scene.files.names(folder)
  const inside = names.flatMap((name) => {
    const path = join(folder, name)
    return scene.files.entry(path)?.kind === 'folder' ? within(scene, path) : [path]
  })
  return scene.files.entry(folder) ? [folder, ...inside] : []
}

function fileTroubles(scene: Scene, file: string): readonly Verdict[] {
  const entry = scene.files.entry(file)
  if (!entry) return []
  if (entry.kind === 'link')
    return [problem(`${file} is a symbolic link.`, `Put the file itself there: rm ${quoted(file)}`)]
  return ownTroubles(scene, file, entry)
}

/** What is wrong with owner and mode; Windows has no such bits. */
function ownTroubles(scene: Scene, path: string, entry: Entry): readonly Verdict[] {
  if (scene.platform === 'win32') return []
  if (scene.user !== undefined && entry.owner !== scene.user)
    return [problem(`${path} belongs to another user.`, `sudo chown -R "$(id -un)" ${quoted(path)}`)]
  if ((entry.mode & 0o077) === 0) return []
  return [
    problem(
      `${path} can be read or changed by other users (mode ${entry.mode.toString(8)}).`,
      `chmod ${entry.kind === 'folder' ? 700 : 600} ${quoted(path)}`,
    ),
  ]
}
