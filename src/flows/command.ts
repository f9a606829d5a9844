import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Caller, Reply } from '../api/calls/caller.js'
import { Refusal } from '../api/calls/errors.js'
import { parseExact, toJson } from '../api/values/json.js'
import { isObject, resultOr } from '../api/values/objects.js'
import type { RunHome } from '../runs/ports.js'
import type { CommandStep } from './read.js'

/** Variables of the environment with secrets of ours, which other programs do not get. */
const isSecret = (name: string): boolean => /^(?:PROSPECT_|PG)/.test(name)

/**
 * Returns a caller that has a program answer rows, from the first row until the command ends: it gets each as a line of JSON,
 * and answers a line with an object, in the same order, or `null` where it has nothing.
 */
export function commandCaller(
  { onClose }: Pick<RunHome, 'onClose'>,
  { command, fields }: Pick<CommandStep, 'command' | 'fields'>,
  folder: string,
  environment: Readonly<Record<string, string | undefined>>,
): Caller {
  const env = Object.fromEntries(Object.entries(environment).filter(([name]) => !isSecret(name)))
  const [program = '', ...args] = command
  const waiting: { resolve(reply: Reply): void; reject(error: Error): void }[] = []
  let ended: Refusal | undefined
  const end = (details: object) => {
    ended ??= new Refusal('flow.command_ended', { command: program, ...details })
    for (const one of waiting.splice(0)) one.reject(ended)
  }
  const start = () => {
    const child = spawn(program, args, { cwd: folder, env, stdio: ['pipe', 'pipe', 'inherit'] })
    onClose(() => void child.kill())
    // The end of the program says why it does not read.
    child.stdin.on('error', () => {})
    child.on('error', (cause) => end({ cause }))
    child.on('close', (exit) => end({ exit }))
    createInterface({ input: child.stdout }).on('line', (line) => {
      const one = waiting.shift()
      const body: unknown = resultOr(undefined, () => parseExact(line))
      if (!one || (body !== null && !isObject(body)))
        return end({ line: line.slice(0, 200), isNoAnswer: true })
      const found = body && Object.fromEntries(fields.map((name) => [name, body[name] ?? null]))
      const reply = found ? { status: 200, body: found } : { status: 404, body: { error: 'No answer' } }
      one.resolve({ ...reply, headers: {}, credits: 0 })
    })
    return child
  }
  let child: ReturnType<typeof start> | undefined
  return {
    call: async (_, { row }) => {
      child ??= start()
      if (ended) throw ended
      child.stdin.write(`${toJson(row)}\n`)
      return new Promise((resolve, reject) => waiting.push({ resolve, reject }))
    },
    close: async () => {},
  }
}
