import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'

const root = join(import.meta.dirname, '..', '..')

/** Returns the value of an expression over the loaded program, in a separate process as for a command. */
function loaded(expression: string): unknown {
  const [loader, dist] = [join(root, 'bin', 'load.js'), join(root, 'dist')].map((path) =>
    JSON.stringify(path),
  )
  const program = `const loaded = require(${loader}).load(${dist}); console.log(JSON.stringify(${expression}))`
  return JSON.parse(execFileSync(process.execPath, ['-e', program], { encoding: 'utf8' }))
}

describe('the code cache', () => {
  it('the code cache is accepted by the running Node', () => {
    // `undefined` would mean that the build made no cache for this version of V8.
    expect(loaded('String(loaded.script.cachedDataRejected)')).toBe('false')
  })

  it('the bundled program is ASCII, which needs no decoding', () => {
    const file = JSON.stringify(join(root, 'dist', 'main.cjs'))
    expect(loaded(`require('node:buffer').isAscii(require('node:fs').readFileSync(${file}))`)).toBe(true)
  })
})
