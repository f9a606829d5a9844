import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { describe, expect, it } from 'vitest'

/** What each folder may import of ours: a folder, or one file of it. */
const ours: Record<string, readonly string[]> = {
  api: [],
  engine: [
    'api',
    'storage/driver/connection',
    'storage/driver/sqlite/dialect',
    'storage/driver/postgres/dialect',
    'storage/database',
    'storage/queue',
    'storage/erasure/traversal',
    'catalogue/suppression',
  ],
  storage: ['api'],
  csv: ['api'],
  identity: ['api', 'csv/names'],
  catalogue: [
    'api',
    'csv',
    'identity',
    'storage/driver/connection',
    'storage/database/migrate',
    'storage/erasure/traversal',
  ],
  erasure: ['api', 'catalogue', 'csv/workbook', 'engine', 'identity', 'runs/target-name', 'storage'],
  lists: ['api', 'csv/identity-filter', 'identity'],
  lookups: ['api', 'storage'],
  client: ['api', 'identity', 'storage/state/remote-servers'],
  providers: [
    'api',
    'client',
    'engine/admin/workspaces',
    'engine/tables',
    'lists/expressions',
    'identity',
    'storage/driver/connection',
  ],
  http: ['api', 'client/reply', 'client/reading', 'client/proxied-work', 'engine/jobs/pool'],
  runs: ['api', 'csv', 'engine/credits/cost', 'identity', 'storage', 'lists', 'lookups'],
  crm: ['api', 'client', 'csv', 'identity', 'lists', 'runs', 'storage'],
  flows: ['api', 'crm/connector', 'csv', 'engine/credits/cost', 'identity', 'lists', 'lookups', 'runs'],
  reference: ['api'],
  mcp: ['api', 'engine/credits/cost', 'reference', 'runs/output/crm-names', 'runs/output/formats'],
  dashboard: ['api', 'engine', 'catalogue/catalogue', 'http/body', 'storage/state', 'runs'],
  index: [
    'api',
    'engine',
    'storage',
    'catalogue',
    'client',
    'http',
    'csv',
    'library',
    'providers',
    'runs',
    'reference',
  ],
  library: [
    'api',
    'cli/context/in-process',
    'cli/program/main',
    'csv/cells',
    'mcp/session',
    'runs/output/columns',
    'runs/output/crm-names',
  ],
  cli: [
    'api',
    'identity',
    'engine',
    'storage',
    'catalogue',
    'client',
    'http',
    'csv',
    'runs',
    'flows',
    'erasure',
    'crm',
    'reference',
    'dashboard',
    'lists',
    'lookups',
    'mcp',
    'providers',
  ],
}

/** What each folder may import of others; `node:` stands for every module of Node, where one is not named. */
const others: Record<string, readonly string[]> = {
  api: ['zod', 'lossless-json', 'fast-sha256', 'node:crypto'],
  engine: ['p-limit', 'node:crypto'],
  storage: ['better-sqlite3', 'pg', 'node:'],
  csv: ['csv-parse', 'csv-stringify', 'sax', 'yauzl', 'node:'],
  identity: ['tldts', 'i18n-iso-countries', 'libphonenumber-js', 'node:'],
  catalogue: ['better-sqlite3', 'node:'],
  erasure: ['node:'],
  lists: ['better-sqlite3', '@marcbachmann/cel-js'],
  client: ['undici', 'ipaddr.js', 'p-limit', 'node:'],
  providers: [
    'zod',
    'yaml',
    'undici',
    'cockatiel',
    'p-limit',
    'disposable-email-domains-js',
    'role-based-email-addresses',
    'node:',
  ],
  http: ['@hono/node-server', 'node:'],
  lookups: ['better-sqlite3'],
  runs: ['better-sqlite3', 'zod', 'node:'],
  crm: ['better-sqlite3', 'node:'],
  flows: ['yaml', 'zod', 'node:'],
  reference: ['zod'],
  mcp: ['@modelcontextprotocol/server', 'zod', 'node:'],
  dashboard: ['hono', 'node:'],
  cli: [
    'zod',
    'commander',
    '@inquirer/prompts',
    'conf',
    'cli-table3',
    'fast-string-width',
    'ora',
    'jq-web',
    'node:',
  ],
  index: ['../package.json', 'node:'],
  library: ['node:'],
}

interface Import {
  readonly from: string
  readonly to: string
}

