import { randomBytes, randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import { Pool } from 'undici'
import { root } from '../run.js'
import { employee, employer } from './lead.js'
import { startServer } from './server.js'

const receiver = new URL('bare-server.js', import.meta.url)
const part = 5_000_000

/**
 * Records per second of an extraction that a local receiver gets, from the request that starts it to the last answer,
 * beside a loop that posts the same bodies and keeps nothing.
 */
export async function extraction({ folder, quick }) {
  const leads = quick ? 5_000 : 100_000
  const engine = await engineParts(folder)
  const server = await startServer([receiver.pathname], process.env)
  try {
    const url = `http://127.0.0.1:${server.line}/`
    const measurements = []
    for (const streaming of [true, false]) {
      const ours = await extract(engine, join(folder, `extraction-${streaming}.db`), { url, leads, streaming })
      const bare = await post(url, streaming ? single(leads) : whole(leads))
      measurements.push(measurement(leads, streaming, ours, bare))
    }
    return measurements
  } finally {
    await server.stop()
  }
}

const measurement = (leads, streaming, ours, bare) => {
  const rate = (ms) => `${Math.round((leads / ms) * 1_000).toLocaleString('en')} records/s`
  const how = streaming ? 'one delivery each, in order' : `deliveries of ${part / 1e6} MB`
  return {
    what: `Extraction of ${leads.toLocaleString('en')} leads to a local receiver, ${how}`,
    measured: rate(ours),
    baseline: `the same bodies in a bare loop: ${rate(bare)}`,
    ratio: bare / ours,
  }
}

/** The engine's parts as one module, so that it can stand on a source that costs nothing. */
async function engineParts(folder) {
  const contents = ['engine/engine', 'engine/admin', 'engine/worker', 'storage/open', 'client/sender']
    .map((path) => `export * from './src/${path}.js'`)
    .join('\n')
  const outfile = join(root, 'node_modules', '.cache', `prospect-bench-${process.pid}.mjs`)
  await build({
    stdin: { contents, resolveDir: root },
    ...{ bundle: true, platform: 'node', format: 'esm', packages: 'external', outfile },
  })
  return import(pathToFileURL(outfile).href)
}
