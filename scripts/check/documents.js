import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { commandMap, generatedDocs } from '../docs/generate.js'
import { root } from '../run.js'

const pagesAbove = ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md', 'test/README.md']

/** What is wrong with the documents, one sentence each. */
export async function documentProblems() {
  const [generated, map] = await Promise.all([generatedDocs(), commandMap()])
  const documents = [...pagesAbove, ...markdownBelow('docs')].map((path) => ({
    path,
    text: readFileSync(root + path, 'utf8'),
  }))
  return [
    ...staleParts(generated),
    ...undocumented(documents, map),
    ...documents.flatMap(deadLinks),
    ...documents.flatMap(brokenTables),
    ...documents.flatMap((document) => unknownOptions(document, map)),
    ...unlistedStatuses(documents),
    ...missingSources(documents),
    ...documents.flatMap((document) => unknownCommands(document, map)),
    ...untoldAddresses(documents, map),
    ...documents.flatMap((document) => unknownExitCodes(document, documents)),
    ...recordProblems(documents),
  ]
}

const filesBelow = (folder) =>
  readdirSync(root + folder, { recursive: true }).map((path) => `${folder}/${path.replaceAll('\\', '/')}`)

const markdownBelow = (folder) => filesBelow(folder).filter((path) => path.endsWith('.md'))

const staleParts = (generated) =>
  generated
    .filter(({ path, text }) => !existsSync(root + path) || readFileSync(root + path, 'utf8') !== text)
    .map(({ path }) => `${path}: a generated part is stale; run: npm run docs`)

/** Every command, operation, error and variable of the program must stand in a document. */
function undocumented(documents, map) {
  const textOf = (path) => documents.find((document) => document.path === path)?.text ?? ''
  const lacks = (path, text) => (textOf(path).includes(text) ? [] : [`${path}: says nothing of ${text}`])
  const commands = map.map(({ command, flag }) => `\`prospect ${[command, flag].filter(Boolean).join(' ')}\``)
  const operations = map.filter(({ method }) => method).map(({ method, path }) => `\`${method} ${path}\``)
  const errors = [
    ...readFileSync(`${root}src/api/calls/errors.ts`, 'utf8').matchAll(/^ {2}(\w+): \{ ?status/gm),
  ]
  return [
    ...commands.flatMap((text) => lacks('docs/commands.md', text)),
    ...operations.flatMap((text) => lacks('docs/operations.md', text)),
    ...errors.flatMap(([, name]) => lacks('docs/api-errors.md', `\`${name}\``)),
    ...variables().flatMap((name) => lacks('docs/settings-and-files.md', `\`${name}\``)),
  ]
}

/** Environment variables of our own that the program reads. */
function variables() {
  const files = readdirSync(`${root}src/cli`, { recursive: true }).filter((path) => path.endsWith('.ts'))
  const texts = files.map((path) => readFileSync(join(root, 'src/cli', path), 'utf8'))
  return [...new Set(texts.flatMap((text) => text.match(/\bPROSPECT_[A-Z_]+/g) ?? []))]
}

/** Links to files, or headings, that do not exist. */
function deadLinks({ path, text }) {
  const targets = [...prose(text).matchAll(/\]\(([^)\s]+)\)/g)].map((match) => match[1])
  return targets
    .filter((target) => !/^[a-z]+:/.test(target))
    .filter((target) => !leadsSomewhere(path, text, target))
    .map((target) => `${path}: links to ${target}, which does not exist`)
}

function leadsSomewhere(path, text, target) {
  const [file, anchor] = target.split('#')
  const to = join(root, dirname(path), file)
  if (file !== '' && !existsSync(to)) return false
  if (anchor === undefined || (file !== '' && !file.endsWith('.md'))) return true
  return anchorsOf(file === '' ? text : readFileSync(to, 'utf8')).includes(anchor)
}

