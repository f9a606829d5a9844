import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, type Plugin } from 'esbuild'

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

/** Loads packages when what imports them is first needed. */
const loadedLater: Plugin = {
  name: 'loaded-later',
  setup: ({ onResolve, onLoad }) => {
    const isPackage = (path: string) => external.some((name) => path === name || path.startsWith(`${name}/`))
    onResolve({ filter: /^[@\w]/ }, ({ path, kind }) =>
      kind === 'import-statement' && isPackage(path) ? { path, namespace: 'later' } : undefined,
    )
    onLoad({ filter: /./, namespace: 'later' }, ({ path }) => ({
      contents: `module.exports = require('${path}')`,
      resolveDir: root,
    }))
  },
}

/** Starts a program, of which Node keeps what it has compiled once one of its processes has ended by itself. */
const entry = `import { enableCompileCache } from 'node:module'
enableCompileCache(new URL('compiled', import.meta.url).pathname)
await import('./program.mjs')
`

/**
 * Bundles a program, unless a test of another process has. It is one module: most of the start of a program went into
 * loading hundreds of them.
 */
async function bundle(name: string): Promise<string> {
  const folder = join(folderOf(process.ppid), name)
  const path = join(folder, `${name}.mjs`)
  if (existsSync(folder)) return path
  const partial = `${folder}-${process.pid}.partial`
  await build({
    entryPoints: [join(programs, `${name}.ts`)],
    outfile: join(partial, 'program.mjs'),
    bundle: true,
    minifyWhitespace: true,
    platform: 'node',
    format: 'esm',
    external: [...external],
    loader: sqlAsText,
    plugins: [loadedLater],
    banner: { js: banner },
    logLevel: 'error',
  })
  writeFileSync(join(partial, `${name}.mjs`), entry)
  try {
    renameSync(partial, folder)
  } catch {
    // Another test was first.
    rmSync(partial, { recursive: true, force: true })
  }
  return path
}