const src = join(import.meta.dirname, '..', 'src')
const modules = new Map(
  readdirSync(src, { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.tsx?$/.test(path))
    .map((path) => [path.replace(/\.tsx?$/, '').replaceAll(sep, '/'), readFileSync(join(src, path), 'utf8')]),
)
const folderOf = (name: string): string => name.split('/')[0] ?? name
const statement =
  /^(?:import|export)\b[^'"`;]*?\bfrom\s*'([^']+)'|^import\s+'([^']+)'|\bimport\('([^']+)'\)/gm

/** Every import of a module, with paths of ours as they are named here. */
function importsOf([from, text]: [string, string]): Import[] {
  return (
    [...text.matchAll(statement)]
      .map((match) => match[1] ?? match[2] ?? match[3] ?? '')
      .map((path) => ({ from, to: path.startsWith('.') ? moduleAt(from, path) : path }))
      // Data of a folder: it imports nothing.
      .filter(({ to }) => to.startsWith('..') || !/\.(?:json|sql)$/.test(to))
  )
}

/** The name of a module of ours, as another one imports it. */
const moduleAt = (from: string, path: string): string =>
  relative(src, join(src, dirname(from), path))
    .replaceAll(sep, '/')
    .replace(/\.js$/, '')

const imports = [...modules].flatMap(importsOf)
const isOurs = ({ to }: Import): boolean => modules.has(to)

function mayImport({ from, to }: Import): boolean {
  const folder = folderOf(from)
  const allowed = ours[folder] ?? []
  return folderOf(to) === folder || allowed.some((name) => to === name || to.startsWith(`${name}/`))
}

/** Whether a package or a module of Node is named in the list, by itself or by what is above it. */
const mayUse = ({ from, to }: Import): boolean =>
  (others[folderOf(from)] ?? []).some(
    (name) => to === name || to.startsWith(name === 'node:' ? name : `${name}/`),
  )

/** Returns the first cycle that `start` leads into, as a path that ends where it began; `undefined` without one. */
function findCycle(
  graph: ReadonlyMap<string, ReadonlySet<string>>,
  start: string,
  path: readonly string[],
  clean: Set<string>,
): readonly string[] | undefined {
  if (path.includes(start)) return [...path.slice(path.indexOf(start)), start]
  if (clean.has(start)) return undefined
  for (const next of graph.get(start) ?? []) {
    const cycle = findCycle(graph, next, [...path, start], clean)
    if (cycle) return cycle
  }
  clean.add(start)
  return undefined
}

/** Returns the cycles of imports between modules, or between what `groupOf` makes of their names. */
function cycles(groupOf: (name: string) => string): (readonly string[])[] {
  const graph = new Map<string, Set<string>>()
  for (const { from, to } of imports.filter(isOurs)) {
    const [one, other] = [groupOf(from), groupOf(to)]
    if (one !== other || one === from) graph.set(one, (graph.get(one) ?? new Set()).add(other))
  }
  const clean = new Set<string>()
  return [...graph.keys()].flatMap((start) => {
    const cycle = findCycle(graph, start, [], clean)
    return cycle ? [cycle] : []
  })
}

describe('the structure of src', () => {
  it('lets each folder import only the folders below it', () => {
    expect(imports.filter((one) => isOurs(one) && !mayImport(one))).toEqual([])
  })

  it('lets each folder use only the packages it needs', () => {
    expect(imports.filter((one) => !isOurs(one) && !mayUse(one))).toEqual([])
  })

  it('uses every package that is installed with the program', () => {
    const manifest = JSON.parse(readFileSync(join(src, '../package.json'), 'utf8')) as {
      readonly dependencies: Readonly<Record<string, string>>
    }
    const sources = [...modules.values()].join('\n')
    const isUsed = (name: string) => sources.includes(`'${name}'`) || sources.includes(`'${name}/`)
    expect(Object.keys(manifest.dependencies).filter((name) => !isUsed(name))).toEqual([])
  })

  it('has no cycle of imports between files', () => {
    expect(cycles((name) => name)).toEqual([])
  })

  it('has no cycle of imports between folders, nor between what is right below src', () => {
    expect([...cycles(dirname), ...cycles(folderOf)]).toEqual([])
  })

  it('parses addresses in one place', () => {
    const asking = [...modules].filter(([, text]) => /\bURL\.canParse\(/.test(text)).map(([name]) => name)
    expect(asking).toEqual([])
  })

  it('has no file that imports more than 30 others', () => {
    const counts = Map.groupBy(
      new Set(imports.filter(isOurs).map(({ from, to }) => `${from} ${to}`)),
      (pair) => pair.split(' ')[0],
    )
    expect([...counts].flatMap(([name, pairs]) => (pairs.length > 30 ? [name] : []))).toEqual([])
  })

  it('spreads no object literal, whose properties the type of the outer one would not check', () => {
    expect([...modules].filter(([, text]) => text.includes('...{')).map(([name]) => name)).toEqual([])
  })

  it('exports by name, from files that are named for their subject', () => {
    expect(
      [...modules].filter(([, text]) => /^export default|\bas default\b/m.test(text)).map(([name]) => name),
    ).toEqual([])
    const vague = [...modules.keys()].filter((name) => /(^|\/)(utils?|helpers?|common|types?)$/.test(name))
    expect(vague).toEqual([])
  })
})
