import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Script } from 'node:vm'

/** Loads the built program, with the code that V8 compiled for it when it was built if this V8 takes it. */
export function load(folder) {
  const file = join(folder, 'main.cjs')
  const source = `(function(exports,require,module,__import,__url){${readFileSync(file, 'utf8')}\n})`
  const script = new Script(source, { filename: 'main.cjs', cachedData: compiled(folder) })
  const module = { exports: {} }
  const run = script.runInThisContext()
  run(module.exports, createRequire(file), module, (name) => import(name), pathToFileURL(file).href)
  return { main: module.exports.main, script }
}

function compiled(folder) {
  try {
    return readFileSync(join(folder, 'main.cache'))
  } catch {
    return undefined
  }
}
