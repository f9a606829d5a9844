import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { root } from '../run.js'
import { grouped, median } from './measure.js'
import { companies, people } from './population.js'
import { questions } from './questions.js'

const [staff, employers] = [1_000_000, 200_000]
const rounds = 5
const limitsMs = { median: 50, percentile: 200 }

/**
 * Previews of people searches through the whole engine: every rule, count and the first 25. Each question once, on a database
 * that was just opened; with `all` then all of them in turns.
 */
export async function search({ folder, all }) {
  const asker = await openAsker(await population(folder))
  try {
    const first = []
    for (const question of questions) first.push(await asker.ask(question))
    const what = `Preview among ${grouped(staff)} people, three filters and a keyword, ${questions.length} questions`
    if (!all) return figures(what, first)
    const again = []
    for (let round = 0; round < rounds; round++)
      for (const question of questions) again.push(await asker.ask(question))
    return [...figures(what, first), ...figures(`The same questions, ${rounds} more times`, again)]
  } finally {
    await asker.close()
  }
}

const figures = (what, times) => [
  figure(`${what}: median`, median(times), limitsMs.median),
  figure(`${what}: 95th percentile`, percentile(times, 0.95), limitsMs.percentile),
]

const figure = (what, ms, limitMs) => ({
  what,
  measured: `${ms.toFixed(1)} ms`,
  baseline: `${limitMs} ms`,
  ratio: ms / limitMs,
  atMost: 1,
})

const percentile = (values, share) =>
  [...values].sort((one, other) => one - other)[Math.ceil(values.length * share) - 1]

const openEngine = async (options) =>
  (await import(pathToFileURL(join(root, 'dist', 'index.js')).href)).openEngine(options)

/** The path of a catalogue that was filled the way every catalogue is. */
async function population(folder) {
  const place = join(folder, 'population.db')
  const { catalogue, close } = await openEngine({ engine: ':memory:', catalogue: place })
  for (const [kind, records] of [
    ['companies', companies(employers)],
    ['people', people(staff, employers)],
  ]) {
    const { rejected } = await catalogue.importRecords(kind, records)
    if (rejected.length > 0) throw new Error(`${kind}: ${rejected[0].reason}`)
  }
  await close()
  return place
}

/** Opens the catalogue behind an engine; its clock goes on with each question, so that none is refused as too early. */
async function openAsker(place) {
  let now = Date.parse('2026-03-10T12:00:00Z')
  const opened = await openEngine({ engine: ':memory:', catalogue: place, clock: { now: () => now } })
  const { key } = await opened.admin.init()
  await opened.admin.setPlan('Scale')
  const ask = async (question) => {
    now += 1_000
    const began = performance.now()
    const input = { ...question, live: false }
    const { status, body } = await opened.caller.call('leads.advanced_search_preview', input, { apiKey: key })
    const ms = performance.now() - began
    if (status !== 200) throw new Error(`${JSON.stringify(question)}: ${JSON.stringify(body)}`)
    return ms
  }
  return { ask, close: opened.close }
}
