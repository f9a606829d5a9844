import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { strToU8, zipSync } from 'fflate'
import { binary } from '../run.js'
import { grouped, megabytes, timeAndPeak } from './measure.js'

const program = fileURLToPath(new URL('convert.js', import.meta.url))
/** As `src/csv/workbook/convert.ts` starts the process. */
const limits = ['--max-old-space-size=192', '--max-semi-space-size=8']
const rows = 200_000
const maxBytes = { alone: 450e6, batch: 250e6 }

/** Peak memory of the process that reads a workbook of 10 columns; with `all` of one that writes it, and of a whole batch. */
export async function workbook({ env, folder, all }) {
  const [csv, xlsx, input, output] = ['in.csv', 'out.xlsx', 'in.xlsx', 'out.csv'].map((name) =>
    join(folder, name),
  )
  writeFileSync(input, sharedStringsWorkbook())
  const convert = async (what, task, made) => {
    const { ms, peak } = await timeAndPeak([...limits, program, JSON.stringify(task)], env)
    rmSync(made)
    return figure(
      `${what} an \`.xlsx\` file of ${grouped(rows)} rows and 10 columns`,
      { ms, peak },
      maxBytes.alone,
    )
  }
  const reading = await convert('Reading', { workbook: input, csv: output }, output)
  if (!all) return [reading]
  await pipeline(Readable.from(lines()), createWriteStream(csv))
  const writing = await convert('Writing', { csv, xlsx }, xlsx)
  const args = [binary, 'accounts', 'enrich', '--csv', input, '-o', xlsx, '--quiet', '--refresh']
  const whole = figure(
    `\`accounts enrich --csv in.xlsx -o out.xlsx\`, ${grouped(rows)} rows: the largest of its processes`,
    await watch(args, env),
    maxBytes.batch,
  )
  return [reading, writing, whole]
}

const figure = (what, { ms, peak }, limit) => ({
  what,
  measured: `${megabytes(peak)}, ${(ms / 1_000).toFixed(1)} s`,
  baseline: megabytes(limit),
  ratio: peak / limit,
  atMost: 1,
})

/** Runs a program; resolves with its time, and the largest memory of it and its children. */
async function watch(args, env) {
  const began = performance.now()
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'ignore', 'inherit'] })
  const ended = once(child, 'close')
  let [peak, isOver] = [0, false]
  ended.then(() => (isOver = true))
  while (!isOver) {
    for (const pid of [child.pid, ...childrenOf(child.pid)]) peak = Math.max(peak, largest(pid))
    await pause(20)
  }
  const [code] = await ended
  if (code !== 0) throw new Error(`node ${args.join(' ')} ended with ${code}`)
  return { peak, ms: performance.now() - began }
}

const childrenOf = (pid) => textOf(`/proc/${pid}/task/${pid}/children`).split(' ').filter(Boolean)

/** The largest memory that a process had, in bytes; 0 where it has ended. */
const largest = (pid) => Number(/^VmHWM:\s+(\d+)/m.exec(textOf(`/proc/${pid}/status`))?.[1] ?? 0) * 1_024

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

function* lines() {
  yield `${header}\n`
  for (let at = 0; at < rows; at++) yield `${cellsOf(at)}\n`
}

/** A workbook as Excel writes one: each text once, apart from the sheet. */
function sharedStringsWorkbook() {
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
