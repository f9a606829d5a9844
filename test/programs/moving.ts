import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import Database from 'better-sqlite3'
import pg from 'pg'
import { main } from '../../src/cli/program/main.js'

/**
 * Moves the engine of a home as `prospect engine move` does, and kills itself behind a step: a statement of either database,
 * or a file that gets its name. Prints how many steps there were, and how many commits and names there were behind the mark
 * that the engine has moved. Arguments: the step (0 for none), by its number or, as in `+2`, behind the mark; the new place.
 */
const [deadly = '0', to = ''] = process.argv.slice(2)
let steps = 0
/** -1 before the mark. */
let lastSteps = -1

function counted<T>(result: T, name: string, first: unknown): T {
  const text = String((first as { text?: unknown } | undefined)?.text ?? first)
  if (text.includes('INTO moved')) lastSteps = 0
  else if (lastSteps >= 0 && (text === 'COMMIT' || name === 'linkSync' || name === 'renameSync')) lastSteps++
  else if (deadly.startsWith('+')) return result
  if (`${++steps}` === deadly || `+${lastSteps}` === deadly) process.kill(process.pid, 'SIGKILL')
  return result
}

type Method = (...given: unknown[]) => unknown

/** Counts the calls of a method; `told` returns what one is about, by default its first argument. */
function count(of: object, name: string, told?: (self: never) => unknown): void {
  const methods = of as Record<string, Method>
  const before = methods[name] as Method
  methods[name] = function (this: never, ...given) {
    const result = before.apply(this, given)
    const about = told ? told(this) : given[0]
    const end = <T>(value: T): T => counted(value, name, about)
    return result instanceof Promise ? result.then(end) : end(result)
  }
}

const statement = Object.getPrototypeOf(new Database(':memory:').prepare('SELECT 1')) as object
for (const name of ['run', 'get', 'all']) count(statement, name, ({ source }: Database.Statement) => source)
for (const name of ['exec', 'pragma']) count(Database.prototype, name)
for (const name of ['linkSync', 'renameSync', 'rmSync']) count(fs, name)
syncBuiltinESMExports()
count(pg.Client.prototype, 'query')

const { stdin, stdout, stderr, env } = process
const streams = { stdin, stdout, stderr, env, cwd: process.cwd(), signals: process }
process.exitCode = await main(['engine', 'move', '--to', to, '--quiet', '-o', 'moved.json'], streams)
process.stdout.write(`${steps} ${lastSteps}\n`)
