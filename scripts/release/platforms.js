/** The platforms that a release has an archive for, with a Node and a SQLite of their own. */
import { readFileSync } from 'node:fs'

/**
 * `runtime` is the key in `scripts/runtimes.json`, `sqlite` the binary of better-sqlite3, `binary` what both have to be, and
 * `debian` the architecture of a package, where there is one.
 */
export const platforms = {
  'linux-x64': { runtime: 'linux-x64', sqlite: 'linux-x64', binary: 'ELF x64', debian: 'amd64' },
  'linux-arm64': { runtime: 'linux-arm64', sqlite: 'linux-arm64', binary: 'ELF arm64', debian: 'arm64' },
  'darwin-arm64': { runtime: 'darwin-arm64', sqlite: 'darwin-arm64', binary: 'Mach-O arm64' },
  'darwin-x64': { runtime: 'darwin-x64', sqlite: 'darwin-x64', binary: 'Mach-O x64' },
  'win-x64': { runtime: 'win32-x64', sqlite: 'win32-x64', binary: 'PE x64', isWindows: true },
}

const machines = {
  ELF: { 62: 'x64', 183: 'arm64' },
  'Mach-O': { 16777223: 'x64', 16777228: 'arm64' },
  PE: { 34404: 'x64', 43620: 'arm64' },
}

/** Returns the format and the architecture of an executable or a library, such as `ELF x64`. */
export function binaryOf(path) {
  const bytes = readFileSync(path)
  const named = (format, machine) => `${format} ${machines[format][machine] ?? `machine ${machine}`}`
  if (bytes.readUInt32BE(0) === 0x7f454c46) return named('ELF', bytes.readUInt16LE(18))
  if (bytes.readUInt32LE(0) === 0xfeedfacf) return named('Mach-O', bytes.readUInt32LE(4))
  if (bytes.toString('latin1', 0, 2) === 'MZ') {
    const header = bytes.readUInt32LE(60)
    if (bytes.toString('latin1', header, header + 4) === 'PE\0\0')
      return named('PE', bytes.readUInt16LE(header + 4))
  }
  return 'no program'
}
