import { once } from 'node:events'
import { createWriteStream, rmSync } from 'node:fs'
import { join } from 'node:path'
import { binary } from '../run.js'
import { grouped, megabytes, perSecond, timeAndPeak } from './measure.js'

const [least, maxBytes] = [25_000, 400e6]
const countries = ['FR', 'DE', 'United States', 'Germany', 'GB', 'Italy', 'ES']

/** Rows per second of `prospect match`, both files counted, by all keys of companies, and its peak memory. */
export async function match({ env, folder }) {
  const rows = 1_000_000
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
  const { ms, peak } = await timeAndPeak(args, env)
  for (const file of [crm, leads, output]) rmSync(file)
  const rate = (2 * rows * 1_000) / ms
  return [
    {
      what: `\`prospect match\`, ${grouped(rows)} rows with ${grouped(rows)}, by all keys, both files counted`,
      measured: perSecond(rate, 'rows'),
      baseline: perSecond(least, 'rows'),
      ratio: rate / least,
      atLeast: 1,
    },
    {
      what: 'Peak memory of that `match`',
      measured: megabytes(peak),
      baseline: megabytes(maxBytes),
      ratio: peak / maxBytes,
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
