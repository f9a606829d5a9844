import { execFile } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import * as zod from 'zod'
import { bundledSqlite, commandsOnly, deferredBuiltins } from './esbuild-plugins.js'
import { external, sqlAsText } from './packages.js'
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
 * The command line as two scripts: `main.cjs` has the modules that the shortest commands run, and `more.cjs` the others, which
 * are imported dynamically. Start-up decides their form: a CommonJS script is loaded without the detours of the module
 * loader, and V8 can keep its compiled code. Functions that nobody calls take time to read, too (decision 26).
 */
export async function buildProgram(folder, plugins = []) {
  await mkdir(folder, { recursive: true })
  const whole = await bundle({ entryPoints: [entry] }, plugins)
  const { inputs } = whole.metafile
  await writeScript(folder, 'main', whole)
  const isMain = reached(inputs, [entry, ...(await printed(folder, '--modules'))])
  const isMore = (name) => !isMain(name)
  /** Returns the modules of one script that the other one imports. */
  const between = (isFrom, isTo) => {
    const imported = Object.keys(inputs)
      .filter(isFrom)
      .flatMap((name) => inputs[name].imports.map(({ path }) => path))
    return [...new Set(imported)].filter((path) => inputs[path] && !isGenerated(path) && isTo(path)).sort()
  }
  const exported = (names, load) =>
    `export const modules = { ${names.map((name) => `'${name}': () => ${load}('./${name}')`).join()} }`
  const main = `export * from './${entry}'\n${exported(between(isMore, isMain), 'require')}`
  const more = exported(between(isMain, isMore), 'import')
  const zodNames = await namesOfZod(Object.keys(inputs).filter(isMore))
  await writePart('main', main, [dividedAt(isMore), zodWith(zodNames), ...plugins])
  const exports = await printed(folder, '--exports')
  await writePart('more', more, [dividedAt(isMain, exports), ...plugins])

  async function writePart(name, contents, all) {
    await writeScript(folder, name, await bundle({ stdin: { contents, resolveDir: root } }, all))
  }
}

const entry = 'src/cli/program/main.ts'

function bundle(of, plugins) {
  return build({
    ...shared,
    ...of,
    format: 'cjs',
    external: external.filter((name) => name !== 'better-sqlite3'),
    plugins: [...plugins, bundledSqlite, deferredBuiltins, commandsOnly],
    // zod asks whether `navigator` is Cloudflare's, and Node would load a module to answer.
    define: { 'import.meta.url': '__url', navigator: 'undefined' },
    logOverride: { 'require-resolve-not-external': 'silent' },
    metafile: true,
    write: false,
  })
}

/** Writes a script: a function of what `bin/load.js` hands it. */
async function writeScript(folder, name, { outputFiles }) {
  // A script with kept code has lost how to import modules, so its loader does that for it.
  const program = exportedLater(outputFiles[0].text)
    .replace(/\bimport\("([^"]+)"(?:,\{with:\{type:"json"\}\})?\)/g, (_, name) =>
      name.startsWith(other) ? `__other("${name.slice(other.length)}")` : `__import("${name}")`,
    )
    // Modules of Node need no module loader, which would be asked a hundred times at each start.
    .replace(/\brequire\("(node:[^"]+)"\)/g, 'process.getBuiltinModule("$1")')
  const parameters = 'exports,require,module,__import,__url,__other'
  await writeFile(join(folder, `${name}.cjs`), asciiOnly(`(function(${parameters}){${program}\n})`))
}

/**
 * Makes the objects of what modules export when they are first asked for: few of them are, and each takes a getter for each
 * name.
 */
