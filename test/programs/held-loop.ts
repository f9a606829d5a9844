import { writeFileSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { isMainThread } from 'node:worker_threads'

/**
 * Loaded before a server with `--import`: measures how long its event loop is held. The time of its queries is left out,
 * and so is that of other programs, because the processor time of the thread is measured. SIGUSR2 begins anew; the end
 * writes the result to a file.
 */
interface Held {
  /** Most processor time of one turn without its queries, and of the queries of one turn, in milliseconds. */
  readonly heldMs: number
  readonly queriesMs: number
  /** The longest delay as a clock shows it, with queries and everything else that runs on the machine. */
  readonly delayMs: number
}

const file = process.env.PROSPECT_TEST_HELD_LOOP
if (isMainThread && file !== undefined) measure(file)

function measure(file: string) {
  const usage = process as unknown as { threadCpuUsage(): NodeJS.CpuUsage }
  const nowMs = () => {
    const { user, system } = usage.threadCpuUsage()
    return (user + system) / 1_000
  }
  const delays = monitorEventLoopDelay({ resolution: 1 })
  delays.enable()
  let [turnMs, last] = [0, nowMs()]
  let [held, queries] = [0, 0]
  const timed = (method: (...values: unknown[]) => unknown) =>
    function (this: unknown, ...values: unknown[]) {
      const began = nowMs()
      try {
        return method.apply(this, values)
      } finally {
        turnMs += nowMs() - began
      }
    }
  const patch = (prototype: Record<string, (...values: unknown[]) => unknown>, names: readonly string[]) => {
    for (const name of names) prototype[name] = timed(prototype[name] as never)
  }
  const { dlopen } = process
  process.dlopen = (...values) => {
    Reflect.apply(dlopen, process, values)
    const { Database, Statement } = (values[0] as NodeModule).exports
    if (!Statement) return
    patch(Database.prototype, ['exec', 'prepare'])
    patch(Statement.prototype, ['run', 'get', 'all'])
  }
  setInterval(() => {
    const now = nowMs()
    held = Math.max(held, now - last - turnMs)
    queries = Math.max(queries, turnMs)
    ;[last, turnMs] = [now, 0]
  }, 1).unref()
  process.on('SIGUSR2', () => {
    delays.reset()
    ;[held, queries, last, turnMs] = [0, 0, nowMs(), 0]
  })
  process.on('exit', () => {
    const found: Held = { heldMs: held, queriesMs: queries, delayMs: delays.max / 1_000_000 }
    writeFileSync(file, JSON.stringify(found))
  })
}
