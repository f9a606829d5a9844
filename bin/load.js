const { readFileSync } = require('node:fs')
const { createRequire } = require('node:module')
const { join } = require('node:path')
const { pathToFileURL } = require('node:url')
const { Script } = require('node:vm')

/**
 * Loads the built program from `folder`, with the code cache of this V8 where the build made one.
 * CommonJS and one script, because the module loader alone would cost a tenth of the start.
 */
function load(folder) {
  const file = join(folder, 'main.cjs')
  // The build writes a function in ASCII, so that its text needs no decoding and no copy.
  const script = new Script(readFileSync(file, 'latin1'), {
    filename: 'main.cjs',
    cachedData: readCache(join(folder, cacheName())),
  })
  const module = { exports: {} }
  const run = script.runInThisContext()
  run(module.exports, createRequire(file), module, (name) => import(name), pathToFileURL(file).href)
  return { ...module.exports, script }
}

/** The name of the code cache that this V8 accepts: V8 rejects what another version compiled. */
const cacheName = () => `main.${process.versions.v8.split('-')[0]}.cache`

function readCache(path) {
  try {
    return readFileSync(path)
  } catch {
    return undefined
  }
}

module.exports = { load, cacheName }
