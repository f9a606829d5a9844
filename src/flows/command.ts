import { spawn } from 'node:child_process'
import type { Caller, Reply } from '../api/calls/caller.js'
import { type Note, Refusal } from '../api/calls/errors.js'
import { maxLevels } from '../api/operations/facts.js'
import { toMs } from '../api/values/duration.js'
import { isDeeperThan, parseExact, toJson } from '../api/values/json.js'
import { type Fields, isObject, resultOr } from '../api/values/objects.js'
import type { RunHome } from '../runs/ports.js'
import { rowNumberField } from './format.js'
import type { CommandStep } from './read.js'

/** Variables of the environment with secrets of ours, which other programs do not get. */
const isSecret = (name: string): boolean => /^(?:PROSPECT_|PG)/.test(name)

const usualTimeout = '60s'
const maxLineBytes = 1_048_576
/** How much of a line a sentence shows. */
const shownLetters = 200

/** What is wrong with lines that cannot be an answer, and may be shown instead. Others may be that to another row. */
const noAnswers: ReadonlySet<string> = new Set(['no_object', 'no_field', 'deep'])

/** How long a surplus line is waited for, where answers have no numbers: at least, and at most. */
const [leastGraceMs, mostGraceMs] = [20, 5_000]
/** How long a program may take to end when its input has ended, if its answers have numbers. */
const endMs = 1_000

export interface CommandPorts extends Pick<RunHome, 'onClose'> {
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Shows a line that is no answer. */
  log(line: string): void
  /** Says what is waited for. */
  notify(note: Note): void
}

type ProgramStep = Pick<CommandStep, 'command' | 'fields' | 'log' | 'timeout'>

interface Waiting {
  readonly number: number
  readonly line: string
  resolve(answer: Fields | null): void
  reject(error: Refusal): void
}

/**
 * Returns a caller that has a program answer rows, from the first row until the step ends: it gets each as a line of JSON, and
 * answers a line with an object, or `null` where it has nothing.
 *
 * Where answers have no number, they are in the order of the rows, and one line too many would give every later row the answer
 * to another one. So rows are sent in portions, and a portion is only answered when it has as many lines as rows, and no
 * further one comes. `close` ends the program, and rejects where it writes a surplus line.
 */
export function commandCaller(ports: CommandPorts, step: ProgramStep, folder: string): Caller {
  const { fields } = step
  let program: Program | undefined
  return {
    call: async (_, { row }): Promise<Reply> => {
      program ??= new Program(ports, step, folder)
      const body = await program.ask(isObject(row) ? row : {})
      // A field that it does not write stays as it was.
      const given = body && fields.flatMap((name) => (Object.hasOwn(body, name) ? [[name, body[name]]] : []))
      return given
        ? { status: 200, body: Object.fromEntries(given), headers: {}, credits: 0 }
        : { status: 404, body: { error: 'No answer' }, headers: {}, credits: 0 }
    },
    close: async () => program?.end(),
  }
}

/** Returns the number of a row as a program gives it back; NaN for what is no number of a row. */
const toNumber = (given: unknown): number => (/^\d+$/.test(String(given)) ? Number(given) : Number.NaN)

/** Starts a program. Throws a Refusal for a command line that the system does not take. */
function start(program: string, args: readonly string[], options: { cwd: string; env: NodeJS.ProcessEnv }) {
  try {
    return spawn(program, args, { ...options, stdio: ['pipe', 'pipe', 'inherit'] })
  } catch (cause) {
    throw new Refusal('flow.command_ended', { command: program, cause })
  }
}

class Program {
  readonly #name: string
  readonly #fields: readonly string[]
  readonly #logs: boolean
  readonly #timeout: string
  readonly #child: ReturnType<typeof start>
  readonly #closed: Promise<void>
  /** Rows that are not sent yet. */
  #queue: Waiting[] = []
  /** Rows that are sent and have no answer, in their order. */
  #sent: Waiting[] = []
  /** Answers to the first of them, where answers have no number. */
  #answers: (Fields | null)[] = []
  #isNumbered: boolean | undefined
  #rows = 0
  #ended: Refusal | undefined
  #late: NodeJS.Timeout | undefined
  #grace: NodeJS.Timeout | undefined
  #killing: NodeJS.Timeout | undefined
  /** When the last answer came, and the longest time between two of a portion. */
  #answeredAt = 0
  #longestMs = 0

