import { createWriteStream, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { fileURLToPath } from 'node:url'
import { strToU8, zipSync } from 'fflate'
import { peakMemory, time } from './measure.js'

const program = fileURLToPath(new URL('convert.js', import.meta.url))
/** As `src/csv/workbook/convert.ts` starts the process. */
const limits = ['--max-old-space-size=192', '--max-semi-space-size=8']
const most = 450_000_000

/** Time and peak memory of the process that converts a workbook of 10 columns, in both directions. */
export async function workbook({ env, quick, folder }) {
  const rows = quick ? 20_000 : 200_000
  const [csv, xlsx, input, output] = ['in.csv', 'out.xlsx', 'in.xlsx', 'out.csv'].map((name) =>
    join(folder, name),
  )
  await pipeline(Readable.from(lines(rows)), createWriteStream(csv))
  writeFileSync(input, sharedStringsWorkbook(rows))
  const write = [...limits, program, JSON.stringify({ csv, xlsx })]
  const read = [...limits, program, JSON.stringify({ workbook: input, csv: output })]
  const measurements = []
  for (const [what, args, made] of [
    ['writing', write, xlsx],
    ['reading', read, output],
  ]) {
    const peak = await peakMemory(args, env)
    rmSync(made)
    const ms = await time(args, env)
    measurements.push({
      what: `${what} an \`.xlsx\` file of ${rows.toLocaleString('en')} rows and 10 columns, in its process`,
      measured: `${(peak / 1e6).toFixed(0)} MB, ${(ms / 1_000).toFixed(1)} s`,
      baseline: '450 MB',
      ratio: peak / most,
      atMost: 1,
    })
  }
  return measurements
}

const header = 'Company,Domain,First,Last,Email,Phone,Employees,Revenue,City,Note'.split(',')

function cellsOf(at) {
  const name = ((at * 2_654_435_761) >>> 0).toString(36)
  return [
    ...[`Company ${name}`, `${name}-${at}.example`, `First${at % 9_000}`, `Last ${name}`],
    ...[`first${at}@${name}.example`, `+4930${1_000_000 + at}`, at % 5_000, at * 37.25],
    ...[`City ${at % 3_000}`, `Note ${at} of ${name}`],
  ]
}

function* lines(rows) {
  yield `${header}\n`
  for (let at = 0; at < rows; at++) yield `${cellsOf(at)}\n`
}

/** A workbook as Excel writes one: each text once, apart from the sheet. */
function sharedStringsWorkbook(rows) {
  const texts = new Map()
  const cell = (value, at, row) => {
    const place = `r="${String.fromCharCode(65 + at)}${row}"`
    if (typeof value === 'number') return `<c ${place}><v>${value}</v></c>`
    if (!texts.has(value)) texts.set(value, texts.size)
    return `<c ${place} t="s"><v>${texts.get(value)}</v></c>`
  }
  const row = (cells, at) =>
    `<row r="${at}">${cells.map((value, column) => cell(value, column, at)).join('')}</row>`
  const body = Array.from({ length: rows }, (_, at) => row(cellsOf(at), at + 2))
  const relation = (id, type, target) =>
    `<Relationship Id="${id}" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/${type}" Target="${target}"/>`
  const parts = {
    '_rels/.rels': `<Relationships>${relation('r1', 'officeDocument', 'xl/workbook.xml')}</Relationships>`,
    'xl/workbook.xml': '<workbook><sheets><sheet name="Sheet1" sheetId="1" r:id="r1"/></sheets></workbook>',
    'xl/_rels/workbook.xml.rels': `<Relationships>${relation('r1', 'worksheet', 'sheet.xml')}${relation('r2', 'sharedStrings', 'texts.xml')}</Relationships>`,
    'xl/sheet.xml': `<worksheet><sheetData>${row(header, 1)}${body.join('')}</sheetData></worksheet>`,
    'xl/texts.xml': `<sst>${[...texts.keys()].map((text) => `<si><t>${text}</t></si>`).join('')}</sst>`,
  }
  return zipSync(Object.fromEntries(Object.entries(parts).map(([name, xml]) => [name, strToU8(xml)])), {
    level: 1,
  })
}
