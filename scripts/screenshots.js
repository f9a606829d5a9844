/** `npm run screenshots`: makes the pictures of the dashboard in `docs/images`, over sample data, in Chromium. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { ensure } from './ensure.js'
import { root, runPackage } from './run.js'

try {
  await ensure()
  const folder = join(root, 'docs', 'images')
  mkdirSync(folder, { recursive: true })
  const env = { ...process.env, PROSPECT_PICTURES: folder }
  process.exitCode = await runPackage('vitest/vitest.mjs', ['run', 'test/dashboard/pictures.test.ts'], {
    env,
  })
} catch (error) {
  process.stderr.write(`${error.message}\n`)
  process.exitCode = 1
}
