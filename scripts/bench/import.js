import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { binary } from '../run.js'
import { writeCompanies, writePeople } from './data.js'
import { time } from './measure.js'

const passThrough = fileURLToPath(new URL('pass-through.js', import.meta.url))

/** Rows per second that an import must do at least: into an empty table, and over what is there. */
const limits = { new: 30_000, update: 10_000 }

/** Fills the catalogue that the other measurements use, and answers how fast that went, and what goes on from there. */
export async function importCompanies({ env, folder, quick, catalogue }) {
  const file = join(folder, 'import.csv')
  const perSecond = (ms) => `${Math.round((catalogue / ms) * 1000).toLocaleString('en')} rows/s`
  const timed = async (kind, home) => {
    const ms = await time([binary, 'data', 'import', kind, file], home)
    return { kind, ms, parsed: await time([passThrough, file], home) }
  }
  const measurements = ({ kind, ms, parsed }, limit, as) => {
    const what = `\`data import ${kind}\`, ${catalogue.toLocaleString('en')} ${as} rows`
    const measured = perSecond(ms)
    // A start takes as long as many rows, so that only a long file tells how many there are in a second.
    const bound = quick ? {} : { atLeast: 1 }
    const rate = (catalogue / ms) * 1000
    return [
      { what, measured, baseline: `csv-parse alone: ${perSecond(parsed)}`, ratio: parsed / ms },
      { what, measured, baseline: `${limit.toLocaleString('en')} rows/s`, ratio: rate / limit, ...bound },
    ]
  }
  await writeCompanies(file, catalogue)
  const companies = await timed('companies', env)
  // What follows happens to a copy: the other measurements ask a catalogue of companies.
  const copy = join(folder, 'import-home')
  cpSync(env.PROSPECT_HOME, copy, { recursive: true })
  const home = { ...env, PROSPECT_HOME: copy }
  await writeCompanies(file, catalogue, 1)
  const companiesAgain = await timed('companies', home)
  await writePeople(file, catalogue, catalogue)
  const people = await timed('people', home)
  await writePeople(file, catalogue, catalogue, 1)
  const peopleAgain = await timed('people', home)
  rmSync(file)
  rmSync(copy, { recursive: true })
  return [
    ...measurements(companies, limits.new, 'new'),
    ...measurements(companiesAgain, limits.update, 'known'),
    ...measurements(people, limits.new, 'new'),
    ...measurements(peopleAgain, limits.update, 'known'),
  ]
}
