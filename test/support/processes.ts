import { type ChildProcess, type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** The built program, as users start it. */
export const prospect = join(root, 'bin', 'prospect.js')

/** A running process and the lines it has printed so far. */
export type Running = ReturnType<typeof start>

/** What a process printed, and how it ended. */
interface Ended {
  readonly stdout: string
  readonly stderr: string
  readonly exitCode: number | undefined
  readonly signal: NodeJS.Signals | undefined
}

/** A process, which is also the promise of its end. */
export type Launched = ChildProcessByStdio<null, Readable, Readable> &
  Promise<Ended> & { readonly nodeChildProcess: ChildProcess }

/** Starts a program with an environment of its own. Resolves with its output however it ends. */
export function launch(
  program: string,
  argv: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string>>,
): Launched {
  const options = { cwd, env, reject: false, stdin: 'ignore' } as const
  // Comparing the type that execa computes from its options takes the type checker a minute.
  const child: unknown = execa(process.execPath, [program, ...argv], options)
  return child as Launched
}

/** Starts a program that prints a line as soon as it serves. Rejects with its stderr when it ends before. */
export async function launchServer(...how: Parameters<typeof launch>) {
  const server = launch(...how)
  const ended = server.then(({ stderr }) => Promise.reject(new Error(`the server ended: ${stderr}`)))
  const [line] = (await Promise.race([once(createInterface(server.stdout), 'line'), ended])) as [string]
  const stop = async () => {
    server.kill('SIGTERM')
    return await server
  }
  return { line, server, stop }
}

/** Starts `prospect serve` over a home. */
export async function serving(program: string, home: string, ...more: string[]) {
  const argv = ['serve', '--port', '0', '--json', ...more]
  const { line, ...rest } = await launchServer(program, argv, home, { PROSPECT_HOME: home })
  const { base_url: baseUrl, pid } = JSON.parse(line) as { base_url: string; pid: number }
  return { baseUrl, pid, ...rest }
}

/** Starts a bundled program. */
export function start(program: string, ...args: string[]) {
  const child = spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  const lines = linesOf(child.stdout)
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve))
  const stop = async () => {
    // One that has only just been started knows no signals yet.
    while (lines.length === 0) await pause(10)
    child.kill('SIGTERM')
    return await ended
  }
  return {
    child,
    lines,
    ended,
    /** Asks it to end once it works; resolves with its exit code. */
    stop,
  }
}

/** Starts so many processes of a bundled program. */
export function startCrew(size: number, program: string, ...args: string[]) {
  const started = Array.from({ length: size }, () => start(program, ...args))
  const crew = [...started]
  return {
    /** Kills the one that has run for longest, which is replaced by a new one. */
    kill: async () => {
      const oldest = crew.shift()
      oldest?.child.kill('SIGKILL')
      await oldest?.ended
      const next = start(program, ...args)
      crew.push(next)
      started.push(next)
    },
    end: () => Promise.all(crew.map(({ stop }) => stop())),
    /** The lines of all of them, killed ones too. */
    lines: () => started.flatMap(({ lines }) => lines),
  }
}

/** Gathers the lines of a stream in a list. */
export function linesOf(stream: Readable, lines: string[] = []): string[] {
  let rest = ''
  stream.setEncoding('utf8').on('data', (text: string) => {
    const parts = (rest + text).split('\n')
    rest = parts.pop() ?? ''
    lines.push(...parts)
  })
  return lines
}
