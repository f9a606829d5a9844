import { build } from 'esbuild'
import { expect, it } from 'vitest'

const plugins = new URL('../../scripts/esbuild-plugins.js', import.meta.url)

it('leaves functions and classes of modules that are loaded later usable', async () => {
  const contents = `
    import { randomUUID } from 'node:crypto'
    import { Resolver } from 'node:dns/promises'
    exports.found = [typeof randomUUID(), typeof new Resolver({ timeout: 1 }).cancel]`
  const { deferred } = await import(plugins.href)
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: import.meta.dirname },
    bundle: true,
    platform: 'node',
    format: 'cjs',
    write: false,
    plugins: [deferred],
  })
  const exported: { found?: string[] } = {}
  const run = new Function('exports', 'require', outputFiles[0]?.text ?? '')
  run(exported, process.getBuiltinModule)
  expect(exported.found).toEqual(['string', 'function'])
})
