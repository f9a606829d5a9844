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

/** An object literal inside another: names that are spread are not checked against the type of the outer one. */
const spreadLiteral = /\.\.\.\{/

/** Returns what is wrong with the structure of `src`, one sentence each. */
export function structureProblems() {
  const files = readdirSync(`${root}src`, { recursive: true })
    .map((name) => `src/${name.replaceAll('\\', '/')}`)
    .filter((name) => /\.tsx?$/.test(name))
  return files.flatMap((file) => {
    const lines = readFileSync(root + file, 'utf8').split('\n')
    const spread = lines.flatMap((line, at) =>
      spreadLiteral.test(line)
        ? [`${file}:${at + 1} spreads an object literal; write its properties out`]
        : [],
    )
    const count = new Set(importsOf(file)).size
    return count > maxImports
      ? [...spread, `${file} imports ${count} of our files, and ${maxImports} may be`]
      : spread
  })
}
