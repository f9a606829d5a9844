import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { load } from '../bin/load.js'
import { external, vendored } from './packages.js'
import { writePlaces } from './places.js'
import { writeTypes } from './types.js'

const root = fileURLToPath(new URL('..', import.meta.url))
const dist = join(root, 'dist')
/** Built beside and moved into place whole, so that nobody runs half a program. */
const fresh = join(root, `dist-${process.pid}.partial`)

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

try {
  await Promise.all([
    buildProgram(),
    buildLibrary(),
    buildThread(),
    writeTypes(join(fresh, 'types')),
    ...Object.entries(vendored).map(buildPackage),
  ])
  await writePlaces(join(fresh, 'places.db'), join(dist, 'places.db'))
  await warmUp()
  await rm(dist, { recursive: true, force: true })
  await rename(fresh, dist)
} finally {
  await rm(fresh, { recursive: true, force: true })
}

/**
 * The command line as one file. Start-up decides its form: a CommonJS script is loaded without the detours of
 * the module loader, and V8 can keep its compiled code. What is imported dynamically is still run only when
 * it is asked for.
 */
async function buildProgram() {
  const { outputFiles } = await build({
    ...shared,
    entryPoints: ['src/cli/main.ts'],
    format: 'cjs',
    external: [...external, ...Object.keys(vendored)],
    define: { 'import.meta.url': '__url' },
    write: false,
  })
  // A script with kept code has lost how to import modules, so its loader does that for it.
  const program = outputFiles[0].text.replace(
    /\bimport\("([^"]+)"\)/g,
    (_, name) => `__import("${vendored[name] ? `../dist/${vendored[name]}` : name}")`,
  )
  await writeFile(join(fresh, 'main.cjs'), program)
}

function buildPackage([name, file]) {
  return build({ ...shared, entryPoints: [name], outfile: join(fresh, file), format: 'esm' })
}

/** The library, as modules. */
function buildLibrary() {
  return build({
    ...shared,
    entryPoints: ['src/index.ts'],
    outdir: fresh,
    format: 'esm',
    splitting: true,
    chunkNames: 'library/[hash]',
    packages: 'external',
  })
}

/** What reads long files beside the thread that writes them. */
function buildThread() {
  return build({
    ...shared,
    entryPoints: ['src/catalogue/reading-thread.ts'],
    outdir: fresh,
    format: 'esm',
    external,
  })
}

/** Runs a few commands once and keeps the code V8 compiled for them, so that no later start compiles it again. */
async function warmUp() {
  const home = await mkdtemp(join(tmpdir(), 'prospect-build-'))
  try {
    const { main, script } = load(fresh)
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
    await writeFile(join(fresh, 'main.cache'), script.createCachedData())
  } finally {
    await rm(home, { recursive: true, force: true })
  }
}