/** The addresses of headings, as GitHub makes them. */
const anchorsOf = (text) =>
  [...prose(text).matchAll(/^#+ +(.+)$/gm)].map(([, heading]) =>
    heading
      .trim()
      .toLowerCase()
      .replace(/[^\p{L}\p{N}_ -]/gu, '')
      .replaceAll(' ', '-'),
  )

/** The text without blocks of code. */
const prose = (text) => text.replace(/^```[\s\S]*?^```/gm, '')

/** Rows with more or fewer cells than the head of their table, and rows without a table. */
function brokenTables({ path, text }) {
  const blocks = prose(text).match(/(?:^\|.*\n?)+/gm) ?? []
  const cellsOf = (line) => line.trim().split(/(?<!\\)\|/).length
  return blocks.flatMap((block) => {
    const [head, rule = '', ...rows] = block.trimEnd().split('\n')
    if (!/^\|[ :|-]+\|$/.test(rule)) return [`${path}: has no table above: ${head}`]
    return [rule, ...rows]
      .filter((row) => cellsOf(row) !== cellsOf(head))
      .map((row) => `${path}: as many cells as the head of the table are expected in: ${row}`)
  })
}

/** Options that a guide names and that no command has. Options of scripts stand on a line with `npm run`. */
function unknownOptions({ path, text }, map) {
  if (/^(CHANGELOG\.md|docs\/decisions\/)/.test(path) || isAboutBuilding(path)) return []
  const known = new Set(map.flatMap(({ flag, options }) => [`--${flag}`, ...options.flatMap(flagsOf)]))
  for (const option of known) known.add(option.replace(/^--no-/, '--'))
  const lines = prose(text).split('\n')
  const ours = lines.filter((line) => !line.includes('npm run')).join('\n')
  const named = [...ours.matchAll(/`([^`\n]+)`/g)].flatMap(([, code]) =>
    /^(--|prospect )/.test(code) ? (code.match(/(?<![\w-])--[a-z][\w-]*/g) ?? []) : [],
  )
  return [...new Set(named)]
    .filter((option) => option !== '--help' && option !== '--version' && !known.has(option))
    .map((option) => `${path}: names ${option}, which no command has`)
}

const flagsOf = ({ flags }) => flags.match(/--[\w-]+/g) ?? []
const isAboutBuilding = (path) => /^docs\/(architecture|performance)\.md$/.test(path)

/** The statuses of a row, in the row of the status columns that explains them: those of the program, all of them. */
function unlistedStatuses(documents) {
  const source = readFileSync(`${root}src/lookups/answer.ts`, 'utf8')
  const statuses = /type RowStatus = (.+)/.exec(source)?.[1].match(/\w+/g) ?? []
  const rows = documents.flatMap(({ path, text }) =>
    [...text.matchAll(/^\| `_status` \|(.+)\|$/gm)].map(([, cell]) => ({ path, cell })),
  )
  return rows
    .filter(({ cell }) => [...cell.matchAll(/`(\w+)`/g)].map(([, one]) => one).join() !== statuses.join())
    .map(({ path }) => `${path}: the statuses of a row are ${statuses.join(', ')}`)
}

/** Source files that a document names and that do not exist: by their path, or by their name alone. */
function missingSources(documents) {
  const folders = ['', 'src/', 'test/']
  const sources = ['src', 'test', 'scripts', 'bin'].flatMap((folder) =>
    readdirSync(root + folder, { recursive: true }).map((path) => path.replaceAll('\\', '/')),
  )
  const exists = (path) =>
    path.includes('/')
      ? folders.some((folder) => existsSync(root + folder + path)) ||
        sources.some((one) => one.endsWith(`/${path}`))
      : sources.some((one) => one === path || one.endsWith(`/${path}`))
  return documents.flatMap(({ path, text }) =>
    [...text.matchAll(/`([\w./-]+\.(?:ts|js))`/g)]
      .map(([, named]) => named)
      .filter((named) => named !== 'node.js' && !exists(named))
      .map((named) => `${path}: names ${named}, which does not exist`),
  )
}

/** Commands in examples that the program does not have, or options they do not take: in scripts, units and crontabs, too. */
function unknownCommands({ path, text }, map) {
  const blocks = [...text.matchAll(/^```(\w+)\n([\s\S]*?)^```/gm)].filter(([, language]) =>
    isShown.test(language),
  )
  const lines = blocks
    .flatMap(([, , code]) => code.replace(/\\\n/g, ' ').split('\n'))
    .map((line) => line.replace(/(^|\s)#\s.*$/, ''))
    .flatMap((line) => [...line.matchAll(/(?<![\w./"-])(?:\/\S+\/)?prospect(?:\.cmd)? ([a-z-][^|&;<>)]*)/g)])
    .map((match) => match[1])
  return lines.flatMap((line) => {
    const words = line.trim().split(/\s+/)
    const known = map.filter(({ command }) => `${words.join(' ')} `.startsWith(`${command} `))
    if (known.length === 0) return words[0]?.startsWith('-') ? [] : [`${path}: there is no command: ${line}`]
    const names = new Set(
      known.flatMap(({ options }) => options.flatMap(({ flags }) => flags.match(/--?[\w-]+/g))),
    )
    const wrong = words.filter(
      (word) => /^-./.test(word) && !names.has(word.replace(/=.*$/, '')) && word !== '--help',
    )
    return wrong.map((word) => `${path}: ${word} is no option of: ${line}`)
  })
}

/** Options and variables that name an address, and that the page of what leaves this machine does not explain. */
function untoldAddresses(documents, map) {
  const path = 'docs/what-leaves-this-machine.md'
  const { text } = documents.find((document) => document.path === path)
  const options = map
    .flatMap(({ options }) => options.map(({ flags }) => flags))
    .filter((flags) => /<(url|place)>/.test(flags))
    .flatMap((flags) => flags.match(/--[\w-]+/g) ?? [])
  const named = [...options, ...variables().filter((name) => name.endsWith('_URL'))]
  const identifiesRecords = ['--profile-url']
  return [...new Set(named)]
    .filter((name) => !text.includes(name) && !identifiesRecords.includes(name))
    .map((name) => `${path}: says nothing of ${name}`)
}

/** Languages of examples that a person types or saves. */
const isShown = /^(sh|console|text|ini|xml|powershell)$/

/** Exit codes that a document names and that no command ends with. */
function unknownExitCodes({ path, text }, documents) {
  const table = documents.find((document) => document.path === 'docs/exit-codes.md').text
  const known = new Set([...table.matchAll(/^\| (\d+) \|/gm)].map(([, code]) => code))
  return [...text.matchAll(/\bexit(?:s|ed)?(?: code| with)* (\d+)/gi)]
    .filter(([, code]) => !known.has(code))
    .map(([words]) => `${path}: there is no such exit code: ${words}`)
}

/** Records of decisions that no line of code cites, that are too long, or that are cited and do not exist. */
function recordProblems(documents) {
  const records = new Map(
    documents.flatMap(({ path, text }) => {
      const number = /^docs\/decisions\/0*(\d+)-/.exec(path)?.[1]
      return number === undefined ? [] : [[number, { path, text }]]
    }),
  )
  const citationsIn = (path, text) =>
    [...text.matchAll(/\bdecisions? (\d+)/gi)].map(([, number]) => ({ path, number }))
  const inCode = ['src', 'scripts', 'test'].flatMap((folder) =>
    filesBelow(folder)
      .filter((path) => /\.(?:[jt]sx?|sql)$/.test(path) && path !== 'scripts/check/documents.js')
      .flatMap((path) => citationsIn(path, readFileSync(root + path, 'utf8'))),
  )
  const inDocuments = documents
    .filter(({ path }) => path !== 'CHANGELOG.md')
    .flatMap(({ path, text }) => citationsIn(path, text))
  return [
    ...[...inCode, ...inDocuments]
      .filter(({ number }) => !records.has(number))
      .map(({ path, number }) => `${path}: cites decision ${number}, which does not exist`),
    ...[...records]
      .filter(([cited]) => !inCode.some(({ number }) => number === cited))
      .map(([, { path }]) => `${path}: is cited by no line of src, scripts or test`),
    ...[...records.values()]
      .filter(({ text }) => text.trimEnd().split('\n').length > maxRecordLines)
      .map(({ path }) => `${path}: has more than ${maxRecordLines} lines`),
  ]
}

const maxRecordLines = 25
