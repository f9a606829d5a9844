/**
 * `npm run build`: writes `dist/`. npm runs it after `npm ci`, where it leaves that for later if Node is too old, and
 * before it packs. Neither is a `prepare` script: npm 12 reports that of an installed tarball as blocked. (In spite of its
 * name, npm runs `prepublish` after `npm ci` and `npm install` only.)
 */
import { copyFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { root, run } from './run.js'
import { continueOnSupportedNode, isSupportedNode, nodeOf } from './runtime.js'

const { npm_lifecycle_event: lifecycle } = process.env
const isPacking = lifecycle === 'prepack'
if (lifecycle === 'prepublish' && !isSupportedNode()) {
  process.stdout.write(
    `Not built, because Node ${process.versions.node} is too old: run npm run quickstart, which downloads a newer one.\n`,
  )
  process.exit(0)
}
try {
  await continueOnSupportedNode()
} catch (error) {
  process.stderr.write(`${error.message}\n`)
  process.exit(1)
}

const [{ build }, { buildProgram, shared }, { exitRows, writeManuals }, { writePlaces }, { writeTypes }] =
  await Promise.all([
    import('esbuild'),
    import('./build-program.js'),
    import('./man.js'),
    import('./places.js'),
    import('./types.js'),
  ])

const dist = join(root, 'dist')
/** Built beside and moved into place whole, so that nobody runs half a program. */
const fresh = join(root, `dist-${process.pid}.partial`)

try {
  await Promise.all([
    buildProgram(fresh),
    buildLibrary(),
    buildWorkbookProcess(),
    buildPage(),
    writeTypes(join(fresh, 'types')),
  ])
  await writePlaces(join(fresh, 'places.db'), join(dist, 'places.db'))
  await copyFile(join(root, 'src/catalogue/sample/sample.ndjson.br'), join(fresh, 'sample.ndjson.br'))
  // npm links the man pages of a clone as well.
  await writeManuals(fresh, await exitRows())
  for (const node of await runtimes()) await writeCodeCache(node)
  await rm(dist, { recursive: true, force: true })
  await rename(fresh, dist)
} finally {
  await rm(fresh, { recursive: true, force: true })
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

/** What converts workbooks beside the program. It is a script, because its packages are. */
function buildWorkbookProcess() {
  return build({
    ...shared,
    entryPoints: ['src/csv/workbook/process.ts'],
    outfile: join(fresh, 'workbook.cjs'),
    format: 'cjs',
  })
}

/** What pages of the dashboard load: their script, their style sheet and their icon. */
function buildPage() {
  return build({
    ...shared,
    entryPoints: ['page.ts', 'style.css', 'icon.svg'].map((name) => `src/dashboard/browser/${name}`),
    outdir: join(fresh, 'dashboard'),
    format: 'esm',
    platform: 'browser',
    target: ['chrome111', 'firefox128', 'safari16.4'],
    minify: true,
    loader: { '.svg': 'copy' },
  })
}

/** The versions of Node to make a code cache for: this one, and for a package all that are supported. */
function runtimes() {
  return isPacking ? Promise.all(['22', '24', '26'].map(nodeOf)) : [process.execPath]
}

async function writeCodeCache(node) {
  const code = await run(node, [join(root, 'scripts/code-cache.js'), fresh], { stdio: 'inherit' })
  if (code !== 0) throw new Error(`The code cache of ${node} could not be made`)
}
