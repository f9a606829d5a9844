/**
 * `npm run mutants [-- --count 200] [-- --seed 1] [-- --from 1] [-- --near] [-- --in src/engine/credits]`: changes one place of
 * the code that decides about money, in a copy, and runs the tests; lists the changes that no test notices. The same seed
 * changes the same places; `--from` goes on with one of them. `--near` leaves out the tests that are not beside the code.
 */
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { parseArgs } from 'node:util'
import { execa } from 'execa'
import { parseAst } from 'rolldown/parseAst'
import { ensure } from './ensure.js'
import { root } from './run.js'

/** What decides about money: what is charged, reserved, recorded, sent again and reused. */
const moneyCode = [
  'src/engine/credits',
  'src/engine/request',
  'src/engine/jobs',
  'src/engine/distributed',
  'src/client/governed.ts',
  'src/client/reply.ts',
  'src/runs',
]

/** The tests beside which those of the mirrored folder run first; then all that load the changed file. */
const near = ['test/conformance', 'test/engine/bank.test.ts', 'test/engine/limits.test.ts']

const otherOperator = {
  '>': '>=',
  '>=': '>',
  '<': '<=',
  '<=': '<',
  '===': '!==',
  '!==': '===',
  '+': '-',
  '-': '+',
  '*': '/',
  '&&': '||',
  '||': '&&',
  '??': '&&',
  '+=': '-=',
  '-=': '+=',
}

/** Returns the changes that one node allows, as [from, to, text]. */
function changesOf(node, text) {
  const { type, start, end } = node
  if (type === 'BinaryExpression' || type === 'LogicalExpression' || type === 'AssignmentExpression') {
    const other = otherOperator[node.operator]
    const at = text.indexOf(node.operator, node.left.end)
    // A text that is put together is no sum.
    const isText = [node.left, node.right].some(
      ({ type, value }) => type === 'TemplateLiteral' || typeof value === 'string',
    )
    return other && !(isText && node.operator === '+') ? [[at, at + node.operator.length, other]] : []
  }
  if (type === 'UnaryExpression' && node.operator === '!') return [[start, start + 1, '']]
  if (type === 'Literal' && typeof node.value === 'number')
    return [[start, end, node.value === 0 ? '1' : '0']]
  if (type === 'Literal' && typeof node.value === 'boolean') return [[start, end, String(!node.value)]]
  if (type === 'IfStatement') return [[node.test.start, node.test.end, 'false']]
  if (type === 'ConditionalExpression') return [[node.test.start, node.test.end, 'true']]
  if (type === 'ExpressionStatement' && /Call|Await|Assignment/.test(node.expression.type))
    return [[start, end, ';']]
  return []
}

/** Returns all changes of a file. Types, imports and texts of SQL stay as they are. */
function mutantsOf(file) {
  const text = readFileSync(join(root, file), 'utf8')
  const found = []
  const visit = (node) => {
    if (!node || typeof node !== 'object') return
    if (Array.isArray(node)) return node.forEach(visit)
    if (typeof node.type === 'string') {
      if (
        /^TS|^Import/.test(node.type) &&
        node.type !== 'TSAsExpression' &&
        node.type !== 'TSNonNullExpression'
      )
        return
      for (const [from, to, other] of changesOf(node, text)) found.push({ file, text, from, to, other })
    }
    for (const [key, value] of Object.entries(node)) if (key !== 'parent') visit(value)
  }
  visit(parseAst(text, { lang: file.endsWith('x') ? 'tsx' : 'ts' }).body)
  return found
}

const filesIn = (path) =>
  /\.tsx?$/.test(path)
    ? [path]
    : readdirSync(join(root, path), { recursive: true })
        .filter((name) => /\.tsx?$/.test(name))
        .map((name) => join(path, name))
        .sort()

/** Returns numbers from 0 to 1 that depend on the seed alone. */
function numbersFrom(seed) {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0
    return (state >>> 0) / 2 ** 32
  }
}

function choose(mutants, count, seed) {
  const random = numbersFrom(seed)
  const left = [...mutants]
  return Array.from(
    { length: Math.min(count, left.length) },
    () => left.splice(Math.floor(random() * left.length), 1)[0],
  )
}

/** Copies what the tests need. */
function copyProject() {
  const copy = mkdtempSync(join(tmpdir(), 'prospect-mutants-'))
  for (const name of readdirSync(root))
    if (!['.git', '.node', 'node_modules'].includes(name))
      cpSync(join(root, name), join(copy, name), { recursive: true })
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
  return copy
}

