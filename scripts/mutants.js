/**
 * `npm run mutants [-- --count 200] [-- --seed 1] [-- --in src/engine/credits]`: changes one place of the code that decides about
 * money, in a copy, and runs the tests; lists the changes that no test notices. The same seed changes the same places.
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
  'src/engine/settlement',
  'src/engine/request',
  'src/engine/jobs',
  'src/engine/distributed',
  'src/client/reply.ts',
  'src/client/governed.ts',
  'src/client/foreign-replies.ts',
  'src/runs',
]

/** The tests beside which those of the mirrored folder run first; then all that load the changed file. */
const near = ['test/conformance', 'test/engine/bank.test.ts', 'test/engine/limits.test.ts']

const otherOperator = {
  ...{ '>': '>=', '>=': '>', '<': '<=', '<=': '<', '===': '!==', '!==': '===' },
  ...{ '+': '-', '-': '+', '*': '/', '&&': '||', '||': '&&', '??': '&&', '+=': '-=', '-=': '+=' },
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

/** Runs some tests in the copy. Returns whether they pass; a test that does not end fails. */
async function pass(copy, args) {
  const argv = [join('node_modules', 'vitest', 'vitest.mjs'), ...args, '--bail', '1', '--passWithNoTests']
  const options = { cwd: copy, reject: false, stdin: 'ignore', timeout: 1_200_000 }
  return (await execa(process.execPath, argv, options)).exitCode === 0
}

/** Returns what finds out whether a test fails with a change, the tests that are nearest first. */
function judgeIn(copy) {
  const passBefore = new Map()
  const failsFor = async (args, change) => {
    change(true)
    const isNoticed = !(await pass(copy, args))
    change(false)
    if (!isNoticed) return false
    const key = args.join(' ')
    if (!passBefore.has(key)) passBefore.set(key, await pass(copy, args))
    if (!passBefore.get(key)) throw new Error(`vitest ${key} fails without any change`)
    return true
  }
  return async ({ file, text, from, to, other }) => {
    const change = (isOn) =>
      writeFileSync(join(copy, file), isOn ? text.slice(0, from) + other + text.slice(to) : text)
    for (const args of [
      ['run', mirrored(file)],
      ['run', ...near],
      ['related', '--run', file],
    ])
      if (await failsFor(args, change)) return true
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
      in: { type: 'string', multiple: true, default: moneyCode },
    },
  })
  const all = values.in.flatMap(filesIn).flatMap(mutantsOf)
  const chosen = choose(all, Number(values.count), Number(values.seed))
  const copy = copyProject()
  const isNoticed = judgeIn(copy)
  let noticed = 0
  try {
    for (const [at, mutant] of chosen.entries()) {
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
    `\n${noticed} of ${chosen.length} changes were noticed (${all.length} are possible).\n`,
  )
}

try {
  await main()
} catch (error) {
  process.stderr.write(`${error.message}\n`)
  process.exitCode = 1
}
