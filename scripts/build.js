import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { load } from '../bin/load.js'

const root = fileURLToPath(new URL('..', import.meta.url))
const dist = join(root, 'dist')

/** Packages that few commands need, or that are not JavaScript alone: loaded from node_modules when they are used. */
const external = ['better-sqlite3', 'conf', 'ora', '@inquirer/prompts', 'undici']

const shared = {
  absWorkingDir: root,
  bundle: true,
  platform: 'node',
  target: 'node20',
  minifyWhitespace: true,
  minifySyntax: true,
  legalComments: 'none',
  logLevel: 'warning',
}

await rm(dist, { recursive: true, force: true })
await Promise.all([buildProgram(), buildLibrary()])
await warmUp()

/**
 * The command line as one file. Start-up decides its form: a CommonJS script is loaded without the detours of
 * the module loader, and V8 can keep its compiled code. What is imported dynamically is still run only when
 * it is asked for.
 */
async function buildProgram() {
  const { outputFiles } = await build({
    ...shared,
    entryPoints: ['src/cli/main.ts'],
    outfile: join(dist, 'main.cjs'),
    format: 'cjs',
    external,
    define: { 'import.meta.url': '__url' },
    write: false,
  })
  // A script with kept code has lost how to import modules, so its loader does that for it.
  const program = outputFiles[0].text.replace(/\bimport\("/g, '__import("')
  await mkdir(dist, { recursive: true })
  await writeFile(join(dist, 'main.cjs'), program)
}

/** The library, as modules. */
function buildLibrary() {
  return build({
    ...shared,
    entryPoints: ['src/index.ts'],
    outdir: dist,
    format: 'esm',
    splitting: true,
    chunkNames: 'library/[hash]',
    packages: 'external',
  })
}

/** Runs a few commands once and keeps the code V8 compiled for them, so that no later start compiles it again. */
async function warmUp() {
  const home = await mkdtemp(join(tmpdir(), 'prospect-build-'))
  try {
    const { main, script } = load(dist)
    const quiet = () => new PassThrough().resume()
    const run = (...argv) =>
      main(argv, {
        stdin: quiet(),
        stdout: quiet(),
        stderr: quiet(),
        env: { PROSPECT_HOME: home },
        cwd: home,
      })
    await run('credits')
    await run('accounts', 'enrich', '--domain', 'example.com')
    await run('--help')
    await writeFile(join(dist, 'main.cache'), script.createCachedData())
  } finally {
    await rm(home, { recursive: true, force: true })
  }
}
