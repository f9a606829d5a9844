/** `node scripts/sample.js`: invents the sample again, from its seed. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import { root } from './run.js'

const outfile = join(root, `sample-${process.pid}.mjs`)
await build({
  entryPoints: [join(root, 'scripts/sample/write.ts')],
  outfile,
  bundle: true,
  platform: 'node',
  format: 'esm',
  packages: 'external',
})
try {
  await import(outfile)
} finally {
  rmSync(outfile)
}
