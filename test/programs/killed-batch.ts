import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Caller } from '../../src/api/calls/caller.js'
import { main } from '../../src/cli/program/main.js'
import { openEngine } from '../../src/index.js'

/**
 * A batch over the local engine, a flow in a `.yaml` file, or a single lookup of each line of a `.txt` file, as a process that
 * kills itself.
 * Arguments: input, output, the call it dies at (0 for none), whether before or after the engine has answered it, and how
 * many turns of the event loop later; further options of the command.
 */
const [input = '', output = '', call = '0', when = 'before', turns = '0', ...options] = process.argv.slice(2)
const home = process.env.PROSPECT_HOME ?? ''

const die = (left: number): void => {
  if (left > 0) setImmediate(die, left - 1)
  else process.kill(process.pid, 'SIGKILL')
}

const engine = await openEngine({ engine: join(home, 'engine.db'), catalogue: join(home, 'catalogue.db') })
let calls = 0

/** Few at once, so that a run does not come to its end between two of its deaths. */
const atOnce = 8
const waiting: (() => void)[] = []
let underWay = 0

async function turn(): Promise<void> {
  if (underWay++ >= atOnce) await new Promise<void>((resolve) => waiting.push(resolve))
}

function done(): void {
  underWay--
  waiting.shift()?.()
}

const deadly: Caller = {
  ...engine.caller,
  call: async (...request) => {
    await turn()
    const isLast = ++calls === Number(call)
    if (isLast && when === 'before') die(Number(turns))
    const reply = await engine.caller.call(...request)
    if (isLast && when === 'after') die(Number(turns))
    done()
    return reply
  },
}

const { stdin, stdout, stderr, env } = process
const run = (...argv: string[]) =>
  main(
    [...argv, '--quiet', ...options],
    { stdin, stdout, stderr, env, cwd: process.cwd(), signals: process },
    { caller: deadly },
  )
const enrich = ['accounts', 'enrich']
if (input.endsWith('.yaml')) process.exitCode = await run('flow', 'run', input)
else if (!input.endsWith('.txt')) process.exitCode = await run(...enrich, '--csv', input, '-o', output)
else
  for (const domain of readFileSync(input, 'utf8').trim().split('\n'))
    process.exitCode = Math.max(
      Number(process.exitCode ?? 0),
      await run(...enrich, '--domain', domain, '--max-age', '1d'),
    )
await engine.close()
process.stdout.write(`${calls}\n`)
