import { once } from 'node:events'
import { createWriteStream, rmSync } from 'node:fs'
import { join } from 'node:path'
import { binary } from '../run.js'
import { median, peakMemory, time } from './measure.js'

const countries = ['FR', 'DE', 'United States', 'Germany', 'GB', 'Italy', 'ES']

/** Rows per second of `prospect match`, both files counted, by all keys of companies, and its peak memory. */
export async function match({ env, quick, folder }) {
  const rows = quick ? 50_000 : 1_000_000
  const [crm, leads, output] = ['crm.csv', 'leads.csv', 'matched.csv'].map((name) => join(folder, name))
  // A multiplication by an odd number visits the companies in an order that no index likes.
  const shuffled = (at) => (Math.imul(at, 2_654_435_761) >>> 0) % rows
  await writeRows(
    crm,
    rows,
    'Record ID,Company name,Company Domain Name,Country/Region,LinkedIn Company Page,LinkedIn ID',
    (at) => {
      const id = shuffled(at)
      const domain = at % 10 < 3 ? '' : `https://www.company-${id}.com/`
      const profile = at % 10 < 5 ? '' : `https://www.linkedin.com/company/company-${id}/`
      return `${id},Company Näme ${id} GmbH,${domain},${countries[id % 7]},${profile},${at % 10 < 8 ? '' : 1e6 + id}`
    },
  )
  await writeRows(leads, rows, 'Company,Website,Country,Profile,Notes', (at) => {
    const id = shuffled(at + 12_345) + Math.floor(rows / 2)
    const profile = at % 10 > 7 ? '' : `linkedin.com/company/company-${id}`
    return `Company Näme ${id},${at % 10 < 4 ? '' : `company-${id}.com`},${countries[id % 7]},${profile},some notes here`
  })
  const args = [binary, 'match', leads, '--with', crm, '--take', 'Record ID', '-o', output, '--quiet']
  const peak = await peakMemory(args, env)
  const times = []
  for (let round = 0; round < 3; round++) times.push(await time(args, env))
  for (const file of [crm, leads, output]) rmSync(file)
  const rate = (2 * rows * 1_000) / median(times)
  const many = rows.toLocaleString('en')
  return [
    {
      what: `\`prospect match\`, ${many} rows with ${many}, by all keys, both files counted`,
      measured: `${Math.round(rate).toLocaleString('en')} rows/s`,
      baseline: '25,000 rows/s',
      ratio: rate / 25_000,
      ...(quick ? {} : { atLeast: 1 }),
    },
    {
      what: 'the same, peak memory',
      measured: `${(peak / 1e6).toFixed(0)} MB`,
      baseline: '400 MB',
      ratio: peak / 400e6,
      atMost: 1,
    },
  ]
}

async function writeRows(file, rows, header, rowOf) {
  const stream = createWriteStream(file)
  let text = `${header}\n`
  for (let at = 0; at < rows; at++) {
    text += `${rowOf(at)}\n`
    if (text.length < 1_000_000) continue
    if (!stream.write(text)) await once(stream, 'drain')
    text = ''
  }
  stream.end(text)
  await once(stream, 'close')
}
