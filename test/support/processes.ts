import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** What the build leaves out of the program too: every start would read it. */
const { external, vendored } = (await import(join(root, 'scripts', 'packages.js'))) as Readonly<{
  external: readonly string[]
  vendored: Readonly<Record<string, string>>
}>
/** How what is bundled and was no module asks for Node's own ones. */
const banner = "import { createRequire as __of } from 'node:module'; const require = __of(import.meta.url)"

/** Bundles a TypeScript program of the tests, so that it can run as a process of its own; answers its path. */
export async function bundled(program: string): Promise<string> {
  const folder = join(root, 'node_modules', '.cache', 'prospect-tests')
  mkdirSync(folder, { recursive: true })
  const outfile = join(folder, `${basename(program, '.ts')}-${process.pid}.mjs`)
  await build({
    entryPoints: [join(root, 'test', program)],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    external: [...external, ...Object.keys(vendored)],
    banner: { js: banner },
    logLevel: 'error',
  })
  return outfile
}

/** A process of a test: what it printed so far, and how it ended. */
export interface Running {
  readonly child: ChildProcess
  readonly lines: string[]
  readonly ended: Promise<number | null>
}

/** Starts a bundled program. */
export function start(program: string, ...args: string[]): Running {
  const child = spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  const lines: string[] = []
  let rest = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    const parts = (rest + text).split('\n')
    rest = parts.pop() ?? ''
    lines.push(...parts)
  })
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve))
  return { child, lines, ended }
}
