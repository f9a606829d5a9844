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
      const folder = 'require("node:path").dirname(require.resolve("better-sqlite3"))'
      return { contents: source.replaceAll('__dirname', folder) }
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
