import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { constants, Script } from 'node:vm'

/** Loads the built program, with the code that V8 compiled for it when it was built if this V8 takes it. */
export function load(folder) {
  const file = join(folder, 'main.cjs')
  const script = new Script(`(function(exports,require,module,__url){${readFileSync(file, 'utf8')}\n})`, {
    filename: file,
    cachedData: compiled(folder),
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  })
  const module = { exports: {} }
  script.runInThisContext()(module.exports, createRequire(file), module, pathToFileURL(file).href)
  return { main: module.exports.main, script }
}

function compiled(folder) {
  try {
    return readFileSync(join(folder, 'main.cache'))
  } catch {
    return undefined
  }
}
