import { readFile } from 'node:fs/promises'

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
const slowBuiltins = ['crypto', 'dns/promises', 'fs/promises', 'stream/promises', 'timers/promises']

/**
 * Loads these modules with the first call of one of their functions or classes, so that a command pays for those it uses.
 */
export const deferredBuiltins = {
  name: 'deferred-builtins',
  setup(build) {
    build.onResolve({ filter: new RegExp(`^node:(?:${slowBuiltins.join('|')})$`) }, ({ path, importer }) =>
      /[\\/]node_modules[\\/]/.test(importer) || importer === path
        ? undefined
        : { path, namespace: 'deferred' },
    )
    build.onLoad({ filter: /./, namespace: 'deferred' }, async ({ path }) => {
      const functions = Object.entries(await import(path)).filter(
        ([name, value]) => name !== 'default' && typeof value === 'function',
      )
      const exported = functions.map(
        ([name]) =>
          `export const ${name} = function (...given) {
            return new.target ? new (builtin().${name})(...given) : builtin().${name}(...given)
          }`,
      )
      return {
        contents: `let loaded\nconst builtin = () => loaded ??= require('${path}')\n${exported.join('\n')}`,
      }
    })
  },
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
