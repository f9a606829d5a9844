/**
 * What one row of a file, one request and one delivery pass through, by execution: the program is built with a call at
 * the start of each of its functions, and the calls of a run are compared with those of a run twice as long.
 */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import MagicString from 'magic-string'
import { parseAst } from 'rolldown/parseAst'
import { root } from '../run.js'

/** At most so many files, and steps to a folder nearer to the user, for each of them. */
const limits = {
  row: { files: 40, climbs: 28 },
  request: { files: 28, climbs: 16 },
  delivery: { files: 13, climbs: 5 },
}

/** Folders of `src` from the ground up. */
const floors = [
  'api',
  'csv',
  'identity',
  'storage',
  'reference',
  'catalogue',
  'engine',
  'providers',
  'client',
  'http',
  'lookups',
  'runs',
  'lists',
  'flows',
  'dashboard',
  'mcp',
  'cli',
]

const cache = join(root, 'node_modules/.cache')
const count = 64

/** Calls `__enter(id)` at the start of each function of `src`; `functions[id]` is the file of it. */
export const countedFunctions = (functions) => ({
  name: 'counted-functions',
  setup(build) {
    build.onLoad({ filter: /[\\/]src[\\/].*\.tsx?$/ }, async ({ path }) => {
      const code = await readFile(path, 'utf8')
      const loader = path.endsWith('x') ? 'tsx' : 'ts'
      const edited = new MagicString(code)
      const file = relative(join(root, 'src'), path).replaceAll('\\', '/')
      const visit = (node) => {
        if (typeof node !== 'object' || node === null) return
        if (/Function/.test(node.type) && node.body?.start !== undefined) {
          const call = `globalThis.__enter?.(${functions.push(file) - 1})`
          const { start, end, type } = node.body
          if (type === 'BlockStatement' || type === 'FunctionBody') edited.appendRight(start + 1, `${call};`)
          else edited.appendLeft(start, `(${call},`).appendRight(end, ')')
        }
        for (const child of Object.values(node)) Array.isArray(child) ? child.forEach(visit) : visit(child)
      }
      visit(parseAst(code, { lang: loader }, path))
      return { contents: edited.toString(), loader }
    })
  },
})

/** Keeps the calls of the process in a file, in order. */
const recorder = `const calls = new Int32Array(1 << 22)
let length = 0
globalThis.__enter = (id) => { if (length < calls.length) calls[length++] = id }
process.on('exit', () => require('node:fs').writeFileSync(process.env.PROSPECT_CALLS, new Uint8Array(calls.buffer, 0, length * 4)))`

/** Returns the files, and climbs between floors, of what a run does once more for each thing it is given. */
function pathOf(functions, short, long) {
  const often = (calls) => calls.reduce((counts, id) => counts.set(id, (counts.get(id) ?? 0) + 1), new Map())
  const [once, twice] = [often(short), often(long)]
  const repeated = new Set(
    [...twice.keys()].filter((id) => twice.get(id) - (once.get(id) ?? 0) >= 0.9 * count),
  )
  const floorOf = (id) => {
    const [folder = ''] = functions[id].split('/')
    const floor = floors.indexOf(folder)
    if (floor < 0 && functions[id].includes('/')) throw new Error(`src/${folder} has no floor`)
    return floor
  }
  const climbs = (calls) => {
    const path = [...calls].filter((id) => repeated.has(id))
    return path.filter((id, at) => at > 0 && floorOf(id) > floorOf(path[at - 1])).length
  }
  return {
    files: new Set([...repeated].map((id) => functions[id])).size,
    climbs: Math.round((climbs(long) - climbs(short)) / count),
  }
}

/** Prints what a row, a request and a delivery pass through; returns what is above its limit, one sentence each. */
export async function pathProblems() {
  mkdirSync(cache, { recursive: true })
  const place = mkdtempSync(join(cache, 'measured-'))
  try {
    for (const name of ['bin', 'package.json'])
      cpSync(join(root, name), join(place, name), { recursive: true })
    const functions = []
    const { buildProgram } = await import('../build-program.js')
    await buildProgram(join(place, 'dist'), [countedFunctions(functions)])
    cpSync(join(root, 'dist/places.db'), join(place, 'dist/places.db'))
    writeFileSync(join(place, 'record.cjs'), recorder)
    return await measure(place, functions)
  } finally {
    rmSync(place, { recursive: true, force: true })
  }
}

