import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { binary } from '../run.js'
import { writeCompanies } from './data.js'
import { time } from './measure.js'

const passThrough = fileURLToPath(new URL('pass-through.js', import.meta.url))

/** Fills the catalogue that the other measurements use, and answers how fast that went. */
export async function importCompanies({ env, folder, catalogue }) {
  const file = join(folder, 'companies.csv')
  await writeCompanies(file, catalogue)
  const ours = await time([binary, 'data', 'import', 'companies', file], env)
  const parsed = await time([passThrough, file], env)
  rmSync(file)
  const rate = (ms) => Math.round((catalogue / ms) * 1000).toLocaleString('en')
  return [
    {
      what: `\`data import companies\`, ${catalogue.toLocaleString('en')} companies`,
      measured: `${rate(ours)} rows/s`,
      baseline: `csv-parse alone: ${rate(parsed)} rows/s`,
      ratio: parsed / ours,
    },
  ]
}
