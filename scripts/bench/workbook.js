import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { strToU8, zipSync } from 'fflate'
import readExcelFile from 'read-excel-file/node'
import { binary } from '../run.js'
import { askJson, peakMemory, time } from './measure.js'

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
  return [...measurements, ...(await enrichKilled({ env, folder, input, rows }))]
}

/**
 * Peak memory of a batch from a workbook into a workbook that is killed halfway and resumed. Fails unless another reader
 * finds every row in the result and every company was paid once.
 */
async function enrichKilled({ env, folder, input, rows }) {
  const output = join(folder, 'enriched.xlsx')
  // The other reader cannot hold every field of a full catalogue.
  const fields = ['--fields', 'name,domain,industry,headcount']
  const args = [binary, 'accounts', 'enrich', '--csv', input, '-o', output, '--quiet', '--refresh', ...fields]
  const before = await paid(env)
  // What is finished later is written as CSV first, of some 200 bytes a row.
  const killed = await watch(args, env, () => sizeOf(`${output}.partial`) > rows * 100)
  const resumed = await watch(args, env)
  if (killed.signal !== 'SIGKILL' || resumed.code !== 0)
    throw new Error(
      `the runs ended with ${killed.signal ?? killed.code} and ${resumed.code}: ${resumed.stderr}`,
    )
  const [sheet] = await readExcelFile(output)
  const [names = [], ...answers] = sheet?.data ?? []
  const [asked, status] = [names.indexOf('Domain'), names.indexOf('_status')]
  const isRight = (row, at) =>
    row[asked] === cellsOf(at)[1] && row[status] === (isKnown(at) ? 'found' : 'not_found')
  const found = Array.from({ length: rows }, (_, at) => at).filter(isKnown).length
  const cost = (await paid(env)) - before
  if (answers.length !== rows || !answers.every(isRight) || cost !== found)
    throw new Error(`${answers.length} rows of ${rows}, ${cost} credits for ${found} companies`)
  const peak = Math.max(killed.peak, resumed.peak)
  return [
    {
      what:
        `\`accounts enrich --csv in.xlsx -o out.xlsx\`, ${rows.toLocaleString('en')} rows, killed and resumed: ` +
        'the largest of its processes',
      measured: `${(peak / 1e6).toFixed(0)} MB, ${((killed.ms + resumed.ms) / 1_000).toFixed(1)} s`,
      baseline: '250 MB',
      ratio: peak / 250_000_000,
      atMost: 1,
    },
  ]
}

const paid = async (env) =>
  100_000_000 - (await askJson([binary, 'credits', '--json'], env)).credits.enrichment

/** Runs a program, and kills it when `until` says so. Returns how it ended, and the largest memory of it and its children. */
async function watch(args, env, until = () => false) {
  const began = performance.now()
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'ignore', 'pipe'] })
  let [stderr, peak] = ['', 0]
  child.stderr.setEncoding('utf8').on('data', (text) => (stderr += text))
  const ended = once(child, 'close')
  let isOver = false
  ended.then(() => (isOver = true))
  while (!isOver) {
    for (const pid of [child.pid, ...childrenOf(child.pid)]) peak = Math.max(peak, largest(pid))
    if (until()) child.kill('SIGKILL')
    await pause(20)
  }
  const [code, signal] = await ended
  return { code, signal, stderr, peak, ms: performance.now() - began }
}

const childrenOf = (pid) => textOf(`/proc/${pid}/task/${pid}/children`).split(' ').filter(Boolean)

/** The largest memory that a process had, in bytes; 0 where it has ended. */
const largest = (pid) => Number(/^VmHWM:\s+(\d+)/m.exec(textOf(`/proc/${pid}/status`))?.[1] ?? 0) * 1_024

const sizeOf = (path) => statSync(path, { throwIfNoEntry: false })?.size ?? 0

function textOf(path) {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

const header = 'Company,Domain,First,Last,Email,Phone,Employees,Revenue,City,Note'.split(',')

/** Nine of ten rows are of companies in the catalogue. */
const isKnown = (at) => at % 10 !== 9

function cellsOf(at) {
  const name = ((at * 2_654_435_761) >>> 0).toString(36)
  return [
    `Company ${name}`,
    isKnown(at) ? `company-${at}.example` : `${name}-${at}.example`,
    `First${at % 9_000}`,
    `Last ${name}`,
    `first${at}@${name}.example`,
    `+4930${1_000_000 + at}`,
    at % 5_000,
    at * 37.25,
    `City ${at % 3_000}`,
    `Note ${at} of ${name}`,
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
