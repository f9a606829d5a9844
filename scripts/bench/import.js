import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { binary } from '../run.js'
import { writeCompanies, writePeople } from './data.js'
import { askJson, grouped, perSecond, time } from './measure.js'

/** Rows per second that an import must do at least: into an empty table, and over what is there. */
const limits = [
  { what: 'new rows', least: 20_000 },
  { what: 'known rows', least: 10_000 },
]

/**
 * How fast lists with the columns of usual ones are imported; with `all` once more over themselves, with other texts. Then
 * fills the catalogue that the other measurements use.
 */
export async function importLists({ env, folder, catalogue, all }) {
  const file = join(folder, 'import.csv')
  const home = { ...env, PROSPECT_HOME: join(folder, 'import-home') }
  await askJson([binary, 'init', '--json'], home)
  const figures = []
  const imported = async (kind, { what, least }) => {
    const rate = (catalogue * 1_000) / (await time([binary, 'data', 'import', kind, file], home))
    figures.push({
      what: `\`data import ${kind}\`, ${grouped(catalogue)} ${what}`,
      measured: perSecond(rate, 'rows'),
      baseline: perSecond(least, 'rows'),
      ratio: rate / least,
      atLeast: 1,
    })
  }
  for (const [edition, limit] of limits.slice(0, all ? 2 : 1).entries()) {
    await writeCompanies(file, catalogue, { edition, isUsual: true })
    await imported('companies', limit)
    await writePeople(file, catalogue, catalogue, { edition })
    await imported('people', limit)
  }
  rmSync(home.PROSPECT_HOME, { recursive: true })
  await writeCompanies(file, catalogue)
  await time([binary, 'data', 'import', 'companies', file], env)
  rmSync(file)
  return figures
}