  constructor(
    private readonly ports: CommandPorts,
    { command, fields, log = false, timeout = usualTimeout }: ProgramStep,
    folder: string,
  ) {
    const [program = '', ...args] = command
    this.#name = program
    this.#fields = fields
    this.#logs = log
    this.#timeout = timeout
    const env = Object.fromEntries(Object.entries(ports.environment).filter(([name]) => !isSecret(name)))
    const child = start(program, args, { cwd: folder, env })
    this.#child = child
    ports.onClose(async () => {
      this.#stop()
      await this.#closed
    })
    // The end of the program says why it does not read.
    child.stdin.on('error', () => {})
    this.#closed = new Promise((resolve) => {
      child.on('error', (cause) => {
        this.#fail(new Refusal('flow.command_ended', { command: program, cause }))
        if (child.pid === undefined) resolve()
      })
      child.on('close', (exit) => {
        // It can write nothing more.
        if (!this.#ended && this.#sent.length > 0 && this.#answers.length === this.#sent.length)
          this.#release()
        this.#fail(new Refusal('flow.command_ended', { command: program, exit }))
        clearTimeout(this.#killing)
        resolve()
      })
    })
    const lines = new LineReader(
      (line) => this.#read(line),
      (beginning) => this.#refuse('long', beginning),
    )
    child.stdout.on('data', (bytes: Buffer) => lines.add(bytes))
    child.stdout.on('end', () => lines.end())
  }

