import { cp, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { root, runPackage } from './run.js'

/** Writes the declarations of the library to a folder: `index.d.ts` and what it leads to, and nothing else. */
export async function writeTypes(folder) {
  const all = await mkdtemp(join(tmpdir(), 'prospect-types-'))
  try {
    const code = await runPackage('typescript/bin/tsc', [
      '-p',
      join(root, 'scripts/types.json'),
      '--outDir',
      all,
    ])
    if (code !== 0) throw new Error('The declarations of the library could not be made')
    const from = join(all, 'src')
    for (const file of await reachable(join(from, 'index.d.ts')))
      await cp(file, join(folder, relative(from, file)))
  } finally {
    await rm(all, { recursive: true, force: true })
  }
}

/** A declaration file with those it imports, and those that they import. */
async function reachable(first) {
  const files = new Set([first])
  for (const file of files) {
    const text = await readFile(file, 'utf8')
    for (const [, path] of text.matchAll(/(?:\bfrom |\bimport\()['"](\.[^'"]+)\.js['"]/g))
      files.add(join(dirname(file), `${path}.d.ts`))
  }
  return files
}
