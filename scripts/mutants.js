/**
 * `npm run mutants [-- --count 200] [-- --seed 1] [-- --only 1-40,77] [-- --whole] [-- test/engine test/runs]`: changes one
 * place of the code that decides about money, in a copy, and runs the tests that reach it; lists the changes that no test
 * notices. The same seed changes the same places. All changes are in one build, and a file says which of them is on. First
 * all tests (or those named) run once without any change, which tells which of them reach which place; that is kept until
 * the code changes. Then the nearest and the quickest of them run, for a minute at most; with `--whole` all of them.
 */
import { createHash } from 'node:crypto'
import {
  cpSync,
  existsSync,
  mkdirSync,
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
import MagicString from 'magic-string'
import { parseAst } from 'rolldown/parseAst'
import { createVitest } from 'vitest/node'
import { ensure } from './ensure.js'
import { root, run } from './run.js'

/**
 * What decides about money: what is charged, reserved, recorded, refused, sent again and reused, here and in the engine,
 * and what vendors are asked. Not what reads tables, names columns, or writes what was found.
 */
const moneyCode = [
  'src/engine/credits',
  'src/engine/request',
  'src/engine/jobs',
  'src/client/governed.ts',
  'src/client/kept-keys.ts',
  'src/client/proxied-work.ts',
  'src/client/reply.ts',
  'src/client/attempts.ts',
  'src/lookups',
  'src/runs/journal',
  'src/runs/plan',
  'src/runs/bulk.ts',
  'src/runs/execute.ts',
  'src/runs/run-batch.ts',
  'src/runs/stored-lookups.ts',
  'src/providers/poll.ts',
  'src/providers/vendors.ts',
]

/** How long the tests of one change take at most together, by what they took without one. */
const budgetMs = 60_000

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

/** Returns the change that one node allows, if any, as [what is replaced, by what, text of the changed node]. */
function mutationAt(node, text) {
  const { type } = node
  const of = ({ start, end }) => text.slice(start, end)
  if (type === 'BinaryExpression' || type === 'LogicalExpression' || type === 'AssignmentExpression') {
    const { left, operator, right } = node
    const other = otherOperator[operator]
    // A text that is put together is no sum.
    const isText = [left, right].some(
      ({ type, value }) => type === 'TemplateLiteral' || typeof value === 'string',
    )
    if (!other || (isText && operator === '+')) return undefined
    const changed =
      type === 'AssignmentExpression' ? [of(left), of(right)] : [`(${of(left)})`, `(${of(right)})`]
    return [operator, other, changed.join(` ${other} `)]
  }
  if (type === 'UnaryExpression' && node.operator === '!')
    return [of(node), of(node.argument), of(node.argument)]
  const literal = (other) => [of(node), other, other]
  if (type === 'Literal' && typeof node.value === 'number') return literal(node.value === 0 ? '1' : '0')
  if (type === 'Literal' && typeof node.value === 'boolean') return literal(String(!node.value))
  if (type === 'ExpressionStatement' && /Call|Await|Assignment/.test(node.expression.type))
    return [of(node), 'nothing', '']
  return undefined
}

/** Returns all changes of a file. Types, imports and texts of SQL stay as they are. */
function mutantsOf(file) {
  const text = readFileSync(join(root, file), 'utf8')
  const found = []
  const statements = new Set()
  const add = ({ start, end }, change, isStatement = false) => {
    const line = text.slice(0, start).split('\n').length
    if (change) found.push({ file, line, start, end, change, isStatement })
  }
  const visit = (node) => {
    if (!node || typeof node !== 'object') return
    if (Array.isArray(node)) {
      // One that is alone, as the body of an `if`, follows no other.
      for (const one of node) if (one?.type === 'ExpressionStatement') statements.add(one.start)
      return node.forEach(visit)
    }
    const { type, test } = node
    if (/^TS|^Import/.test(type) && type !== 'TSAsExpression' && type !== 'TSNonNullExpression') return
    add(node, mutationAt(node, text), type === 'ExpressionStatement')
    const other = { IfStatement: 'false', ConditionalExpression: 'true' }[type]
    if (other) add(test, [text.slice(test.start, test.end), other, other])
    for (const [key, value] of Object.entries(node))
      if (key !== 'parent' && (key !== 'key' || node.computed)) visit(value)
  }
  visit(parseAst(text, { lang: file.endsWith('x') ? 'tsx' : 'ts' }).body)
  return found.map((mutant) => ({ ...mutant, isFirst: statements.has(mutant.start) }))
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

/** Copies what the tests need, with all mutants in the code, and builds it. */
async function copyProject(mutants) {
  const copy = mkdtempSync(join(tmpdir(), 'prospect-mutants-'))
  for (const name of readdirSync(root))
    if (!['.git', '.node', 'node_modules'].includes(name))
      cpSync(join(root, name), join(copy, name), { recursive: true, preserveTimestamps: true })
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
  for (const [file, own] of Map.groupBy(mutants, (mutant) => mutant.file)) {
    const path = relative(dirname(file), 'src/mutants.js')
    writeFileSync(join(copy, file), `import{isOn}from'./${path}';${withMutants(file, own)}`)
  }
  mkdirSync(join(copy, 'mutants'))
  for (const name of ['reached', 'running']) mkdirSync(join(copy, 'mutants', name))
  writeFileSync(join(copy, 'mutants/on'), '0')
  writeFileSync(join(copy, 'src/mutants.ts'), switchOf(join(copy, 'mutants')))
  writeFileSync(join(copy, 'mutants/setup.ts'), setupOf(copy))
  const code = await run(process.execPath, [join(copy, 'scripts/build.js')], { cwd: copy })
  if (code !== 0) throw new Error('The copy with all changes cannot be built.')
  return copy
}

/** Returns the text of a file with its mutants, the outer ones first where several begin at the same place. */
function withMutants(file, mutants) {
  const code = new MagicString(readFileSync(join(root, file), 'utf8'))
  const sorted = mutants.toSorted((one, other) => one.start - other.start || other.end - one.end)
  for (const [at, { number, start, end, change, isStatement, isFirst }] of sorted.entries()) {
    // A parenthesis would continue the line before.
    if (isFirst && !isStatement && sorted[at - 1]?.start !== start) code.appendRight(start, ';')
    code.appendRight(start, isStatement ? `{if(!isOn(${number})){` : `(isOn(${number})?(${change[2]}):(`)
    code.prependLeft(end, isStatement ? '}}' : '))')
  }
  return code
}

/** Says which mutant is on; while none is, notes for each test which are reached, in processes that it starts, too. */
const switchOf = (marks) => `
const { appendFileSync, existsSync, readFileSync } = process.getBuiltinModule('node:fs')
const on = Number(readFileSync('${marks}/on', 'utf8'))
const seen = new Set<string>()
/** A process without the variables of its test is at least the child of its process. */
function runningTest(): string {
  const noted = '${marks}/running/' + process.ppid
  return process.env.MUTANTS_TEST ?? (existsSync(noted) ? readFileSync(noted, 'utf8') : 'unknown')
}
export function isOn(number: number): boolean {
  if (on > 0) return on === number
  const test = runningTest()
  if (seen.has(test + number)) return false
  seen.add(test + number)
  const [file, id = ''] = test.split(' ')
  appendFileSync('${marks}/reached/' + file, number + ' ' + id + '\\n')
  return false
}
`

/** Notes which test a process runs; what runs before its first one is noted for its file. */
const setupOf = (copy) => `
import { writeFileSync } from 'node:fs'
import { relative } from 'node:path'
import { beforeEach, expect } from 'vitest'
const note = (test: string) => {
  process.env.MUTANTS_TEST = test
  writeFileSync('${copy}/mutants/running/' + process.pid, test)
}
const file = encodeURIComponent(relative('${copy}', expect.getState().testPath ?? ''))
note(file)
beforeEach(({ task }) => note(file + ' ' + task.id))
`

/** Starts what runs test files of the copy, in the order given. */
async function createRunner(copy, options) {
  class InOrder {
    sort = (files) => files
    shard = (files) => files
  }
  const vitest = await createVitest({
    root: copy,
    watch: false,
    reporters: [{}],
    silent: true,
    setupFiles: [join(copy, 'mutants/setup.ts')],
    sequence: { sequencer: InOrder },
    testTimeout: 60_000,
    hookTimeout: 60_000,
    ...options,
  })
  const running = join(copy, 'mutants/running')
  /** Runs tests with one mutant, or with none; what takes too long is killed. Returns which failed, and what vitest says of the files. */
  const runTests = async (tests, number, limitMs = 3_600_000) => {
    rmSync(running, { recursive: true })
    mkdirSync(running)
    writeFileSync(join(copy, 'mutants/on'), String(number))
    vitest.state.filesMap.clear()
    vitest.state.idMap.clear()
    let isEndless = false
    const timer = setTimeout(() => {
      isEndless = true
      for (const pid of readdirSync(running)) kill(Number(pid))
    }, limitMs)
    const specifications = [...Map.groupBy(tests, ({ file }) => file)].map(([file, own]) =>
      // A test without an id is a whole file.
      vitest
        .getRootProject()
        .createSpecification(join(copy, file), own[0].id ? { testIds: own.map(({ id }) => id) } : undefined),
    )
    const { testModules, unhandledErrors } = await vitest.runTestSpecifications(specifications)
    clearTimeout(timer)
    // It is what failed tests say of the process.
    process.exitCode = 0
    const failed = testModules.flatMap((module) => {
      const file = relative(copy, module.moduleId)
      const ids = [...module.children.allTests('failed')].map(({ id }) => ({ file, id }))
      return ids.length > 0 || module.ok() ? ids : [{ file }]
    })
    return { testModules, isEndless, failed, hasErrors: unhandledErrors.length > 0 }
  }
  return { vitest, runTests }
}

function kill(pid) {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended.
  }
}

/** Runs the tests once without any change. Returns those that passed with their durations and the mutants that they reach. */
async function reachedBy(copy, filters, mutants) {
  const hash = createHash('sha256')
    .update(JSON.stringify([filters, mutants]))
    .digest('hex')
    .slice(0, 16)
  const kept = join(root, 'node_modules/.cache', `prospect-mutants-${hash}.json`)
  if (existsSync(kept)) return JSON.parse(readFileSync(kept, 'utf8'))
  // What is read when a module is loaded is reached by every file that loads it, so each loads its own.
  const { vitest, runTests } = await createRunner(copy, { isolate: true })
  const files = await vitest.globTestSpecifications(filters)
  const { testModules } = await runTests(
    files.map(({ moduleId }) => ({ file: relative(copy, moduleId) })),
    0,
  )
  const reached = testModules.flatMap((module) => {
    const file = relative(copy, module.moduleId)
    const noted = join(copy, 'mutants/reached', encodeURIComponent(file))
    if (!existsSync(noted)) return []
    const marks = readFileSync(noted, 'utf8')
      .trim()
      .split('\n')
      .map((mark) => mark.split(' '))
    return [...module.children.allTests()].flatMap((test) => {
      const { ok: isSound, duration: ms = 0 } = { ok: test.ok(), ...test.diagnostic() }
      if (!isSound)
        process.stdout.write(`left out, for it fails without any change: ${file}: ${test.fullName}\n`)
      const numbers = new Set(
        marks.filter(([, id]) => id === '' || id === test.id).map(([number]) => Number(number)),
      )
      return isSound && test.result().state === 'passed'
        ? [{ file, id: test.id, name: test.fullName, ms: Math.round(ms), numbers: [...numbers] }]
        : []
    })
  })
  await vitest.close()
  mkdirSync(dirname(kept), { recursive: true })
  writeFileSync(kept, JSON.stringify(reached))
  return reached
}

/** How far a test file is from a file of the code: its own, of its folder, of its area, or elsewhere. */
function distance(test, file) {
  const own = file.replace(/^src/, 'test').replace(/\.tsx?$/, '')
  const area = own.split('/').slice(0, 2).join('/')
  return [`${own}.test.ts`, `${dirname(own)}/`, `${area}/`, ''].findIndex((start) => test.startsWith(start))
}

/** Returns what finds out which test fails with a mutant. One that fails without it, or not again, proves nothing. */
function judgeIn(runTests) {
  const sound = new Map()
  const isSound = async (test) => {
    const key = `${test.file} ${test.id}`
    if (!sound.has(key)) sound.set(key, (await runTests([test], 0)).failed.length === 0)
    return sound.get(key)
  }
  return async (number, tests) => {
    let left = tests
    while (left.length > 0) {
      const limitMs = 60_000 + 3 * left.reduce((sum, { ms }) => sum + ms, 0)
      const { isEndless, failed, hasErrors } = await runTests(left, number, limitMs)
      if (isEndless) return 'a test that does not end'
      if (failed.length === 0) return hasErrors ? 'an error outside the tests' : undefined
      for (const test of failed)
        if ((await isSound(test)) && (await runTests([test], number, limitMs)).failed.length > 0) {
          const name = tests.find(({ file, id }) => file === test.file && id === test.id)?.name
          return name === undefined ? test.file : `${test.file}: ${name}`
        }
      left = left.filter(
        ({ file, id }) => !failed.some((test) => test.file === file && (test.id ?? id) === id),
      )
    }
    return undefined
  }
}

/** Returns the numbers of `1-40,77`. */
const numbersOf = (text) =>
  text.split(',').flatMap((part) => {
    const [first, last = first] = part.split('-').map(Number)
    return Array.from({ length: last - first + 1 }, (_, at) => first + at)
  })

async function main() {
  await ensure()
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      count: { type: 'string', default: '200' },
      seed: { type: 'string', default: '1' },
      only: { type: 'string' },
      whole: { type: 'boolean', default: false },
    },
  })
  const all = moneyCode.flatMap(filesIn).flatMap(mutantsOf)
  const chosen = choose(all, Number(values.count), Number(values.seed)).map((mutant, at) => ({
    ...mutant,
    number: at + 1,
  }))
  const copy = await copyProject(chosen)
  process.chdir(copy)
  try {
    const reached = await reachedBy(copy, positionals, chosen)
    const { vitest, runTests } = await createRunner(copy, { bail: 1, maxWorkers: 1, testTimeout: 20_000 })
    const judge = judgeIn(runTests)
    const tried = values.only ? numbersOf(values.only).map((number) => chosen[number - 1]) : chosen
    let noticed = 0
    for (const { number, file, line, change } of tried) {
      const reaching = reached
        .filter(({ numbers }) => numbers.includes(number))
        .sort((one, other) => distance(one.file, file) - distance(other.file, file) || one.ms - other.ms)
      let leftMs = values.whole ? Number.POSITIVE_INFINITY : budgetMs
      const tests = reaching.filter(({ ms }) => {
        if (ms > leftMs) return false
        leftMs -= ms
        return true
      })
      const by = await judge(number, tests)
      if (by) noticed += 1
      const judgement = by
        ? `noticed by ${by}`
        : `NOT NOTICED by ${tests.length} of ${reaching.length} tests that reach it`
      const what = `${file}:${line}  ${change[0].split('\n')[0]} → ${change[1].split('\n')[0]}`
      process.stdout.write(`${number} ${what}\n    ${judgement}\n`)
    }
    await vitest.close()
    process.stdout.write(
      `\n${noticed} of ${tried.length} changes were noticed (${all.length} are possible).\n`,
    )
  } finally {
    process.chdir(root)
    rmSync(copy, { recursive: true, force: true })
  }
}

try {
  await main()
} catch (error) {
  process.stderr.write(`${error.message}\n`)
  process.exitCode = 1
}
