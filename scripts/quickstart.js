/** `npm run quickstart`: a first look at the real command, from a clone with nothing installed. */
import { readFileSync, rmSync } from 'node:fs'
import { relative } from 'node:path'
import { ensure } from './ensure.js'
import { binary, root, run } from './run.js'

const home = '.quickstart'
const input = 'docs/examples/companies.csv'
const output = `${home}/enriched.csv`
const shownRows = 30
const found = ['name', '_status', '_credits']
/** So that the table fits a terminal of 80 columns. */
const cellWidth = 18

/** Exit code of a batch that finished although some rows were invalid or failed. */
const someRowsFailed = 11

const heading = (text) => process.stdout.write(`\n== ${text}\n\n`)
const say = (text) => process.stdout.write(`${text}\n`)

/** Shows a command as it would be typed, runs it, and stops the story when it ends otherwise than expected. */
async function prospect(words, expected = [0]) {
  // Off a terminal the command prints JSON by default; a story is for people.
  const asked = process.stdout.isTTY || words.includes('-o') ? words : [...words, '--format', 'table']
  say(`$ prospect ${asked.join(' ')}`)
  const env = { ...process.env, PROSPECT_HOME: root + home }
  const code = await run(process.execPath, [binary, ...asked], {
    env,
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  if (!expected.includes(code)) throw new Error(`prospect ${words.join(' ')}: ended with exit code ${code}`)
  say('')
  return code
}

/** Shows the interesting columns of the first rows of the result: what was asked, what was found, what it cost. */
async function showResult() {
  const [{ parse }, { default: Table }] = await Promise.all([import('csv-parse/sync'), import('cli-table3')])
  const rows = parse(readFileSync(root + output), { columns: true, bom: true })
  const all = Object.keys(rows[0] ?? {})
  // The output begins with the columns of the input.
  const columns = [...new Set([...all.slice(0, 2), ...found.filter((name) => all.includes(name))])]
  const table = new Table({
    head: columns,
    chars: { ...Object.fromEntries(borders.map((name) => [name, ''])), middle: '  ' },
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
  })
  for (const row of rows.slice(0, shownRows)) table.push(columns.map((name) => clip(row[name] ?? '')))
  say(table.toString())
  say(
    `${Math.min(shownRows, rows.length)} of ${rows.length} rows and ${columns.length} of ${all.length} columns.`,
  )
  say(`All of it: ${output}`)
}

const borders = ['top', 'bottom', 'left', 'mid', 'right'].flatMap((side) => [
  side,
  `${side}-mid`,
  `${side}-left`,
  `${side}-right`,
])

const clip = (text) => {
  const line = text.replace(/\s+/g, ' ')
  return line.length > cellWidth ? `${line.slice(0, cellWidth - 1)}…` : line
}

function tellWhatNext() {
  heading('What to try next')
  say(`export PROSPECT_HOME="${root}${home}"`)
  say(`alias prospect="node ${root}${relative(root, binary)}"`)
  say('')
  say('prospect accounts enrich --domain acme-robotics.example     # one company')
  say('prospect accounts enrich --domain nobody.example; echo $?   # not found: 9')
  say('prospect engine credits set 0                               # enrich: exit 4')
  say('prospect serve                                              # over HTTP')
  say('prospect                                                    # everything else')
  say('')
  say('Read on in README.md and docs/start.md.')
}

async function main() {
  await ensure()
  rmSync(root + home, { recursive: true, force: true })
  heading('1. A workspace of your own, on this machine')
  await prospect(['init'])
  heading('2. Companies and people to look up: invented ones')
  await prospect(['data', 'sample'])
  heading('3. What there is to spend')
  await prospect(['credits'])
  heading('4. A messy file of companies, enriched')
  const code = await prospect(['accounts', 'enrich', '--csv', input, '-o', output], [0, someRowsFailed])
  if (code === someRowsFailed) {
    say(`Exit code ${code}: the file is complete, but some rows are invalid. They have _status "invalid",`)
    say('the reason is in _error, and they cost nothing.\n')
  }
  await showResult()
  heading('5. What it cost')
  await prospect(['credits'])
  heading('6. Every credit is accounted for')
  await prospect(['engine', 'ledger', 'verify'])
  tellWhatNext()
}

try {
  await main()
} catch (error) {
  process.stderr.write(`\n${error.message}\n`)
  process.exitCode = 1
}
