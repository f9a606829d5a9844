import { type Shape, shapeOf } from '../api/areas/shapes.js'
import type { Input } from '../api/calls/caller.js'
import { Refusal, type Report } from '../api/calls/errors.js'
import { type Operation, type OperationId, operation } from '../api/operations/table.js'
import type { CommandLog, WorkStep } from '../api/ports/ports.js'
import type { Fields } from '../api/values/objects.js'

/** What an operation is asked. */
export interface OperationCall {
  readonly operation: Operation
  readonly shape: Shape
  readonly input: Input
  /** Where it is asked for each row of a file: how, by the names by which commands read their options. */
  readonly rows?: { readonly options: Fields } | undefined
  /** The options that every command has. */
  readonly globals?: Fields
}

/** What a command is given that is no operation. */
export interface CommandCall {
  /** Its name, such as `runs show`. */
  readonly command: string
  readonly args?: readonly string[]
  /** By the names by which commands read them; a text is read as one that is typed. */
  readonly options?: Fields
  /** The options that every command has. */
  readonly globals?: Fields
}

export interface ToolCall {
  readonly signal: AbortSignal
  onStep(step: WorkStep): void
  note(text: string): void
}

/** The most credits that a run may spend, beside what it has spent before. */
interface MoreCredits {
  readonly moreCredits?: number
}

/** What the tools need of the command line. */
export interface CommandPort {
  /** Does what a command does. */
  run(call: CommandCall, more?: MoreCredits): Work
  /** Does what the command of an operation does. */
  call(call: OperationCall, more?: MoreCredits): Work
  sleep(ms: number, signal: AbortSignal): Promise<void>
  /** Returns the fields of a call with ids and codes in place of names. Throws a refusal for a name of no list. */
  resolveNames(call: OperationCall): Promise<Fields>
  /** Returns the path of a file in the folder of this server. Throws a refusal for any other one. */
  fileIn(name: string, path: string, use: 'read' | 'write'): string
  /** Returns the sentences of a refusal; `undefined` when the error is a bug. */
  explain(error: unknown): Report | undefined
}

/** Does what a command does, and returns its result instead of printing it. `stopping` ends it as Ctrl-C does. */
export type Work = (given: {
  readonly stopping: AbortSignal
  readonly log: CommandLog
}) => Promise<Pick<Ended, 'exit' | 'result'>>

export interface Ended {
  readonly exit: number
  readonly result: unknown
  readonly problem: Report | undefined
  /** What it counted; absent where it ended before that. */
  readonly counts: Fields | undefined
  readonly spent: number
}

export interface Started {
  readonly ended: Promise<Ended>
  /** How it ended; `undefined` while it runs. */
  outcome: Ended | undefined
  /** Id of its run, or of the work that a server accepted; `undefined` where it ended without one. */
  readonly id: Promise<string | undefined>
  readonly notices: readonly string[]
  step: WorkStep | undefined
  readonly listeners: Set<(step: WorkStep) => void>
  /** Ends it as Ctrl-C does: a run can be resumed then. */
  stop(): void
}

export class CommandFailure extends Error {
  constructor(readonly problem: Report) {
    super(problem.error)
  }
}

/** Whether it is known what a command has spent: it has counted that, or an answer says what the request cost. */
const isCertain = ({ exit, problem, counts }: Ended): boolean =>
  counts !== undefined || (exit !== 1 && exit < 128 && problem?.code !== 'outcome_unknown')

/** The commands that one server has started, and the credits that it may still spend (decision 24). */
export class Session {
  readonly runs = new Map<string, Started>()
  /** The most credits that each was asked to spend in all: what this server may spend can end it before. */
  readonly limits = new Map<string, number>()
  /** Outputs that have what runs had found when they stopped. */
  readonly soFar = new Set<string>()
  /** Work that a server accepted and that had no result yet when its call answered: waits for it so many seconds. */
  readonly work = new Map<string, (seconds: number, call: ToolCall) => Promise<Fields>>()
  readonly #underWay = new Set<Started>()

  /** Credits that it may spend in all. */
  readonly #most: number
  /** Credits that are set aside for work under way. */
  #held = 0

  constructor(
    readonly port: CommandPort,
    /** Credits that may still be spent. */
    public left: number,
  ) {
    this.#most = left
  }

  /**
   * Holds credits: as many as are asked for, or all that are left. Throws a Refusal where that is not left. `isMost` where it is
   * asked for the most that may be spent, and not what something can cost.
   */
  hold(wanted: number | undefined, isMost = false): number {
    const credits = wanted ?? this.left
    if (credits > this.left || (wanted === undefined && credits <= 0)) throw this.#noBudget(wanted, isMost)
    this.left -= credits
    this.#held += credits
    return credits
  }

