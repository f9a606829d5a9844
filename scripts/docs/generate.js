import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { binary, root } from '../run.js'
import { commandReference } from './command-reference.js'
import { filterTypeTable, plainParameterTable } from './search-urls.js'

const marker = '<!-- generated:'

/** Every document with generated parts, and every generated example, as it should be now. */
export async function generatedDocs() {
  const [
    { eventBodyFiles, refresh, render, renderable },
    { openDataTable },
    { outputColumns },
    searchUrls,
    flows,
    providers,
  ] = await Promise.all([
    load('scripts/docs/api-tables.ts'),
    load('scripts/docs/open-data.ts'),
    load('scripts/docs/output-columns.ts'),
    load('src/catalogue/search-url/filter-types.ts'),
    load('src/flows/format.ts'),
    load('src/providers/definition.ts'),
  ])
  const generated = {
    ...Object.fromEntries(renderable.map((name) => [name, render(name)])),
    commands: commandReference(await commandMap()),
    'open-data': openDataTable(),
    'output-columns': await outputColumns(),
    'search-filters': filterTypeTable(searchUrls),
    'search-parameters': plainParameterTable(searchUrls),
  }
  const documents = readdirSync(`${root}docs`)
    .map((name) => `docs/${name}`)
    .filter((path) => path.endsWith('.md') && readFileSync(root + path, 'utf8').includes(marker))
    .map((path) => ({ path, text: refresh(readFileSync(root + path, 'utf8'), generated) }))
  const schema = {
    path: 'docs/flow.schema.json',
    text: `${JSON.stringify(await flows.flowJsonSchema(), null, 2)}\n`,
  }
  const providerSchema = {
    path: 'docs/provider.schema.json',
    text: `${JSON.stringify(providers.providerJsonSchema(), null, 2)}\n`,
  }
  return [...documents, ...eventBodyFiles(), schema, providerSchema]
}

/** What `prospect commands --json` prints: every command with its options. */
export async function commandMap() {
  const home = mkdtempSync(join(tmpdir(), 'prospect-docs-'))
  try {
    const env = { ...process.env, PROSPECT_HOME: home }
    const run = promisify(execFile)
    const { stdout } = await run(process.execPath, [binary, 'commands', '--json'], { env, maxBuffer: 1e8 })
    return JSON.parse(stdout)
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
}

/** A module of the sources, bundled on the fly. */
async function load(path) {
  // Loaded late: when this module is, it is not yet certain that there are packages.
  const { build } = await import('esbuild')
  // What is imported only when it is used is not needed here.
  const options = { bundle: true, write: false, format: 'esm', platform: 'node', external: ['yaml'] }
  const { outputFiles } = await build({ ...options, entryPoints: [root + path] })
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString('base64')}`)
}
