import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { commandMap, generatedDocs } from '../docs/generate.js'
import { root } from '../run.js'

/** What is wrong with the documents, one sentence each. */
export async function documentProblems() {
  const [generated, map] = await Promise.all([generatedDocs(), commandMap()])
  const documents = ['README.md', 'CHANGELOG.md', ...markdownBelow('docs')].map((path) => ({
    path,
    text: readFileSync(root + path, 'utf8'),
  }))
  return [
    ...staleParts(generated),
    ...undocumented(documents, map),
    ...documents.flatMap(deadLinks),
    ...missingSources(documents),
    ...documents.flatMap((document) => unknownCommands(document, map)),
  ]
}

const markdownBelow = (folder) =>
  readdirSync(root + folder, { recursive: true })
    .filter((path) => path.endsWith('.md'))
    .map((path) => `${folder}/${path.replaceAll('\\', '/')}`)

const staleParts = (generated) =>
  generated
    .filter(({ path, text }) => readFileSync(root + path, 'utf8') !== text)
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
    ...errors.flatMap(([, name]) => lacks('docs/errors.md', `\`${name}\``)),
    ...variables().flatMap((name) => lacks('docs/start.md', `\`${name}\``)),
  ]
}

/** Environment variables of our own that the program reads. */
function variables() {
  const files = readdirSync(`${root}src/cli`, { recursive: true }).filter((path) => path.endsWith('.ts'))
  const texts = files.map((path) => readFileSync(join(root, 'src/cli', path), 'utf8'))
  return [...new Set(texts.flatMap((text) => text.match(/\bPROSPECT_[A-Z_]+/g) ?? []))]
}

/** Links to files that do not exist. */
function deadLinks({ path, text }) {
  const targets = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map((match) => match[1])
  return targets
    .filter((target) => !/^[a-z]+:|^#/.test(target))
    .filter((target) => !existsSync(join(root, dirname(path), target.replace(/#.*$/, ''))))
    .map((target) => `${path}: links to ${target}, which does not exist`)
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

/** Commands in shell examples that the program does not have, or options they do not take. */
function unknownCommands({ path, text }, map) {
  const blocks = [...text.matchAll(/```sh\n([\s\S]*?)```/g)].map((match) => match[1])
  const lines = blocks.flatMap((block) => block.split('\n')).filter((line) => /^prospect\s/.test(line))
  return lines.flatMap((line) => {
    const words = line
      .replace(/\s+#.*$/, '')
      .split(/\s+/)
      .slice(1)
    const known = map.filter(({ command }) => `${words.join(' ')} `.startsWith(`${command} `))
    if (known.length === 0) return words[0]?.startsWith('-') ? [] : [`${path}: there is no command: ${line}`]
    const names = new Set(
      known.flatMap(({ options }) => options.flatMap(({ flags }) => flags.match(/--?[\w-]+/g))),
    )
    const wrong = words.filter(
      (word) => /^-/.test(word) && !names.has(word.replace(/=.*$/, '')) && word !== '--help',
    )
    return wrong.map((word) => `${path}: ${word} is no option of: ${line}`)
  })
}
