import { setTimeout as pause } from 'node:timers/promises'
import { type Running, start } from './processes.js'

/** Processes of a program, each replaced by a new one when it ends. */
export interface Workers {
  /** Kills the next one in turn. */
  kill(): Promise<void>
  /** Asks all of them to end once they work, and waits until they have; answers their exit codes. */
  end(): Promise<(number | null)[]>
}

/** Starts so many processes of a bundled program. */
export function startCrew(size: number, program: string, ...args: string[]): Workers {
  const crew: Running[] = Array.from({ length: size }, () => start(program, ...args))
  let turn = 0
  return {
    async kill() {
      const at = turn++ % size
      const running = crew[at]
      running?.child.kill('SIGKILL')
      await running?.ended
      crew[at] = start(program, ...args)
    },
    end: () =>
      Promise.all(
        crew.map(async ({ child, lines, ended }) => {
          // One that has only just been started knows no signals yet.
          while (lines.length === 0) await pause(10)
          child.kill('SIGTERM')
          return await ended
        }),
      ),
  }
}

/** Kills processes of a crew so many times, evenly over the progress of their work (0 to 1), until all is done. */
export async function killOverProgress(
  crew: Workers,
  kills: number,
  progress: () => Promise<number>,
): Promise<number> {
  let killed = 0
  for (let done = await progress(); done < 1; done = await progress()) {
    if (done > (killed + 0.5) / (kills + 1) && killed < kills) {
      await crew.kill()
      killed++
    } else await pause(20)
  }
  return killed
}
