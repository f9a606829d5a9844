/** What must work on every supported Node, by name. Each check throws a sentence when it does not. */
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { domainOf, writeCompanies } from '../bench/data.js'
import { readJson } from '../run.js'

/** Companies of the import, and rows of the batch. */
const companies = 5_000
const requests = 2_000
const connections = 32
const credits = 100_000

export const checks = {
  'code cache': checkCodeCache,
  'sample data under constant garbage collection': loadSamples,
  lookup: lookUp,
  import: importCompanies,
  'batch, killed and resumed': resumeBatch,
  server: serveRequests,
  delivery: receiveDelivery,
  doctor: ({ prospect }) => prospect(['doctor']),
}

const must = (holds, sentence) => {
  if (!holds) throw new Error(sentence)
}

async function checkCodeCache({ prospect, evaluate, place }) {
  const { version } = readJson('package.json')
  const [printed] = (await prospect(['--version'])).split('\n')
  must(printed === version, `prospect --version prints ${printed}, not ${version}`)
  const loader = JSON.stringify(join(place, 'bin', 'load.js'))
  const folder = JSON.stringify(join(place, 'dist'))
  for (const name of ['main', 'lookup', 'more']) {
    const rejected = await evaluate(
      `process.stdout.write(String(require(${loader}).load(${folder}).part('${name}').script.cachedDataRejected))`,
    )
    must(rejected !== 'true', `V8 rejects the code cache ${name} of the package`)
    must(rejected === 'false', `the package has no code cache ${name} for this V8`)
  }
}

/**
 * A young generation of one megabyte is collected all the time. Native modules that are not made for this Node crash
 * then: better-sqlite3 12 ended six of six runs on Node 24.21 with "Assertion failed: (env) != nullptr".
 */
async function loadSamples({ prospect, cwd }) {
  for (let run = 1; run <= 5; run++) {
    const env = { NODE_OPTIONS: '--max-semi-space-size=1', PROSPECT_HOME: join(cwd, `sample-${run}`) }
    const { companies: loaded } = JSON.parse(await prospect(['data', 'sample', '--json'], env))
    must(loaded > 0, 'data sample loaded no companies')
  }
}

async function lookUp({ json }) {
  await json('data', 'sample')
  const { name } = await json('accounts', 'enrich', '--domain', 'acme-robotics.example')
  must(/acme/i.test(name), `the lookup of acme-robotics.example found ${name}`)
}

async function importCompanies({ prospect, cwd }) {
  const file = join(cwd, 'companies.csv')
  await writeCompanies(file, companies)
  const { added } = JSON.parse(await prospect(['data', 'import', 'companies', file, '--json']))
  must(added === companies, `the import added ${added} of ${companies} companies`)
}

const linesOf = (path) => readFileSync(path, 'utf8').trimEnd().split('\n')

async function resumeBatch({ json, prospect, killWhen, cwd }) {
  await json('engine', 'credits', 'set', String(credits))
  const [input, output] = ['in.csv', 'out.csv'].map((name) => join(cwd, name))
  const domains = Array.from({ length: companies }, (_, number) => domainOf(number))
  writeFileSync(input, `domain\n${domains.join('\n')}\n`)
  const partial = `${output}.partial`
  const hasRows = () => (statSync(partial, { throwIfNoEntry: false })?.size ?? 0) > 0
  const isKilled = await killWhen(hasRows, 'accounts', 'enrich', '--csv', input, '-o', output, '--quiet')
  const [run] = await json('runs', 'list')
  must(isKilled && run.done < companies, 'the batch ended before it could be killed')
  await prospect(['runs', 'resume', run.id, '--quiet'])
  const [, ...rows] = linesOf(output)
  const found = rows.map((row) => row.slice(0, row.indexOf(',')))
  must(
    found.join() === domains.join(),
    `the resumed batch wrote ${rows.length} rows, not each of ${companies} once`,
  )
  const { ok } = await json('engine', 'ledger', 'verify')
  must(ok, 'the ledger is not in order after a killed batch')
  const left = (await json('credits')).credits.enrichment
  must(left === credits - companies, `the batch of ${companies} rows cost ${credits - left} credits`)
}

async function serveRequests({ json, serve }) {
  const { member } = await json('init')
  const { key } = await json('engine', 'keys', 'create', '--member', member)
  const server = await serve('serve', '--port', '0', '--quiet')
  const url = `${server.first.base_url}/accounts/single_enrich`
  const headers = { 'content-type': 'application/json', 'x-api-key': key }
  let next = 0
  const statuses = new Map()
  const connect = async () => {
    while (next < requests) {
      const body = JSON.stringify({ domain: domainOf(next++) })
      const response = await fetch(url, { method: 'POST', headers, body })
      await response.arrayBuffer()
      statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1)
    }
  }
  await Promise.all(Array.from({ length: connections }, connect))
  await server.stop()
  const counted = [...statuses].map(([status, count]) => `${count} of ${status}`).join(', ')
  must(statuses.get(200) === requests, `the server answered ${requests} requests with statuses: ${counted}`)
}

async function receiveDelivery({ json, serve }) {
  const receiver = await serve('listen', '--port', '0')
  const search = ['accounts', 'search', '--keyword', 'robotics', '--limit', '2']
  await json(...search, '--webhook-url', receiver.first.url)
  const { event, verified } = await receiver.next()
  await receiver.stop()
  must(event === 'account_import.completed', `the delivery is ${event}, not account_import.completed`)
  must(verified, 'the signature of the delivery is not valid')
}
