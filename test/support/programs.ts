import { existsSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const root = fileURLToPath(new URL('../..', import.meta.url))
const programs = join(root, 'test', 'programs')

/** The packages that the build leaves out of the program as well. */
const { external, sqlAsText } = (await import(join(root, 'scripts', 'packages.js'))) as Readonly<{
  external: readonly string[]
  sqlAsText: Record<string, 'text'>
}>
/** Defines `require` for the bundled CommonJS modules. */
const banner = "import { createRequire as __of } from 'node:module'; const require = __of(import.meta.url)"

/** Where the programs of a run are, whose tests are children of one process. */
const folderOf = (run: number) => join(root, 'node_modules', '.cache', `prospect-programs-${run}`)

/** After the run: removes its programs. */
export default function setup(): () => void {
  return () => rmSync(folderOf(process.pid), { recursive: true, force: true })
}

let made: Promise<void> | undefined

/** Returns the path of a TypeScript program of the tests, or of a thread of the sources, which can run as a process. */
export async function bundled(program: string): Promise<string> {
  made ??= bundleAll()
  await made
  return join(folderOf(process.ppid), `${basename(program, '.ts')}.mjs`)
}

/** Bundles all of them, which share nearly everything. Several tests may come here together. */
async function bundleAll(): Promise<void> {
  const folder = folderOf(process.ppid)
  if (existsSync(folder)) return
  const partial = `${folder}-${process.pid}.partial`
  await build({
    entryPoints: [...readdirSync(programs).map((name) => join(programs, name))],
    entryNames: '[name]',
    outdir: partial,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    platform: 'node',
    format: 'esm',
    external: [...external],
    loader: sqlAsText,
    banner: { js: banner },
    logLevel: 'error',
  })
  try {
    renameSync(partial, folder)
  } catch {
    // Another test was first.
    rmSync(partial, { recursive: true, force: true })
  }
}
