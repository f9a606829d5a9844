import { execFile } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import * as zod from 'zod'
import { bundledSqlite, commandsOnly, deferred, parsedJson } from './esbuild-plugins.js'
import { external, sqlAsText } from './packages.js'
import { nameIn, root } from './run.js'

/** What all that is built has in common. */
export const shared = {
  absWorkingDir: root,
  bundle: true,
  platform: 'node',
  target: 'node22',
  // Node knows them all; without this, regular expressions with them are made anew at each use.
  supported: { 'regexp-unicode-property-escapes': true },
  minifyWhitespace: true,
  minifySyntax: true,
  legalComments: 'none',
  loader: sqlAsText,
  logLevel: 'warning',
}

/**
 * The command line as three scripts: `main.cjs` has the modules that `credits` and `--help` run, `lookup.cjs` what a lookup runs
 * besides, and `more.cjs` the others; a later one is imported dynamically. Start-up decides their form: a CommonJS script is
 * loaded without the detours of the module loader, and V8 can keep its compiled code. Functions that nobody calls take time
 * to read, too (decision 26).
 */
export async function buildProgram(folder, plugins = []) {
  await mkdir(folder, { recursive: true })
  const whole = await bundle({ entryPoints: [entry] }, plugins)
  const { inputs } = whole.metafile
  await writeScript(folder, 'main', whole)
  const ran = await printed(folder, 'main', '--modules')
  const isMain = reached(inputs, [entry, ...ran.main])
  const isLookup = reached(inputs, ran.lookup)
  const scriptOf = (name) => (isMain(name) ? 'main' : isLookup(name) ? 'lookup' : 'more')
  const zodNames = await namesOfZod(Object.keys(inputs).filter((name) => !isMain(name)))
  const exports = {}
  await write('main', `export * from './${entry}'`, [zodWith(zodNames)])
  await write('lookup')
  await write('more')

  /** Writes a script, with what the others import of it; those before it are written. */
  async function write(name, first = '', more = []) {
    const asked = (isAsked, load) => {
      const paths = Object.keys(inputs)
        .filter((importer) => scriptOf(importer) !== name || isGenerated(importer))
        .flatMap((importer) => inputs[importer].imports)
        .filter(
          ({ path, kind }) => inputs[path] && !isGenerated(path) && scriptOf(path) === name && isAsked(kind),
        )
        .map(({ path }) => path)
      return [...new Set(paths)].sort().map((path) => `'${path}': () => ${load}('./${path}')`)
    }
    const contents = `${first}
      export const modules = { ${asked((kind) => kind !== 'dynamic-import', 'require')} }
      export const imported = { ${asked((kind) => kind === 'dynamic-import', 'import')} }`
    const all = [dividedAt(name, scriptOf, exports), ...more, ...plugins]
    await writeScript(folder, name, await bundle({ stdin: { contents, resolveDir: root } }, all))
    if (name !== 'more') Object.assign(exports, await printed(folder, name, '--exports'))
  }
}

const entry = 'src/cli/program/main.ts'

function bundle(of, plugins) {
  return build({
    ...shared,
    ...of,
    format: 'cjs',
    external: external.filter((name) => name !== 'better-sqlite3'),
    plugins: [...plugins, bundledSqlite, deferred, commandsOnly, parsedJson],
    // zod asks whether `navigator` is Cloudflare's, and Node would load a module to answer.
    define: { 'import.meta.url': '__meta.url', navigator: 'undefined' },
    logOverride: { 'require-resolve-not-external': 'silent' },
    metafile: true,
    write: false,
  })
}

/** Writes a script: a function of what `bin/load.js` hands it. */
async function writeScript(folder, name, { outputFiles }) {
  // A script with kept code has lost how to import modules, so its loader does that for it.
  const program = exportedLater(outputFiles[0].text)
    // The namespace of a module is what its importers get: a copy of it would take a getter for each name.
    .replace(
      /\b__toCommonJS=mod=>__copyProps\(__defProp\(\{\},("__esModule",\{value:!0\})\),mod\)/,
      '__toCommonJS=mod=>__defProp(mod,$1)',
    )
    .replace(/\bimport\("([^"]+)"(?:,\{with:\{type:"json"\}\})?\)/g, (_, name) => {
      const [, script, path] = /^other:(\w+):(.*)/.exec(name) ?? []
      return script ? `__other("${script}").imported["${path}"]()` : `__import("${name}")`
    })
    // Modules of Node need no module loader, which would be asked a hundred times at each start, and no copies of all they export.
    .replace(/\brequire\("(node:[^"]+)"\)/g, 'process.getBuiltinModule("$1")')
    .replace(/\b__toESM\((process\.getBuiltinModule\("[^"]+"\)),1\)/g, '{default:$1}')
  const parameters = 'exports,require,module,__import,__meta,__other'
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

/** Returns what `code-cache.js` prints about a script of the program in a folder. */
async function printed(folder, name, what) {
  const argv = [join(root, 'scripts/code-cache.js'), folder, what, name]
  const { stdout } = await promisify(execFile)(process.execPath, argv)
  return JSON.parse(stdout)
}

/** Returns whether a module is one of those named, or imported statically by one. */
function reached(inputs, names) {
  const all = new Set()
  const visit = (name) => {
    if (all.has(name) || !inputs[name]) return
    all.add(name)
    if (isGenerated(name)) return
    for (const { path, kind } of inputs[name].imports) if (kind !== 'dynamic-import') visit(path)
  }
  for (const name of names) visit(name)
  return (name) => all.has(name)
}

/** Modules that a plugin makes, which each script has its own of. */
const isGenerated = (name) => /^(?:deferred|empty):/.test(name)

/**
 * Asks another script for its modules: for those that a script imports dynamically, and for those of an earlier one that it
 * imports in any way. It keeps their exports in constants, which its loops read fastest.
 */
const dividedAt = (own, scriptOf, exports) => ({
  name: 'divided',
  setup(build) {
    build.onResolve({ filter: /./ }, async ({ path, kind, pluginData, importer, resolveDir }) => {
      if (pluginData?.isResolved || kind === 'entry-point' || path.startsWith('node:')) return undefined
      const found = await build.resolve(path, {
        kind,
        importer,
        resolveDir,
        pluginData: { isResolved: true },
      })
      const name = nameIn(found.path)
      // Where a plugin answers, esbuild leaves out what tsconfig.json says about the file.
      if (found.namespace !== 'file' || found.external || scriptOf(name) === own) return undefined
      if (kind === 'dynamic-import') return { path: `other:${scriptOf(name)}:${name}`, external: true }
      return { path: name, namespace: kind === 'require-call' ? 'other' : 'other-module' }
    })
    const get = (path) => `__other('${scriptOf(path)}').modules['${path}']()`
    build.onLoad({ filter: /./, namespace: 'other' }, ({ path }) => ({
      contents: `module.exports = ${get(path)}`,
    }))
    build.onLoad({ filter: /./, namespace: 'other-module' }, ({ path }) => ({
      contents: `const all = ${get(path)}
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