function exportedLater(program) {
  const names = new Set()
  const later = program.replace(
    /\bvar (\w+_exports\d*)=\{\};__export\(\1,(\{[^{}]*\})\)/g,
    (_, name, getters) => {
      names.add(name)
      return `var ${name}=__later(()=>(${getters}))`
    },
  )
  const used = later.replace(/\b\w+_exports\d*\b(?!=__later)/g, (name) =>
    names.has(name) ? `(${name}())` : name,
  )
  return `var __later=(getters,made)=>()=>made??=(__export(made={},getters()),made);${used}`
}

/** Returns what `code-cache.js` prints about the program in a folder. */
async function printed(folder, what) {
  const argv = [join(root, 'scripts/code-cache.js'), folder, what]
  const { stdout } = await promisify(execFile)(process.execPath, argv)
  return JSON.parse(stdout)
}

/** Returns whether a module is one of those named, or imported statically by one. */
function reached(inputs, names) {
  const all = new Set()
  const visit = (name) => {
    if (all.has(name) || !inputs[name]) return
    all.add(name)
    for (const { path, kind } of inputs[name].imports) if (kind !== 'dynamic-import') visit(path)
  }
  for (const name of names) visit(name)
  return (name) => all.has(name)
}

/** Modules that a plugin makes, which each script has its own of. */
const isGenerated = (name) => /^(?:deferred|empty):/.test(name)

const other = 'other:'

/**
 * Asks the other script for its modules, by `__other(name)`: the main script for those that it imports dynamically, the
 * second one for those that it imports in any way. It keeps their exports in constants, which its loops read fastest.
 */
const dividedAt = (isOther, exports = {}) => ({
  name: 'divided',
  setup(build) {
    build.onResolve({ filter: /./ }, async ({ path, kind, pluginData, importer, resolveDir }) => {
      if (path.startsWith(other)) return { path: path.slice(other.length), namespace: 'other' }
      if (pluginData === 'resolved' || kind === 'entry-point' || path.startsWith('node:')) return undefined
      const found = await build.resolve(path, { kind, importer, resolveDir, pluginData: 'resolved' })
      const name = relative(root, found.path).replaceAll(sep, '/')
      // Where a plugin answers, esbuild leaves out what tsconfig.json says about the file.
      if (found.namespace !== 'file' || found.external || !isOther(name)) return undefined
      if (kind === 'dynamic-import') return { path: other + name, external: true }
      return { path: name, namespace: kind === 'require-call' ? 'other' : 'other-module' }
    })
    build.onLoad({ filter: /./, namespace: 'other' }, ({ path }) => ({
      contents: `module.exports = __other('${path}')`,
    }))
    build.onLoad({ filter: /./, namespace: 'other-module' }, ({ path }) => ({
      contents: `const all = __other('${path}')
        export const { ${exports[path].filter((name) => name !== 'default').join()} } = all
        export default all.__esModule ? all.default : all`,
    }))
  },
})

/** Returns the names of zod that modules use, all of which call it `z`. */
async function namesOfZod(modules) {
  const sources = await Promise.all(
    modules.filter((name) => name.startsWith('src/')).map((name) => readFile(join(root, name), 'utf8')),
  )
  const used = sources.flatMap((source) =>
    [...source.matchAll(/\bz\.(\w+)\b(?!\.\$)/g)].map(([, name]) => name),
  )
  return [...new Set(used)].filter((name) => name in zod)
}

/** Hands out these names of zod only, because the main script would need all of it for its namespace. */
const zodWith = (names) => ({
  name: 'zod',
  setup(build) {
    const path = 'zod/used'
    build.onResolve({ filter: /^\.\/node_modules\/zod\/index\.js$/ }, () => ({ path, namespace: path }))
    build.onLoad({ filter: /./, namespace: path }, () => ({
      contents: `export { ${names.join()} } from 'zod'`,
      resolveDir: root,
    }))
  },
})

/** Escapes what esbuild leaves in regular expressions: V8 reads a long text of one-byte characters much faster. */
function asciiOnly(source) {
  const escaped = (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
  return source.replace(/[\u0080-\uffff]/g, escaped)
}
