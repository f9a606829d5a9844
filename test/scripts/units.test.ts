import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { newFolder } from '../support/new-folder.js'
import { launch, launchServer, prospect } from '../support/processes.js'
import { loadSample } from '../support/sample.js'

const unit = (name: string) =>
  readFileSync(join(import.meta.dirname, '../../deploy', name), 'utf8').replaceAll('\\\n', ' ')

/** The words of each command of a unit, also of those that its first lines propose; without the program. */
const commandsOf = (name: string) =>
  [...unit(name).matchAll(/^(?:# {3})?ExecStart=\/usr\/bin\/prospect (.*)/gm)].map(([, words = '']) =>
    words.trim().split(/\s+/),
  )

async function newHome() {
  const folder = newFolder()
  onTestFinished(() => folder.remove())
  const env = { PROSPECT_HOME: folder.path }
  const run = async (...words: string[]) => await launch(prospect, words, folder.path, env)
  expect((await run('init', '--yes')).exitCode).toBe(0)
  return { folder, env, run }
}

it.each(commandsOf('prospect-serve.service').map((words) => [words.join(' '), words] as const))(
  'prospect-serve.service answers, and ends on SIGTERM, with its command: %s',
  async (_, words) => {
    const { folder, env } = await newHome()
    // Another server may have its port on this machine.
    const free = words.includes('--port')
      ? words.map((word) => (word === '4010' ? '0' : word))
      : [...words, '--port', '0']
    const { line, stop } = await launchServer(prospect, [...free, '--json'], folder.path, env)
    const { base_url } = JSON.parse(line) as { base_url: string }
    const { status } = await fetch(new URL('/ready', base_url.replace('0.0.0.0', '127.0.0.1')))
    expect([status, (await stop()).exitCode]).toEqual([200, 0])
  },
)

it('prospect-worker.service works, and ends on SIGTERM, with its command', async () => {
  const { folder, env } = await newHome()
  const [words = []] = commandsOf('prospect-worker.service')
  const worker = launch(prospect, words, folder.path, env)
  let said = ''
  worker.stderr.on('data', (text: Buffer) => (said += text.toString()))
  await expect.poll(() => said).toContain('Working')
  worker.kill('SIGTERM')
  expect((await worker).exitCode).toBe(0)
})

it('prospect-enrich.service enriches its file with an exit code that it names a success, night after night', async () => {
  const { folder, run } = await newHome()
  const [words = []] = commandsOf('prospect-enrich.service')
  const successes = [
    0,
    ...(/SuccessExitStatus=(.*)/.exec(unit('prospect-enrich.service'))?.[1] ?? '').split(' ').map(Number),
  ]
  await loadSample(folder.path)
  writeFileSync(folder.at('companies.csv'), 'name,domain\nAcme,acme.example\nNobody,\n')
  for (const night of [1, 2]) {
    const { exitCode, stderr } = await run(...words)
    expect([night, stderr, successes]).toEqual([night, stderr, expect.arrayContaining([exitCode])])
  }
  expect(readFileSync(folder.at('enriched.csv'), 'utf8')).toContain('acme.example')
})
