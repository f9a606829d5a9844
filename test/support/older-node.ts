import { chmodSync, cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import { makeFolder } from './new-folder.js'

export const root = fileURLToPath(new URL('../..', import.meta.url))

/** The version that the simulated older Node says it has. */
export const oldVersion = '20.20.2'

/** How a program ended, and what it printed. */
export interface Ended {
  readonly exitCode: number | undefined
  readonly stdout: string
  readonly stderr: string
}

/**
 * Makes a clone on a machine whose Node is too old, with a supported Node downloaded into `.node/`. It has `bin`, `scripts`,
 * `package.json` and what else is asked for; packages and `dist` are linked.
 */
export function oldNodeClone(...more: readonly string[]) {
  const folder = makeFolder()
  const path = (...parts: string[]) => join(folder, ...parts)
  const write = (name: string, text: string) => writeFileSync(path(name), text)
  /** Writes a program for `/bin/sh` and makes it executable. */
  const writeShell = (name: string, text: string) => {
    write(name, `#!/bin/sh\n${text}\n`)
    chmodSync(path(name), 0o755)
  }
  const copied = ['bin', 'scripts', 'package.json', ...more]
  for (const name of copied)
    cpSync(join(root, name), path(name), { recursive: true, preserveTimestamps: true })
  for (const name of ['dist', 'node_modules']) symlinkSync(join(root, name), path(name), 'junction')
  for (const name of ['.node/bin', 'machine']) mkdirSync(path(name), { recursive: true })
  const versions = `{ value: { ...process.versions, node: '${oldVersion}' } }`
  write('machine/old.cjs', `Object.defineProperty(process, 'versions', ${versions})\n`)
  /** Arguments that make a Node believe it is the older one; a child of it does not inherit them. */
  const asOld = ['--require', path('machine', 'old.cjs')]
  writeShell('machine/node', `exec '${process.execPath}' --require '${path('machine', 'old.cjs')}' "$@"`)
  writeShell('.node/bin/node', `echo "$*" >> '${path('starts')}'\nexec '${process.execPath}' "$@"`)
  write('.node/package.json', JSON.stringify({ version: pinnedVersion() }))
  // What links to the packages of the real project must never install into them.
  writeShell('machine/npm', 'echo "npm is not available" >&2; exit 1')
  /** The environment of a shell on that machine: its `node` is the older one, its `npm` fails. */
  const env = {
    ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_|^INIT_CWD$/i.test(name))),
    PATH: `${path('machine')}:${process.env.PATH}`,
    PROSPECT_HOME: path('home'),
  }
  return {
    folder,
    asOld,
    env: env as Record<string, string>,
    path,
    write,
    writeShell,
    /** Runs a program of the clone with the older Node. */
    run: async (...argv: string[]): Promise<Ended> => {
      const options = { cwd: folder, env, extendEnv: false, reject: false, stdin: 'ignore' } as const
      const { exitCode, stdout, stderr } = await execa(process.execPath, [...asOld, ...argv], options)
      return { exitCode, stdout, stderr }
    },
    /** Each start of the downloaded Node, as its arguments. */
    starts: () => readFileSync(path('starts'), 'utf8').trimEnd().split('\n'),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}

/** The version of the Node that a clone on this machine downloads. */
function pinnedVersion(): string {
  type Pins = Readonly<Record<string, Readonly<Record<string, { readonly version: string }>>>>
  const pins = JSON.parse(readFileSync(join(root, 'scripts', 'runtimes.json'), 'utf8')) as Pins
  return pins['24']?.[`${process.platform}-${process.arch}`]?.version ?? ''
}