  /** Returns what is to be said where something can cost more than is left. */
  shortOf(credits: number): Report | undefined {
    return credits > Math.max(0, this.left) ? this.port.explain(this.#noBudget(credits)) : undefined
  }

  #noBudget(wanted: number | undefined, isMost = false): Refusal {
    const left = Math.max(0, this.left)
    return new Refusal('tools.no_budget', { wanted, isMost, left, most: this.#most, held: this.#held })
  }

  /** Holds for a run what is left, at most so many credits: what the run has spent before is not known yet. */
  holdForRun(most: number | undefined): number {
    return this.hold(most === undefined || this.left <= 0 ? most : Math.min(most, this.left), true)
  }

  /** Returns what it may spend, in credits. */
  budget() {
    const left = Math.max(0, this.left)
    return { limit: this.#most, spent: this.#most - this.left - this.#held, reserved: this.#held, left }
  }

  start(work: Work): Started {
    const started = runWork(work)
    const end = () => void this.#underWay.delete(started)
    this.#underWay.add(started)
    started.ended.then(end, end)
    return started
  }

  /** Starts a command that may spend what was held; the rest is returned at its end, unless it is not known what was spent. */
  startPaid(
    held: number,
    work: Work,
    spentBy: (ended: Ended) => Promise<number> | number = ({ spent }) => spent,
  ): Started {
    const started = this.start(work)
    if (held === 0) return started
    const spentOf = async (ended: Ended) => (isCertain(ended) ? spentBy(ended) : Math.max(held, ended.spent))
    const { ended } = started
    const settle = async () => {
      const spent = await ended.then(spentOf).catch(() => held)
      this.left += held - spent
      this.#held -= held
    }
    return Object.assign(started, { ended: settle().then(() => ended) })
  }

  /** Returns the result of a command. Throws a CommandFailure where it fails. */
  async read(command: string, args: readonly string[] = [], options: Fields = {}): Promise<unknown> {
    return resultOf(await this.start(this.port.run({ command, args, options })).ended)
  }

  /** Returns what an operation answers. Throws a CommandFailure where it fails. */
  async ask(id: OperationId, input: Input = {}): Promise<unknown> {
    const call = { operation: operation(id), shape: await shapeOf(id), input }
    return resultOf(await this.start(this.port.call(call)).ended)
  }

  async close(): Promise<void> {
    const all = [...this.#underWay]
    for (const one of all) one.stop()
    await Promise.allSettled(all.map(({ ended }) => ended))
  }
}

/** Does the work of a command, and takes what it reports. */
export function runWork(work: Work): Started {
  const stop = new AbortController()
  const named = Promise.withResolvers<string | undefined>()
  const notices: string[] = []
  const listeners: Started['listeners'] = new Set()
  let [problem, counts, spent] = [undefined as Report | undefined, undefined as Fields | undefined, 0]
  const log: CommandLog = {
    write: (event, facts = {}) => {
      if (event === 'notice') notices.push((facts as { readonly text: string }).text)
      if (event === 'begun') named.resolve((facts as { readonly id: string }).id)
      if (event === 'error') problem = facts as Report
      if (event === 'result') counts = facts as Fields
    },
    spend: (credits) => {
      spent += credits
    },
    progress: (step) => {
      started.step = step
      for (const listener of listeners) listener(step)
    },
    end: () => {},
  }
  const end = async (): Promise<Ended> => {
    try {
      const { exit, result } = await work({ stopping: stop.signal, log })
      started.outcome = { exit, result, problem, counts, spent }
      return started.outcome
    } finally {
      named.resolve(undefined)
    }
  }
  const started: Started = {
    ended: Promise.resolve().then(end),
    id: named.promise,
    outcome: undefined,
    step: undefined,
    notices,
    listeners,
    stop: () => stop.abort(),
  }
  started.ended.catch(() => {})
  return started
}

/** Returns the result of a command. Throws a CommandFailure where it failed. */
export function resultOf({ exit, result, problem }: Ended): unknown {
  if (exit !== 0)
    throw new CommandFailure(
      problem ?? { error: 'The command failed.', code: null, status: null, exit_code: exit, hint: '' },
    )
  return result ?? {}
}

/** Waits for the end of a command, at most so many milliseconds or until `signal`. Returns whether it has ended. */
export async function waitFor(
  { port }: Pick<Session, 'port'>,
  started: Started,
  ms: number,
  signal: AbortSignal,
  onStep: (step: WorkStep) => void,
): Promise<boolean> {
  const done = new AbortController()
  const over = port.sleep(ms, AbortSignal.any([done.signal, signal]))
  started.listeners.add(onStep)
  const [ended, not] = [() => true, () => false]
  return Promise.race([started.ended.then(ended, ended), over.then(not, not)]).finally(() => {
    started.listeners.delete(onStep)
    done.abort()
  })
}
