import { setTimeout as pause } from 'node:timers/promises'
import { start } from './processes.js'

/** Starts so many processes of a bundled program. */
export function startCrew(size: number, program: string, ...args: string[]) {
  const crew = Array.from({ length: size }, () => start(program, ...args))
  let turn = 0
  return {
    /** Kills the next one in turn, which is replaced by a new one. */
    async kill() {
      const at = turn++ % size
      const running = crew[at]
      running?.child.kill('SIGKILL')
      await running?.ended
      crew[at] = start(program, ...args)
    },
    end: () => Promise.all(crew.map(({ stop }) => stop())),
  }
}

/** Kills processes of a crew so many times, evenly over the progress of their work (0 to 1), until all is done. */
export async function killOverProgress(
  crew: ReturnType<typeof startCrew>,
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
