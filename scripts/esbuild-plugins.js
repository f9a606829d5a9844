import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { build } from 'esbuild'
import { sqlAsText } from './packages.js'
import { nameIn, root } from './run.js'

/**
 * Bundles the JavaScript of better-sqlite3, so that its dozen files are not found and read one by one at each start.
 * Its binary stays in `node_modules`, and is looked for there.
 */
export const bundledSqlite = {
  name: 'bundled-sqlite',
  setup(build) {
    build.onLoad({ filter: /better-sqlite3[\\/]lib[\\/]binding\.js$/ }, async ({ path }) => {
      const source = await readFile(path, 'utf8')
      return { contents: `${source.replaceAll('__dirname', 'libraryFolder()')}\n${libraryFolder}` }
    })
  },
}

/** Looks into each `node_modules`: resolving the package takes a millisecond, and is for installations without them. */
function libraryFolder() {
  const fs = require('node:fs')
  const path = require('node:path')
  const folders = require.resolve
    .paths('better-sqlite3')
    .map((folder) => path.join(folder, 'better-sqlite3', 'lib'))
  return folders.find((folder) => fs.existsSync(folder)) ?? path.dirname(require.resolve('better-sqlite3'))
}

/** Modules of Node that take long to load and of which we use functions alone. */
const slowBuiltins = [
  'crypto',
  'dns/promises',
  'fs/promises',
  'module',
  'os',
  'stream/promises',
  'timers/promises',
]

/** What short commands import and seldom call, which exports functions and classes alone. */
const idleModules = [
  'src/api/validation/fits.ts',
  'src/api/webhooks/signature.ts',
  'src/catalogue/export/export.ts',
  'src/catalogue/full-text/words.ts',
  'src/catalogue/lookup/providers.ts',
  'src/catalogue/places/place.ts',
  'src/catalogue/records/headcount.ts',
  'src/catalogue/records/jobs.ts',
  'src/catalogue/records/posts.ts',
  'src/catalogue/records/sources.ts',
  'src/catalogue/records/technologies.ts',
  'src/catalogue/records/write-company.ts',
  'src/catalogue/records/write-person.ts',
  'src/catalogue/search-url/decode.ts',
  'src/catalogue/search/conditions.ts',
  'src/catalogue/search/searches.ts',
  'src/cli/call/missing-data.ts',
  'src/cli/call/confirm.ts',
  'src/cli/context/pinned.ts',
  'src/cli/messages.ts',
  'src/cli/options/command-notes.ts',
  'src/cli/output/progress.ts',
  'src/cli/output/width.ts',
  'src/client/ssrf-guard.ts',
  'src/csv/cells.ts',
  'src/csv/footer.ts',
  'src/csv/names.ts',
  'src/csv/parse.ts',
  'src/csv/uncalculated.ts',
  'src/engine/credits/accept.ts',
  'src/engine/credits/settlement.ts',
  'src/engine/handlers/pagination.ts',
  'src/engine/handlers/waterfall.ts',
  'src/engine/jobs/payloads.ts',
  'src/engine/tables/providers.ts',
  'src/engine/titles/suggest.ts',
  'src/identity/asked-about.ts',
  'src/identity/country.ts',
  'src/identity/mentions.ts',
  'src/identity/name.ts',
  'src/identity/no-address.ts',
  'src/identity/phone.ts',
  'src/identity/profile.ts',
  'src/identity/subjects.ts',
  'src/identity/titles.ts',
  'src/identity/value-kinds.ts',
  'src/identity/written-name.ts',
  'src/runs/bulk.ts',
  'src/runs/find-run.ts',
  'src/runs/input/mapping.ts',
  'src/runs/input/table.ts',
  'src/runs/lists.ts',
  'src/runs/output/crm-layout.ts',
  'src/runs/plan/explain.ts',
  'src/runs/shared-work.ts',
]

/**
 * Loads these modules with the first call of one of their functions or classes, so that a command pays for those it uses.
 */
