import { readdirSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { root } from '../run.js'

const maxImports = 30

const importPattern =
  /^(?:import|export)\s+(?:type\s+)?(?:[\w*$\s,]|\{[^}]*\})*?(?:from\s*)?'(\.[^']+)'|\bimport\('(\.[^']+)'\)/gm

/** Returns the files of ours that a file imports. */
const importsOf = (file) =>
  [...readFileSync(root + file, 'utf8').matchAll(importPattern)].map(([, path, lazy]) =>
    posix.join(posix.dirname(file), path ?? lazy),
  )

/** Returns what is wrong with the structure of `src`, one sentence each. */
export function structureProblems() {
  const files = readdirSync(`${root}src`, { recursive: true })
    .map((name) => `src/${name.replaceAll('\\', '/')}`)
    .filter((name) => /\.tsx?$/.test(name))
  return files.flatMap((file) => {
    const count = new Set(importsOf(file)).size
    return count > maxImports ? [`${file} imports ${count} of our files, and ${maxImports} may be`] : []
  })
}
