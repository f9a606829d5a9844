/** `npm run docs`: writes the generated parts of the documents anew. They stand between markers. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { ensure } from './ensure.js'
import { root } from './run.js'

await ensure()
const { generatedDocs } = await import('./docs/generate.js')
for (const { path, text } of await generatedDocs()) {
  if (existsSync(root + path) && readFileSync(root + path, 'utf8') === text) continue
  mkdirSync(dirname(root + path), { recursive: true })
  writeFileSync(root + path, text)
  process.stdout.write(`${path}: written\n`)
}