async function measure(place, functions) {
  const problems = []
  const scenes = { row: rows, request: requests, delivery: deliveries }
  for (const [name, scene] of Object.entries(scenes)) {
    const calls = async (times) => {
      const folder = mkdtempSync(join(place, 'home-'))
      await scene(worldIn(place, folder), times)
      const bytes = readFileSync(join(folder, 'calls'))
      return new Int32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4)
    }
    const path = pathOf(functions, await calls(count), await calls(2 * count))
    process.stdout.write(`one ${name}: ${path.files} files, ${path.climbs} climbs to a higher folder\n`)
    for (const [what, limit] of Object.entries(limits[name]))
      if (path[what] > limit)
        problems.push(`One ${name} passes ${path[what]} ${what}; at most ${limit} are allowed.`)
  }
  return problems
}

/** A home with companies and credits, and the command; with `recorded`, the calls of the process are kept. */
function worldIn(place, folder) {
  const binary = join(place, 'bin/prospect.js')
  const env = { ...process.env, PROSPECT_HOME: join(folder, 'home'), CI: 'true', NO_COLOR: '1' }
  const recorded = {
    ...env,
    PROSPECT_CALLS: join(folder, 'calls'),
    NODE_OPTIONS: `--require ${join(place, 'record.cjs')}`,
  }
  const run = async (args, given = env) =>
    (await promisify(execFile)(process.execPath, [binary, ...args], { env: given, cwd: folder })).stdout
  return {
    folder,
    run,
    record: (...args) => run(args, recorded),
    async fill() {
      const lines = Array.from({ length: 2 * count }, (_, at) => `Company ${at},c${at}.example`)
      writeFileSync(join(folder, 'known.csv'), `name,domain\n${lines.join('\n')}\n`)
      await run(['init', '--yes', '--format', 'json'])
      await run(['data', 'import', 'companies', 'known.csv'])
      await run(['engine', 'credits', 'set', '100000'])
    },
    /** Starts a command that stays, and runs work with the object that it prints first. */
    async during(args, work) {
      const child = spawn(process.execPath, [binary, ...args, '--port', '0', '--json'], {
        env: recorded,
        stdio: ['ignore', 'pipe', 'ignore'],
      })
      const ended = once(child, 'exit')
      const [line] = await once(createInterface(child.stdout), 'line')
      await work(JSON.parse(line))
      child.kill('SIGTERM')
      await ended
    },
  }
}

async function rows({ folder, fill, record }, times) {
  await fill()
  writeFileSync(
    join(folder, 'in.csv'),
    `domain\n${Array.from({ length: times }, (_, at) => `c${at}.example`).join('\n')}\n`,
  )
  await record('accounts', 'enrich', '--csv', 'in.csv', '-o', 'out.csv', '--quiet')
}

async function requests({ run, fill, during }, times) {
  await fill()
  await run(['engine', 'plan', 'set', 'Scale'])
  const [{ email }] = JSON.parse(await run(['engine', 'members', 'list', '--json']))
  const { key } = JSON.parse(await run(['engine', 'keys', 'create', '--member', email, '--json']))
  const headers = { 'x-api-key': key, 'content-type': 'application/json' }
  await during(['serve'], async ({ base_url }) => {
    for (let at = 0; at < times; at++)
      await post(`${base_url}/accounts/single_enrich`, headers, { domain: `c${at}.example` })
  })
}

async function deliveries({ run, during }, times) {
  await run(['init', '--yes', '--format', 'json'])
  await during(['listen'], async ({ url }) => {
    for (let at = 0; at < times; at++) {
      const id = `00000000-0000-4000-8000-${String(at).padStart(12, '0')}`
      const created_at = new Date().toISOString()
      await post(
        url,
        { 'content-type': 'application/json' },
        { event: 'lead_search.completed', id, created_at, leads: [] },
      )
    }
  })
}

async function post(url, headers, body) {
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
  if (!response.ok) throw new Error(`${url}: ${response.status} ${await response.text()}`)
  await response.arrayBuffer()
}
