import { readdirSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { root } from '../run.js'

/** The module with `runBatch`. All code that it loads of `src/batch`, `src/csv` and `src/cli` is the path of a row. */
const start = 'src/batch/run-batch.ts'
const counted = /^src\/(?:batch|csv|cli)\/.*\.ts$/
const maxFiles = 30
const maxImports = 15

/** Files that put the program together, and so import more than others: each is a list of parts. */
const compositionRoots = [
  'src/index.ts',
  'src/catalogue/catalogue.ts',
  'src/cli/program/commands.ts',
  'src/cli/target/local-target.ts',
  'src/engine/handlers/registry.ts',
  'src/engine/request/pipeline.ts',
]

const importPattern =
  /^(?:import|export)\s+(type\s+)?((?:[\w*$\s]|\{[^}]*\}|,)*?)\s*(?:from\s*)?'(\.[^']+)'|\bimport\('(\.[^']+)'\)/gm

/** Returns the files of ours that a file imports; `isType` where only types are, which load nothing. */
function importsOf(file) {
  return [...readFileSync(root + file, 'utf8').matchAll(importPattern)].map((match) => {
    const [, type, names = '', path, lazy] = match
    const listed = /^\{([^}]*)\}$/.exec(names.trim())?.[1]
    const isTypeList = listed?.split(',').every((name) => name.trim() === '' || /^type\s/.test(name.trim()))
    const to = posix.join(posix.dirname(file), path ?? lazy).replace(/\.js$/, '.ts')
    return { to, isType: type !== undefined || isTypeList === true }
  })
}

/** Returns the files on the path of a row: those that `runBatch` loads, at once or later. */
export function batchPath() {
  const seen = new Set([start])
  for (const file of seen)
    for (const { to, isType } of importsOf(file)) if (!isType && counted.test(to)) seen.add(to)
  return [...seen].sort()
}

/** Returns what is wrong with the structure of `src`, one sentence each. */
export function structureProblems() {
  const path = batchPath()
  const long =
    path.length > maxFiles
      ? [`${path.length} files are on the path of a row, and ${maxFiles} may be:\n  ${path.join('\n  ')}`]
      : []
  const files = readdirSync(`${root}src`, { recursive: true })
    .map((name) => `src/${name.replaceAll('\\', '/')}`)
    .filter((name) => /\.tsx?$/.test(name) && !compositionRoots.includes(name))
  const wide = files.flatMap((file) => {
    const count = new Set(importsOf(file).map(({ to }) => to)).size
    return count > maxImports ? [`${file} imports ${count} of our files, and ${maxImports} may be`] : []
  })
  return [...long, ...wide]
}
