import { randomBytes, randomUUID } from 'node:crypto'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import { Pool } from 'undici'
import { sqlAsText } from '../packages.js'
import { root } from '../run.js'
import { startServer } from './server.js'

const receiver = fileURLToPath(new URL('bare-server.js', import.meta.url))
const searchUrl = 'https://www.network.example/sales/search/people?query=(keywords:known)'
/** Where completed bodies are split, in bytes. */
const largest = 5_000_000

/**
 * Records per second of an extraction that a local receiver gets, from the request that starts it to the last answer,
 * beside a loop that posts the same bodies and keeps nothing.
 */
export async function extraction({ folder, quick }) {
  const leads = quick ? 5_000 : 100_000
  const engine = await engineParts()
  const server = await startServer([receiver], process.env)
  try {
    const url = `http://127.0.0.1:${server.line}/`
    const measurements = []
    for (const streaming of [true, false]) {
      const ours = await extract(engine, join(folder, `extraction-${streaming}.db`), {
        url,
        leads,
        streaming,
      })
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
  const how = streaming ? 'one delivery each, in order' : `deliveries of ${largest / 1e6} MB`
  return {
    what: `Extraction of ${leads.toLocaleString('en')} leads to a local receiver, ${how}`,
    measured: rate(ours),
    baseline: `the same bodies in a bare loop: ${rate(bare)}`,
    ratio: bare / ours,
  }
}

/** The engine's parts as one module, so that it can stand on a source that costs next to nothing. */
async function engineParts() {
  const contents = [
    'engine/request/engine',
    'engine/admin/admin',
    'engine/worker/worker',
    'engine/tables/schema',
    'client/sender',
  ]
    .map((path) => `export * from './src/${path}.js'`)
    .join('\n')
  const outfile = join(root, 'node_modules', '.cache', `prospect-bench-${process.pid}.mjs`)
  const bundle = { bundle: true, platform: 'node', format: 'esm', packages: 'external', loader: sqlAsText }
  await build({ stdin: { contents, resolveDir: root }, ...bundle, outfile })
  try {
    return await import(pathToFileURL(outfile).href)
  } finally {
    rmSync(outfile)
  }
}

/** Milliseconds of an extraction, with every rule on and each step durable, until the receiver has all of it. */
async function extract(parts, file, { url, leads, streaming }) {
  const store = await parts.openEngineDatabase(file)
  const sender = parts.createSender()
  const ports = {
    store,
    sender,
    source: sourceOf(leads),
    clock: { now: Date.now },
    ids: { uuid: randomUUID, bytes: randomBytes },
    targets: () => ({ allow: [], loopback: true }),
  }
  const admin = parts.createAdmin(ports)
  const { key: apiKey } = await admin.init()
  await admin.setQuotas({ dailyProfiles: leads })
  const engine = parts.createEngine(ports)
  const began = performance.now()
  const input = { search_url: searchUrl, name: 'Bench', webhook_url: url, streaming }
  const { body } = await engine.call('leads.extract', input, { apiKey })
  const job = await parts.createWorker(ports).finish(body.id)
  const ms = performance.now() - began
  const open = await admin.deliveries({ state: 'pending' }, 1)
  if (job?.done !== leads || open.length > 0) throw new Error(`the extraction ended with ${job?.done} leads`)
  await sender.close()
  await store.close()
  return ms
}

/** A source that finds so many leads. */
const sourceOf = (leads) => ({
  searchAt: () => ({ kind: 'people', filters: {} }),
  count: () => leads,
  unknownCompanies: () => ({}),
  find: (_search, { limit, after = '0' }) => {
    const from = Number(after)
    const to = Math.min(leads, from + limit)
    const records = Array.from({ length: to - from }, (_, at) => leadOf(from + at))
    return to < leads ? { records, next: String(to) } : { records }
  },
})

/** A lead with its company, about as large as a real one. */
const leadOf = (at) => ({
  lead: {
    first_name: 'Ada',
    last_name: `Byron ${at}`,
    full_name: `Ada Byron ${at}`,
    gender: null,
    title: 'Head of Sales',
    title_description: 'x'.repeat(120),
    summary: 'y'.repeat(200),
    most_probable_email: `ada.${at}@known.example`,
    most_probable_email_status: 'valid',
    phones: [],
    network_profile_url: `https://www.network.example/in/ada-${at}`,
    premium_profile_url: `https://www.network.example/sales/lead/${at}`,
    profile_image_url: null,
    is_premium_network: false,
    is_open_profile_network: false,
    is_open_to_work_network: false,
    connection_degree: 3,
    connections_count: 500,
    current_positions_count: 1,
    years_in_position: 2,
    months_in_position: 3,
    years_in_company: 4,
    months_in_company: 5,
    status: 'QUALIFIED',
    rejection_reason: [],
    headline: 'Head of Sales at Known',
  },
  company: {
    id: `company-${at}`,
    name: `Known ${at}`,
    cleaned_name: `Known ${at}`,
    domain: `known-${at}.example`,
    website: `https://known-${at}.example`,
    description: 'z'.repeat(200),
    industry: 'Software Development',
    industry_id: '96',
    company_type: 'Private',
    employee_range: '51-200',
    headcount: 120,
    country: 'FR',
    headquarters: 'Lyon, France',
    location: 'Lyon, France',
    city: 'Lyon',
    founded_year: 2001,
    revenue: null,
    revenue_currency: null,
    phone: null,
    network_id: String(at),
    network_url: `https://www.network.example/company/${at}`,
    company_profile_picture: null,
    technologies: ['react', 'postgresql', 'kubernetes'],
  },
})

const head = { event: 'lead_search.record', id: randomUUID(), created_at: new Date(0).toISOString() }

/** A body for each lead. */
function* single(leads) {
  for (let at = 0; at < leads; at++) yield JSON.stringify({ ...head, ordinal: at + 1, ...leadOf(at) })
}

/** All leads in bodies of 5 MB. */
function* whole(leads) {
  let [texts, size] = [[], 0]
  for (let at = 0; at < leads; at++) {
    const text = JSON.stringify({ ordinal: at + 1, ...leadOf(at) })
    if (size + text.length > largest) {
      yield `{"leads":[${texts.join(',')}]}`
      texts = []
      size = 0
    }
    texts.push(text)
    size += text.length
  }
  yield `{"leads":[${texts.join(',')}]}`
}

/** Milliseconds of posting bodies one after the other, with the HTTP client that the sender has. */
async function post(url, bodies) {
  const pool = new Pool(new URL(url).origin)
  const began = performance.now()
  for (const body of bodies) {
    const headers = { 'content-type': 'application/json' }
    const answer = await pool.request({ method: 'POST', path: '/', headers, body })
    await answer.body.dump()
  }
  const ms = performance.now() - began
  await pool.close()
  return ms
}
