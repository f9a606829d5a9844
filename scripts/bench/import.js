import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { binary } from '../run.js'
import { writeCompanies, writePeople } from './data.js'
import { askJson, time } from './measure.js'

const passThrough = fileURLToPath(new URL('pass-through.js', import.meta.url))

/** Rows per second that an import must do at least: into an empty table, and over what is there. */
const limits = { new: 30_000, update: 10_000 }

/**
 * Fills the catalogue that the other measurements use, and answers how fast that went, and what goes on from there. The
 * limits are those of the lists that people have; a list with every column says twice as much in a row.
 */
export async function importCompanies({ env, folder, quick, catalogue }) {
  const file = join(folder, 'import.csv')
  const perSecond = (ms) => `${Math.round((catalogue / ms) * 1000).toLocaleString('en')} rows/s`
  const measured = async (kind, home, what, limit) => {
    const ms = await time([binary, 'data', 'import', kind, file], home)
    const parsed = await time([passThrough, file], home)
    const row = {
      what: `\`data import ${kind}\`, ${catalogue.toLocaleString('en')} ${what}`,
      measured: perSecond(ms),
    }
    const alone = { ...row, baseline: `csv-parse alone: ${perSecond(parsed)}`, ratio: parsed / ms }
    if (!limit) return [alone]
    // A start takes as long as many rows, so that only a long file tells how many there are in a second.
    const bound = quick ? {} : { atLeast: 1 }
    const baseline = `${limit.toLocaleString('en')} rows/s`
    return [alone, { ...row, baseline, ratio: (catalogue / ms) * (1000 / limit), ...bound }]
  }
  const another = async (name) => {
    const home = { ...env, PROSPECT_HOME: join(folder, name) }
    await askJson([binary, 'init', '--json'], home)
    return home
  }
  const measurements = []
  const round = async (home, isUsual, limit) => {
    const wide = isUsual ? 'rows' : 'rows with every column'
    for (const edition of [0, 1]) {
      const what = edition === 0 ? `new ${wide}` : `known ${wide}`
      const least = limit && (edition === 0 ? limit.new : limit.update)
      await writeCompanies(file, catalogue, { edition, isUsual })
      measurements.push(...(await measured('companies', home, what, least)))
      await writePeople(file, catalogue, catalogue, { edition, isUsual })
      measurements.push(...(await measured('people', home, what, least)))
    }
    rmSync(home.PROSPECT_HOME, { recursive: true })
  }
  await round(await another('usual-home'), true, limits)
  if (!quick) await round(await another('full-home'), false)
  // The other measurements ask a catalogue of companies.
  await writeCompanies(file, catalogue)
  await time([binary, 'data', 'import', 'companies', file], env)
  rmSync(file)
  return measurements
}