export const deferred = {
  name: 'deferred',
  setup(build) {
    const builtins = new RegExp(`^node:(?:${slowBuiltins.join('|')})$`)
    const idle = new Set(idleModules.map((name) => join(root, name)))
    const gone = [...idle].filter((path) => !existsSync(path))
    if (gone.length > 0) throw new Error(`the list of idle modules names ${gone}, which is not there`)
    build.onResolve(
      { filter: /./ },
      async ({ path: asked, kind, pluginData, importer, resolveDir, namespace }) => {
        if (pluginData?.isFound || namespace === 'deferred' || kind === 'entry-point') return undefined
        if (builtins.test(asked))
          return /[\\/]node_modules[\\/]/.test(importer) ? undefined : { path: asked, namespace: 'deferred' }
        if (!asked.startsWith('.') || kind !== 'import-statement') return undefined
        const found = await build.resolve(asked, {
          kind,
          importer,
          resolveDir,
          pluginData: { isResolved: true, isFound: true },
        })
        // Without the folder of this clone, which is nobody's business where the program is installed.
        const path = nameIn(found.path)
        return idle.has(found.path) ? { path, namespace: 'deferred' } : undefined
      },
    )
    build.onLoad({ filter: /./, namespace: 'deferred' }, async ({ path }) => {
      const isOurs = !path.startsWith('node:')
      const names = isOurs ? await functionsOf(join(root, path)) : await functionsOfNode(path)
      const exported = names.map(
        (name) =>
          // The first call puts what it found in its own place: those after it, of which a batch has millions, go there at once.
          // Functions that stand in tables when a module is loaded would be looked for with each call: theirs is none of these.
          `export let ${name} = function (...given) {
            ${name} = loaded().${name}
            return new.target ? new ${name}(...given) : ${name}(...given)
          }`,
      )
      const loaded = `let kept\nconst loaded = () => kept ??= require('${isOurs ? `./${path}` : path}')`
      return { contents: [loaded, ...exported].join('\n'), resolveDir: root }
    })
  },
}

/** Returns the names of the functions and classes that a module of Node exports. */
const functionsOfNode = async (path) =>
  Object.entries(await import(path))
    .filter(([name, value]) => name !== 'default' && typeof value === 'function')
    .map(([name]) => name)

/** Returns the names of the functions and classes that a module of ours exports. Throws where it exports something else. */
async function functionsOf(path) {
  const all = Object.entries(await exportsOf(path))
  const others = all.filter(([, value]) => typeof value !== 'function').map(([name]) => name)
  if (others.length > 0)
    throw new Error(`${path} exports ${others}: take it from the list of idle modules, or export a function`)
  return all.map(([name]) => name)
}

/** Returns what a module of ours exports. */
async function exportsOf(path) {
  const { outputFiles } = await build({
    entryPoints: [path],
    bundle: true,
    platform: 'node',
    format: 'cjs',
    packages: 'external',
    loader: sqlAsText,
    define: { 'import.meta.url': '__filename' },
    logOverride: { 'require-resolve-not-external': 'silent' },
    write: false,
  })
  const module = { exports: {} }
  const run = new Function('module', 'exports', 'require', '__filename', outputFiles[0].text)
  run(module, module.exports, createRequire(path), path)
  return module.exports
}

/** Leaves `child_process` out of commander, which runs sub-commands with it that are programs: there are none. */
export const commandsOnly = {
  name: 'commands-only',
  setup(build) {
    build.onResolve({ filter: /^node:child_process$/ }, ({ path, importer }) =>
      /[\\/]commander[\\/]/.test(importer) ? { path, namespace: 'empty' } : undefined,
    )
    build.onLoad({ filter: /./, namespace: 'empty' }, () => ({ contents: 'export default {}' }))
  },
}

/** Keeps JSON as its text, which is parsed when its module is first asked for: V8 takes longer to read back the code that makes it. */
export const parsedJson = {
  name: 'parsed-json',
  setup(build) {
    build.onLoad({ filter: /\.json$/ }, async ({ path }) => {
      const text = JSON.stringify(JSON.parse(await readFile(path, 'utf8')))
      return { contents: `export default JSON.parse(${JSON.stringify(text)})` }
    })
  },
}
