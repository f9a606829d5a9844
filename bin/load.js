const { readFileSync } = require('node:fs')
const { join } = require('node:path')
const { pathToFileURL } = require('node:url')
const { Script } = require('node:vm')

/**
 * Loads the built program from `folder`, with the code caches of this V8 where the build made them. It is CommonJS, because the
 * module loader alone would cost a tenth of the start, and several scripts, because so would the code that few commands need.
 */
function load(folder) {
  const loaded = {}
  const part = (name) => {
    loaded[name] ??= run(folder, name, (other) => part(other).exports)
    return loaded[name]
  }
  return { ...part('main').exports, part }
}

/** Runs a script of the program. `other` returns the exports of another one. */
function run(folder, name, other) {
  const file = join(folder, `${name}.cjs`)
  // The build writes a function in ASCII, so that its text needs no decoding and no copy.
  const script = new Script(readFileSync(file, 'latin1'), {
    filename: `${name}.cjs`,
    cachedData: readCache(join(folder, cacheName(name))),
  })
  const module = { exports: {} }
  const importModule = (specifier) => import(specifier)
  // Few scripts ask where they are, and the address takes a while to make.
  const meta = {
    get url() {
      return pathToFileURL(file).href
    },
  }
  script.runInThisContext()(module.exports, require, module, importModule, meta, other)
  return { exports: module.exports, script }
}

/** The name of the code cache that this V8 accepts: V8 rejects what another version compiled. */
const cacheName = (name) => `${name}.${process.versions.v8.split('-')[0]}.cache`

function readCache(path) {
  try {
    return readFileSync(path)
  } catch {
    return undefined
  }
}

module.exports = { load, cacheName }