/** The mirrored tests of a file: those of its folder, or of the nearest above it that has some. */
function mirrored(file) {
  const own = file.replace(/^src/, 'test').replace(/\.tsx?$/, '.test.ts')
  if (existsSync(join(root, own))) return own
  let folder = dirname(own)
  while (!existsSync(join(root, folder))) folder = dirname(folder)
  return folder
}

const endless = 'a test that does not end'

/** Runs some tests in the copy until one fails. Returns the files that failed, or what vitest said where it ran none. */
async function failingFiles(copy, args) {
  const report = join(copy, 'report.json')
  rmSync(report, { force: true })
  const reporting = ['--bail', '1', '--passWithNoTests', '--reporter=json', `--outputFile.json=${report}`]
  const argv = [join('node_modules', 'vitest', 'vitest.mjs'), ...args, ...reporting]
  const options = { cwd: copy, reject: false, stdin: 'ignore', all: true, timeout: 1_200_000 }
  const { exitCode, timedOut, all } = await execa(process.execPath, argv, options)
  if (timedOut) return [endless]
  if (exitCode === 0) return []
  const { testResults } = existsSync(report) ? JSON.parse(readFileSync(report, 'utf8')) : { testResults: [] }
  const failed = testResults
    .filter(({ status }) => status === 'failed')
    .map(({ name }) => relative(copy, name))
  return failed.length > 0 ? failed : [all.slice(-500)]
}

/**
 * Returns what finds out whether a test fails with a change, the tests that are nearest first. A file that fails once, or
 * without any change, proves nothing: on a busy machine some do.
 */
function judgeIn(copy, isNear) {
  const sound = new Set()
  const unsound = new Set()
  const isSound = async (file) => {
    if (sound.has(file) || unsound.has(file)) return sound.has(file)
    const isPassed = (await failingFiles(copy, ['run', file])).length === 0
    if (!isPassed) process.stdout.write(`left out, for it fails without any change: ${file}\n`)
    ;(isPassed ? sound : unsound).add(file)
    return isPassed
  }
  return async ({ file, text, from, to, other }) => {
    const failing = async (args) => {
      writeFileSync(join(copy, file), text.slice(0, from) + other + text.slice(to))
      try {
        return await failingFiles(copy, args)
      } finally {
        writeFileSync(join(copy, file), text)
      }
    }
    const passing = new Set()
    for (const args of [
      ['run', mirrored(file)],
      ['run', ...near],
      ...(isNear ? [] : [['related', '--run', file]]),
    ])
      for (;;) {
        const excluded = [...unsound, ...passing].flatMap((name) => ['--exclude', name])
        const [test] = await failing([...args, ...excluded])
        if (test === undefined) break
        if (test === endless) return true
        if (!existsSync(join(copy, test))) throw new Error(test)
        if (!(await isSound(test))) continue
        if ((await failing(['run', test])).length > 0) return true
        passing.add(test)
      }
    return false
  }
}

const lineOf = ({ text, from }) => text.slice(0, from).split('\n').length

async function main() {
  await ensure()
  const { values } = parseArgs({
    options: {
      count: { type: 'string', default: '200' },
      seed: { type: 'string', default: '1' },
      from: { type: 'string', default: '1' },
      near: { type: 'boolean', default: false },
      in: { type: 'string', multiple: true, default: moneyCode },
    },
  })
  const all = values.in.flatMap(filesIn).flatMap(mutantsOf)
  const chosen = choose(all, Number(values.count), Number(values.seed))
  const first = Number(values.from) - 1
  const copy = copyProject()
  const isNoticed = judgeIn(copy, values.near)
  let noticed = 0
  try {
    for (const [at, mutant] of [...chosen.entries()].slice(first)) {
      const { file, text, from, to, other } = mutant
      const result = await isNoticed(mutant)
      if (result) noticed += 1
      const what = `${relative('.', file)}:${lineOf(mutant)}  ${text.slice(from, to).split('\n')[0]} → ${other}`
      process.stdout.write(`${at + 1}/${chosen.length} ${result ? 'noticed' : 'NOT NOTICED'} ${what}\n`)
    }
  } finally {
    rmSync(copy, { recursive: true, force: true })
  }
  process.stdout.write(
    `\n${noticed} of ${chosen.length - first} changes were noticed (${all.length} are possible).\n`,
  )
}

try {
  await main()
} catch (error) {
  process.stderr.write(`${error.message}\n`)
  process.exitCode = 1
}
