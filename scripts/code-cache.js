/**
 * `node scripts/code-cache.js FOLDER`: runs a few commands of the program that was built into a folder, and keeps the
 * code that this V8 compiled for them there, so that no later start compiles it again.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { cacheName, load } from '../bin/load.js'

const [folder] = process.argv.slice(2)
const home = await mkdtemp(join(tmpdir(), 'prospect-build-'))
try {
  const { main, script } = load(folder)
  const quiet = () => new PassThrough().resume()
  const run = (...argv) =>
    main(argv, {
      stdin: quiet(),
      stdout: quiet(),
      stderr: quiet(),
      env: { PROSPECT_HOME: home },
      cwd: home,
    })
  await run('init')
  await run('credits')
  await run('accounts', 'enrich', '--domain', 'example.com')
  await run('--help')
  await writeFile(join(folder, cacheName()), script.createCachedData())
} finally {
  await rm(home, { recursive: true, force: true })
}
