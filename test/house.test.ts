import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { describe, expect, it } from 'vitest'

/** What each folder may import of ours: a folder, or one file of it. */
const ours: Record<string, readonly string[]> = {
  api: [],
  engine: ['api'],
  storage: ['api', 'engine/ports', 'http/inbox', 'batch/journal/journal', 'batch/journal/answer'],
  csv: ['api'],
  catalogue: ['api', 'csv', 'engine/ports', 'storage/driver/connection', 'storage/database/migrate'],
  client: ['api', 'engine/ports'],
  http: ['api'],
  batch: ['api', 'csv'],
  reference: ['api'],
  index: ['api', 'engine', 'storage', 'catalogue', 'client', 'http', 'csv', 'batch', 'reference'],
  cli: ['api', 'engine', 'storage', 'catalogue', 'client', 'http', 'csv', 'batch', 'reference', 'index'],
}

/** What each folder may import of others; `node:` stands for every module of Node, where one is not named. */
const others: Record<string, readonly string[]> = {
  api: ['zod', 'lossless-json', 'node:crypto'],
  engine: ['node:crypto'],
  storage: ['better-sqlite3', 'pg', 'node:'],
  csv: ['csv-parse', 'node:'],
  catalogue: [
    'better-sqlite3',
    'tldts',
    'i18n-iso-countries',
    'libphonenumber-js',
    '@faker-js/faker',
    'node:',
  ],
  client: ['undici', 'ipaddr.js', 'standardwebhooks', 'node:'],
  http: ['hono', '@hono/node-server', 'standardwebhooks', 'node:'],
  batch: ['node:'],
  reference: ['zod'],
  cli: ['zod', 'commander', '@inquirer/prompts', 'conf', 'cli-table3', 'ora', 'csv-stringify', 'node:'],
  index: ['../package.json', 'node:'],
}

/** Pure data, exempt from the size of a file. */
const data = [
  'api/operations/table',
  'catalogue/import/column-synonyms',
  'engine/titles/families.data',
  'reference/examples',
]

interface Import {
  readonly from: string
  readonly to: string
}

const src = join(import.meta.dirname, '..', 'src')
const modules = new Map(
  readdirSync(src, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .map((path) => [path.slice(0, -3).replaceAll(sep, '/'), readFileSync(join(src, path), 'utf8')]),
)
const folderOf = (name: string): string => name.split('/')[0] ?? name
const statement =
  /^(?:import|export)\b[^'"`;]*?\bfrom\s*'([^']+)'|^import\s+'([^']+)'|\bimport\('([^']+)'\)/gm

/** Every import of a module, with paths of ours as they are named here. */
function importsOf([from, text]: [string, string]): Import[] {
  return [...text.matchAll(statement)]
    .map((match) => match[1] ?? match[2] ?? match[3] ?? '')
    .map((path) => ({ from, to: path.startsWith('.') ? moduleAt(from, path) : path }))
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

/** The first circle of imports below a module, as a path that ends where it began. */
function circleFrom(
  name: string,
  path: readonly string[],
  clean: Set<string>,
): readonly string[] | undefined {
  if (path.includes(name)) return [...path.slice(path.indexOf(name)), name]
  if (clean.has(name)) return undefined
  const next = imports.filter((one) => one.from === name && isOurs(one))
  const circle = next.map(({ to }) => circleFrom(to, [...path, name], clean)).find(Boolean)
  clean.add(name)
  return circle
}

/**
 * Functions longer than `cap` lines. The formatter puts a function's last brace under the first letter of the
 * line that opened it, so the lines between are its length.
 */
function longFunctions([name, text]: [string, string], cap: number): string[] {
  const lines = text.split('\n')
  const opens = /^(\s*)(?!.*\b(?:if|for|while|switch|catch|class|interface)\b).*(?:\)|\)\s*=>|\):.*)\s*\{$/
  return lines.flatMap((line, start) => {
    const indent = opens.exec(line)?.[1]
    if (indent === undefined) return []
    const end = lines.findIndex((other, at) => at > start && other.startsWith(`${indent}}`))
    return end - start > cap ? [`${name}:${start + 1} has ${end - start} lines`] : []
  })
}

describe('the house', () => {
  it('lets each folder import only what stands below it', () => {
    expect(imports.filter((one) => isOurs(one) && !mayImport(one))).toEqual([])
  })

  it('lets each folder use only the packages of its job', () => {
    expect(imports.filter((one) => !isOurs(one) && !mayUse(one))).toEqual([])
  })

  it('has no circles', () => {
    const clean = new Set<string>()
    expect([...modules.keys()].flatMap((name) => circleFrom(name, [], clean) ?? [])).toEqual([])
  })

  it('keeps files below 250 lines and functions below 60', () => {
    const long = [...modules].filter(([name, text]) => !data.includes(name) && text.split('\n').length > 251)
    expect(long.map(([name]) => name)).toEqual([])
    expect([...modules].flatMap((module) => longFunctions(module, 60))).toEqual([])
  })

  it('imports zod as a namespace, because a bundle of `{ z }` carries all of its languages', () => {
    const whole = [...modules].filter(([, text]) => /^import \{[^}]*\} from 'zod'/m.test(text))
    expect(whole.map(([name]) => name)).toEqual([])
  })

  it('asks in one place whether a text is an address', () => {
    const asking = [...modules].filter(([, text]) => /\bURL\.canParse\(/.test(text)).map(([name]) => name)
    expect(asking).toEqual([])
  })

  it('exports by name, from files named after what they hold', () => {
    expect(
      [...modules].filter(([, text]) => /^export default|\bas default\b/m.test(text)).map(([name]) => name),
    ).toEqual([])
    const vague = [...modules.keys()].filter((name) => /(^|\/)(utils?|helpers?|common|types?)$/.test(name))
    expect(vague).toEqual([])
  })
})
