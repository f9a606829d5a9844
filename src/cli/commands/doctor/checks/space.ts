import { isFile } from '../context/databases.js'
import { nearestFolder, sizeText } from '../context/files.js'
import type { Scene } from '../context/scene.js'
import { orElse, problem, type Verdict, warning } from '../context/verdict.js'

const mebibyte = 1_048_576
/** The log of a database alone grows to 16 MiB before it is written back. */
const tooLittle = 64 * mebibyte
const little = 1_024 * mebibyte

/** Whether there is room to write. */
export function freeSpace(scene: Scene): readonly Verdict[] {
  const spaces = placesOf(scene).map((folder) => ({ folder, free: scene.files.space(folder).free }))
  const troubles = spaces.flatMap(({ folder, free }) => {
    if (free >= little) return []
    const text = `Only ${sizeText(free)} are free where ${folder} is.`
    return [
      (free < tooLittle ? problem : warning)(text, 'Free some space, or set PROSPECT_HOME to a larger disk.'),
    ]
  })
  return orElse(troubles, `${sizeText(Math.min(...spaces.map(({ free }) => free)))} are free.`)
}

/** File systems that are reached over a network, as Linux numbers them. */
const overNetwork: ReadonlyMap<number, string> = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xfe534d42, 'SMB'],
  [0xff534d42, 'CIFS'],
  [0x5346414f, 'AFS'],
  [0x00c36400, 'Ceph'],
  [0x01021997, '9P'],
  [0x0bd00bd0, 'Lustre'],
])
/** Some file systems of this kind are local, others are not, and none says which. */
const fuse = 0x65735546

/** Whether the databases are on a disk of this machine: over a network, locks do not hold what they promise. */
export function fileSystem(scene: Scene): readonly Verdict[] {
  if (scene.platform !== 'linux') return []
  const troubles = placesOf(scene).flatMap((folder) => {
    const { type } = scene.files.space(folder)
    const name = overNetwork.get(type)
    const hint = 'Set PROSPECT_HOME to a folder on a disk of this machine.'
    if (name)
      return [
        warning(`${folder} is on a network file system (${name}), where databases can be damaged.`, hint),
      ]
    if (type !== fuse) return []
    return [warning(`${folder} is on a FUSE file system, which may be one over a network.`, hint)]
  })
  return orElse(troubles, 'The databases are on a disk of this machine.')
}

/** The folders that databases are in, or will be. */
function placesOf({ home, files }: Scene): string[] {
  const locations = [home.engine, home.catalogue, home.state].filter(isFile)
  return [...new Set(locations.map((path) => nearestFolder(files, path)))]
}
