/**
 * `node scripts/code-cache.js FOLDER`: runs a few commands of the program that was built into a folder, and keeps the code that
 * this V8 compiled for them there, so that no later start compiles it again. With `--modules main` it prints as JSON which
 * modules the shortest commands ran instead, and with `--exports SCRIPT` what a script exports to the others.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { Session } from 'node:inspector/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { PassThrough } from 'node:stream'
import { cacheName, load } from '../bin/load.js'
import { run } from './run.js'

/** The exit code of a lookup that finds nothing. */
const notFound = 9

const [given, mode, name, filled] = process.argv.slice(2)
const folder = resolve(given)
const home = filled ?? (await mkdtemp(join(tmpdir(), 'prospect-build-')))
const program = load(folder)
try {
  if (mode === '--exports')
    process.stdout.write(JSON.stringify(exportsOf(program.part(name).exports.modules)))
  else if (filled) await fill()
  else {
    // Another process, so that what it compiles is not kept with the shortest commands.
    const argv = [import.meta.filename, folder, mode ?? '--more', 'more', home]
    const code = await run(process.execPath, argv)
    if (code !== 0) throw new Error('The longer commands failed')
    if (mode === '--modules') process.stdout.write(JSON.stringify(await modulesRun()))
    else {
      await runShortest()
      await lookUp()
      await keep('main')
      await keep('lookup')
    }
  }
} finally {
  if (!filled) await rm(home, { recursive: true, force: true })
}

/** Fills the home with companies, of which one is looked up already: later lookups look for that first. */
async function fill() {
  const file = join(home, 'companies.csv')
  await writeFile(file, 'name,domain\nExample,example.com\nOther,example.org\n')
  await command('init')
  await command('data', 'import', 'companies', file)
  await writeFile(file, 'domain\nexample.com\n')
  await command('accounts', 'enrich', '--csv', file, '--yes')
  if (mode === '--more') await keep('more')
}

async function runShortest() {
  await command('credits')
  await command('--help')
}

/** Looks up a company twice, and one that there is not. */
async function lookUp() {
  await command('accounts', 'enrich', '--domain', 'example.org')
  await command('accounts', 'enrich', '--domain', 'example.org')
  await ends(notFound, 'accounts', 'enrich', '--domain', 'example.net')
}

function command(...argv) {
  return ends(0, ...argv)
}

/** Runs a command. Throws where it ends with another exit code. */
async function ends(wanted, ...argv) {
  const quiet = () => new PassThrough().resume()
  const code = await program.main(argv, {
    stdin: quiet(),
    stdout: quiet(),
    stderr: quiet(),
    env: { PROSPECT_HOME: home },
    cwd: home,
  })
  if (code !== wanted) throw new Error(`prospect ${argv.join(' ')} ended with ${code}`)
}

/** Keeps what V8 has compiled of a script. */
async function keep(name) {
  await writeFile(join(folder, cacheName(name)), program.part(name).script.createCachedData())
}

/** Returns which modules of the main script commands run: each is a function with its path as its name. */
async function modulesRun() {
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true })
  const modulesOf = async (work) => {
    await work()
    const { result } = await session.post('Profiler.takePreciseCoverage')
    return result
      .filter(({ url }) => url === 'main.cjs')
      .flatMap(({ functions }) => functions)
      .filter(({ ranges: [{ count }] }) => count > 0)
      .map(({ functionName }) => functionName)
  }
  return { main: await modulesOf(runShortest), lookup: await modulesOf(lookUp) }
}

/** Returns the names that modules export; none for data and statements. */
function exportsOf(modules) {
  const names = Object.entries(modules).map(([name, load]) => [name, Object.keys(load())])
  return Object.fromEntries(names.map(([name, all]) => [name, /\.(?:json|sql)$/.test(name) ? [] : all]))
}
