import { existsSync, renameSync, rmSync } from 'node:fs'
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

const made = new Map<string, Promise<string>>()

/** Returns the path of a TypeScript program of the tests that can run as a process. */
export function bundled(program: string): Promise<string> {
  const name = basename(program, '.ts')
  const path = made.get(name) ?? bundle(name)
  made.set(name, path)
  return path
}

/**
 * Bundles a program, unless a test of another process has. Each is bundled by itself: all together, they would be divided into
 * hundreds of modules, and most of the start of a program would go into loading them.
 */
async function bundle(name: string): Promise<string> {
  const folder = join(folderOf(process.ppid), name)
  const path = join(folder, `${name}.mjs`)
  if (existsSync(folder)) return path
  const partial = `${folder}-${process.pid}.partial`
  await build({
    entryPoints: [join(programs, `${name}.ts`)],
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
  return path
}
