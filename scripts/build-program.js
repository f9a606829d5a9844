import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { build } from 'esbuild'
import { bundledSqlite, commandsOnly, deferredBuiltins } from './esbuild-plugins.js'
import { external, sqlAsText, vendored } from './packages.js'
import { root } from './run.js'

/** What all that is built has in common. */
export const shared = {
  absWorkingDir: root,
  bundle: true,
  platform: 'node',
  target: 'node22',
  minifyWhitespace: true,
  minifySyntax: true,
  legalComments: 'none',
  loader: sqlAsText,
  logLevel: 'warning',
}

/**
 * The command line as one file. Start-up decides its form: a CommonJS script is loaded without the detours of
 * the module loader, and V8 can keep its compiled code. What is imported dynamically is still run only when
 * it is asked for.
 */
export async function buildProgram(folder, plugins = []) {
  const { outputFiles } = await build({
    ...shared,
    entryPoints: ['src/cli/program/main.ts'],
    format: 'cjs',
    external: [...external.filter((name) => name !== 'better-sqlite3'), ...Object.keys(vendored)],
    plugins: [...plugins, bundledSqlite, deferredBuiltins, commandsOnly],
    // zod asks whether `navigator` is Cloudflare's, and Node would load a module to answer.
    define: { 'import.meta.url': '__url', navigator: 'undefined' },
    logOverride: { 'require-resolve-not-external': 'silent' },
    write: false,
  })
  // A script with kept code has lost how to import modules, so its loader does that for it.
  const program = outputFiles[0].text
    .replace(
      /\bimport\("([^"]+)"\)/g,
      (_, name) => `__import("${vendored[name] ? `../dist/${vendored[name]}` : name}")`,
    )
    // Modules of Node need no module loader, which would be asked a hundred times at each start.
    .replace(/\brequire\("(node:[^"]+)"\)/g, 'process.getBuiltinModule("$1")')
  await mkdir(folder, { recursive: true })
  await writeFile(
    join(folder, 'main.cjs'),
    asciiOnly(`(function(exports,require,module,__import,__url){${program}\n})`),
  )
}

/** Escapes what esbuild leaves in regular expressions: V8 reads a long text of one-byte characters much faster. */
function asciiOnly(source) {
  const escaped = (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
  return source.replace(/[\u0080-\uffff]/g, escaped)
}
