import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { root } from '../run.js'
import { median } from './measure.js'
import { companies, people } from './population.js'
import { questions } from './questions.js'

const rounds = 5

/**
 * Previews of people searches through the whole engine: every rule, count and the first 25. First each question once,
 * on a database that was just opened, then all of them in turns.
 */
export const search = async ({ folder, quick }) => searchIn(await population(folder, quick), { quick })

/** The same in any place that a catalogue of these people has: a path, or the address of a database. */
export async function searchIn(place, { quick, where = '', limits = [50, 200] }) {
  const asker = await openAsker(place)
  try {
    const first = []
    for (const question of questions) first.push(await asker.ask(question))
    const again = []
    for (let round = 0; round < rounds; round++)
      for (const question of questions) again.push(await asker.ask(question))
    const among = `${sizeOf(quick)[0].toLocaleString('en')} people${where}: three filters and a keyword`
    return [
      ...rows(
        `Preview among ${among}, ${questions.length} questions asked for the first time`,
        first,
        limits,
      ),
      ...rows(`The same questions${where}, ${rounds} more times`, again, limits),
    ]
  } finally {
    await asker.close()
  }
}

const rows = (what, times, [middle, most]) => [
  measurement(`${what}: median`, median(times), middle),
  measurement(`${what}: 95th percentile`, percentile(times, 0.95), most),
]

const measurement = (what, ms, limitMs) => ({
  what,
  measured: `${ms.toFixed(1)} ms`,
  ...(limitMs === undefined
    ? { baseline: '–', ratio: Number.NaN }
    : { baseline: `${limitMs} ms`, ratio: ms / limitMs, atMost: 1 }),
})

const percentile = (values, share) =>
  [...values].sort((one, other) => one - other)[Math.ceil(values.length * share) - 1]

const openEngine = async (options) =>
  (await import(pathToFileURL(join(root, 'dist', 'index.js')).href)).openEngine(options)

/** How many people there are, and employers of them. */
const sizeOf = (quick) => (quick ? [50_000, 10_000] : [1_000_000, 200_000])

/** The path of a catalogue that was filled the way every catalogue is. */
export async function population(folder, quick) {
  const place = join(folder, 'population.db')
  if (existsSync(place)) return place
  const [staff, employers] = sizeOf(quick)
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
export async function openAsker(place) {
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
