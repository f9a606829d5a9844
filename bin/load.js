const { closeSync, fstatSync, openSync, readSync } = require('node:fs')
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
  const script = new Script(read(file).latin1Slice(), {
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
    return read(path)
  } catch {
    return undefined
  }
}

/** Room for what the shortest commands read, one after the other: new memory takes longer to get than a file to read. */
let room = Buffer.allocUnsafeSlow(1_500_000)

/** Reads a file. What was read before is gone then. */
function read(path) {
  const file = openSync(path, 'r')
  try {
    const { size } = fstatSync(file)
    if (room.length < size) room = Buffer.allocUnsafeSlow(size)
    let length = 0
    while (length < size) {
      const more = readSync(file, room, length, size - length, null)
      if (more === 0) break
      length += more
    }
    return room.subarray(0, length)
  } finally {
    closeSync(file)
  }
}

module.exports = { load, cacheName }
