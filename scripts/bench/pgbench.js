import { execFile } from 'node:child_process'
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const installed = '/usr/lib/postgresql'

/** The path of pgbench, if it is on this machine. */
export async function findPgbench() {
  const versions = existsSync(installed) ? readdirSync(installed).sort((one, other) => other - one) : []
  for (const path of ['pgbench', ...versions.map((version) => join(installed, version, 'bin', 'pgbench'))]) {
    try {
      await run(path, ['--version'])
      return path
    } catch {
      // The next one may be there.
    }
  }
  return undefined
}

/** The statements of one transaction that writes, as the server logged them; each with its values put in. */
export function lastTransaction(log) {
  const entries = entriesOf(log)
  const begun = entries.findLastIndex(
    ({ text }) => text.startsWith('BEGIN') && text.includes('READ COMMITTED'),
  )
  const own = entries.slice(begun).filter(({ pid }) => pid === entries[begun]?.pid)
  const end = own.findIndex(({ text }) => text === 'COMMIT')
  if (begun < 0 || end < 0) throw new Error('the log of PostgreSQL holds no transaction')
  return statementsOf(own.slice(0, end + 1)).flatMap((statement) => statement.split('; '))
}

/** What was asked for, as the server logged it; each question with its values put in. */
export function questionsOf(log) {
  const asked = statementsOf(entriesOf(log)).filter((statement) => /^SELECT\b/i.test(statement))
  if (asked.length === 0) throw new Error('the log of PostgreSQL holds no question')
  return asked
}

const entriesOf = (log) =>
  log.split(/\n(?=\d{4}-\d\d-\d\d )/).map((entry) => {
    const [, pid, kind, text] =
      /^\S+ \S+ \S+ \[(\d+)\] (LOG: {2}(?:statement|execute [^:]+)|DETAIL: {2}Parameters): ([\s\S]*)/.exec(
        entry,
      ) ?? []
    return { pid, isValues: kind?.startsWith('DETAIL') ?? false, text: text?.trim() ?? '' }
  })

function statementsOf(entries) {
  const statements = []
  for (const { isValues, text } of entries)
    if (isValues) statements.push(withValues(statements.pop(), text))
    else statements.push(text)
  return statements
}

function withValues(statement, text) {
  const values = new Map(
    [...text.matchAll(/\$(\d+) = ('(?:[^']|'')*'|NULL)/g)].map(([, at, value]) => [at, value]),
  )
  return statement.replace(/\$(\d+)/g, (_place, at) => values.get(at))
}

/**
 * A charge as a script of pgbench: the same statements and locks, sent with as few waits as pgbench can, which is where
 * no answer is needed for the next one.
 */
export function chargeScript(statements) {
  const [begin, ...locks] = statements.filter((one) => /^BEGIN|pg_advisory/.test(one))
  const insert = statements.findIndex((one) => one.startsWith('INSERT INTO movements'))
  const reads = statements.slice(1 + locks.length, insert)
  const asked = reads.map((one) => (one.includes('FROM movements') ? `${one} \\gset` : `${one};`))
  const ends = [follows(statements[insert]), ...statements.slice(insert + 1)]
  return [...bulkRequests([begin, ...locks]), ...asked, ...bulkRequests(ends), '']
    .join('\n')
    .replaceAll('\n\t', ' ')
}

const bulkRequests = (statements) => [
  '\\startpipeline',
  ...statements.map((one) => `${one};`),
  '\\endpipeline',
]

/** A movement that was logged, behind the last one there is. */
function follows(insert) {
  const [, columns, values] = /\(([^)]*)\)\s*VALUES \((.*)\)/s.exec(insert)
  const next = { seq: ':seq + 1', credits: ':credits - 1', held: ':held', spent: ':spent + 1' }
  const names = columns.split(', ')
  const given = values.split(', ').map((value, at) => next[names[at]] ?? value)
  return `INSERT INTO movements (${columns}) VALUES (${given.join(', ')})`
}

/** Transactions per second of scripts that are taken at random. */
export async function pgbench(path, { folder, port }, { scripts, clients, seconds }) {
  const files = scripts.flatMap((script, at) => ['-f', written(folder, `charge-${at}`, script)])
  const stdout = await runPgbench(path, [
    '-h',
    folder,
    '-p',
    String(port),
    '-M',
    'prepared',
    '-c',
    String(clients),
    '-j',
    '2',
    '-T',
    String(seconds),
    ...files,
    'postgres',
  ])
  return Number(/^tps = ([\d.]+)/m.exec(stdout)?.[1])
}

/** Milliseconds that a server takes for questions which are asked one after the other, the mean of so many times. */
export async function pgbenchMs(path, { folder, port }, { database, questions, times, settings }) {
  const script = ['BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY', ...questions, 'COMMIT', ''].join(';\n')
  const stdout = await runPgbench(
    path,
    [
      '-h',
      folder,
      '-p',
      String(port),
      '-M',
      'simple',
      '-c',
      '1',
      '-t',
      String(times),
      '-f',
      written(folder, 'questions', script),
      database,
    ],
    { PGOPTIONS: settings.map((setting) => `-c ${setting}`).join(' ') },
  )
  return Number(/^latency average = ([\d.]+) ms/m.exec(stdout)?.[1])
}

function written(folder, name, script) {
  const file = join(folder, '..', `${name}.sql`)
  writeFileSync(file, script)
  return file
}

const runPgbench = async (path, args, env = {}) =>
  (await run(path, ['-U', 'postgres', '-n', ...args], { env: { ...process.env, ...env } })).stdout
