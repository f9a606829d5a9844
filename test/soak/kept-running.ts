import { type ChildProcess, spawn } from 'node:child_process'
import { setTimeout as pause } from 'node:timers/promises'
import { linesOf } from '../support/processes.js'

/** A process that is started again whenever it ends, until it is told to end. */
export type KeptRunning = ReturnType<typeof keepRunning>

const againMs = 300

/** Starts a program of the tests and keeps it running. */
export function keepRunning(program: string, args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const lines: string[] = []
  const said: string[] = []
  let [starts, isEnding] = [0, false]
  let child: ChildProcess | undefined
  const run = () =>
    new Promise<void>((resolve) => {
      starts++
      const running = spawn(process.execPath, [program, ...args], {
        env: { ...process.env, ...env },
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      child = running
      linesOf(running.stdout, lines)
      linesOf(running.stderr, said)
      running.on('close', () => resolve())
    })
  const running = (async () => {
    while (!isEnding) {
      await run()
      if (!isEnding) await pause(againMs)
    }
  })()
  return {
    /** What all that ran so far printed, line by line, and what they said on stderr. */
    lines,
    said,
    get starts() {
      return starts
    },
    kill: () => void child?.kill('SIGKILL'),
    /** Suspends the one that runs for a while. */
    standStill: async (ms: number) => {
      const suspended = child
      suspended?.kill('SIGSTOP')
      await pause(ms)
      suspended?.kill('SIGCONT')
    },
    end: async () => {
      isEnding = true
      child?.kill('SIGTERM')
      const late = setTimeout(() => child?.kill('SIGKILL'), 20_000)
      await running
      clearTimeout(late)
    },
  }
}