  /** Returns the answer to a row; `null` where the program has nothing. */
  ask(row: Fields): Promise<Fields | null> {
    if (this.#ended) return Promise.reject(this.#ended)
    const number = ++this.#rows
    const line = `${toJson({ [rowNumberField]: number, ...row })}\n`
    return new Promise((resolve, reject) => {
      this.#queue.push({ number, line, resolve, reject })
      this.#send()
    })
  }

  async end(): Promise<void> {
    this.#child.stdin.end()
    // Until it has ended, a line too many may still show that answers without numbers are those to other rows.
    const isDoubtful = this.#isNumbered === false
    const leftMs = isDoubtful ? Math.max(endMs, toMs(this.#timeout)) : endMs
    const details = { command: this.#name, timeout: this.#timeout }
    const timer = setTimeout(() => this.#stop(), leftMs)
    const noting = setTimeout(
      () => isDoubtful && this.ports.notify({ code: 'flow.command_ending', details }),
      endMs,
    )
    await this.#closed
    clearTimeout(timer)
    clearTimeout(noting)
    if (this.#isOver) throw this.#ended
  }

  #send(): void {
    if (!this.#isNumbered && this.#sent.length > 0) return
    const rows = this.#isNumbered === undefined ? this.#queue.splice(0, 1) : this.#queue.splice(0)
    if (rows.length === 0) return
    this.#sent.push(...rows)
    for (const { line } of rows) this.#child.stdin.write(line)
    this.#watch()
  }

  /** Ends the step where no further answer comes in time. */
  #watch(): void {
    clearTimeout(this.#late)
    if (this.#sent.length === 0 || this.#ended) return
    this.#late = setTimeout(() => {
      const given = this.#sent.length
      const row = this.#sent[0]?.number
      const counts = { row, given, answered: this.#answers.length, timeout: this.#timeout }
      this.#fail(new Refusal('flow.command_late', { command: this.#name, ...counts }))
    }, toMs(this.#timeout))
  }

  /** Takes a line. One that is no answer ends the step, or is shown. */
  #read(line: string): void {
    if (this.#isOver) return
    const problem = this.#take(line)
    if (problem === undefined) return
    if (this.#logs && noAnswers.has(problem)) this.ports.log(line)
    else this.#refuse(problem, line)
  }

  /** Takes a line as an answer; returns why it is none. */
  #take(line: string): string | undefined {
    const isTooDeep = isDeeperThan(line, maxLevels)
    const answer: unknown = isTooDeep ? undefined : resultOr(undefined, () => parseExact(line))
    if (answer !== null && !isObject(answer)) return isTooDeep ? 'deep' : 'no_object'
    const number =
      answer && Object.hasOwn(answer, rowNumberField) ? toNumber(answer[rowNumberField]) : undefined
    const isNumbered = number !== undefined
    const has = answer && this.#fields.some((name) => Object.hasOwn(answer, name))
    if (answer && !has && Object.keys(answer).length > (isNumbered ? 1 : 0)) return 'no_field'
    this.#isNumbered ??= isNumbered
    if (isNumbered !== this.#isNumbered) return 'number'
    if (!isNumbered) return this.#takeNext(answer)
    const at = this.#sent.findIndex((one) => one.number === number)
    const [row] = at < 0 ? [] : this.#sent.splice(at, 1)
    if (!row) return 'other_row'
    row.resolve(has ? answer : null)
    this.#send()
    this.#watch()
    return undefined
  }

  /** Takes an answer without a number: that to the first row without one. */
  #takeNext(answer: Fields | null): string | undefined {
    if (this.#answers.length >= this.#sent.length) return 'surplus'
    const now = performance.now()
    if (this.#answers.length > 0) this.#longestMs = Math.max(this.#longestMs, now - this.#answeredAt)
    this.#answeredAt = now
    this.#answers.push(answer)
    this.#watch()
    if (this.#answers.length < this.#sent.length) return undefined
    clearTimeout(this.#late)
    // If a row got two lines, the answer to the last row is still to come.
    const graceMs = Math.min(mostGraceMs, Math.max(leastGraceMs, 2 * this.#longestMs))
    this.#grace = setTimeout(() => this.#release(), graceMs)
    return undefined
  }

  #release(): void {
    const [rows, answers] = [this.#sent, this.#answers]
    this.#sent = []
    this.#answers = []
    this.#longestMs = 0
    for (const [at, row] of rows.entries()) row.resolve(answers[at] ?? null)
    this.#send()
  }

  /** Whether it was ended because of what it wrote, or did not write: that says more than its exit code. */
  get #isOver(): boolean {
    return this.#ended !== undefined && this.#ended.code !== 'flow.command_ended'
  }

  #refuse(problem: string, line: string): void {
    const details = { command: this.#name, problem, text: line.slice(0, shownLetters), fields: this.#fields }
    this.#fail(new Refusal('flow.command_line', details))
  }

  #fail(refusal: Refusal): void {
    if (this.#isOver) return
    this.#ended = refusal
    for (const row of [...this.#sent.splice(0), ...this.#queue.splice(0)]) row.reject(refusal)
    this.#stop()
  }

  #stop(): void {
    clearTimeout(this.#late)
    clearTimeout(this.#grace)
    this.#child.kill()
    // Kills a program that ignores SIGTERM.
    this.#killing ??= setTimeout(() => this.#child.kill('SIGKILL'), endMs)
    // What it has started may hold the pipes for long.
    this.#child.stdin.destroy()
    this.#child.stdout.destroy()
  }
}

/** Splits bytes into lines. Reports the beginning of a line that is too long, and stops reading. */
class LineReader {
  #parts: Buffer[] = []
  #size = 0
  #isOver = false
  readonly #decoder = new TextDecoder()

  constructor(
    private readonly onLine: (line: string) => void,
    private readonly onLong: (start: string) => void,
  ) {}

  add(bytes: Buffer): void {
    for (let rest = bytes; !this.#isOver; ) {
      const end = rest.indexOf(0x0a)
      const part = end < 0 ? rest : rest.subarray(0, end)
      this.#parts.push(part)
      this.#size += part.length
      if (this.#size > maxLineBytes) {
        this.#isOver = true
        this.onLong(this.#text(4 * shownLetters))
        return
      }
      if (end < 0) return
      this.end()
      rest = rest.subarray(end + 1)
      if (rest.length === 0) return
    }
  }

  end(): void {
    if (this.#isOver || this.#parts.length === 0) return
    const line = this.#text().replace(/\r$/, '')
    this.#parts = []
    this.#size = 0
    this.onLine(line)
  }

  #text(most = Number.POSITIVE_INFINITY): string {
    return this.#decoder.decode(Buffer.concat(this.#parts).subarray(0, most))
  }
}
