import { chmod, readFile, writeFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { forgetKey, storedKey, storeKey } from '../../../src/cli/context/credentials.js'
import { homeOf } from '../../../src/cli/context/home.js'
import {
  answering,
  type CommandResult,
  canary,
  command,
  ends,
  errorOf,
  machine,
  streamsOf,
} from '../../support/command.js'
import { perTest } from '../../support/each.js'

const here = perTest(machine)

const places = () => homeOf(streamsOf({ env: { PROSPECT_HOME: here.home }, cwd: here.home }))

/** Returns the key that reached the target. */
async function sent(argv: readonly string[], env: Record<string, string>, stdin = ''): Promise<unknown> {
  const caller = answering({ body: { credits: { enrichment: 1 } } })
  const ended = await command(['credits', ...argv], {
    env: { PROSPECT_HOME: here.home, ...env },
    caller,
    stdin,
    cwd: here.home,
  })
  expect([ended.code, ended.stderr]).toEqual([0, ''])
  return caller.asked[0]?.options.apiKey
}

describe('the API key', () => {
  it('reads the API key from the environment', async () => {
    expect(await sent([], { PROSPECT_API_KEY: ' from-env\n' })).toBe('from-env')
  })

  it('prefers --api-key-file to the environment', async () => {
    await writeFile(here.path('key'), 'from-file\n', { mode: 0o600 })
    expect(await sent(['--api-key-file', 'key'], { PROSPECT_API_KEY: 'from-env' })).toBe('from-file')
  })

  it('refuses a key file that others can read', async () => {
    const file = here.path('key')
    await writeFile(file, 'from-file\n')
    await chmod(file, 0o644)
    const caller = answering()
    const ended = await here.run(`credits --api-key-file ${file}`, { caller })
    expect([ended.code, errorOf(ended).hint, caller.asked]).toEqual([2, `Run: chmod 600 ${file}`, []])
  })

  it('prefers --api-key-stdin to the environment', async () => {
    expect(await sent(['--api-key-stdin'], { PROSPECT_API_KEY: 'from-env' }, 'from-stdin\n')).toBe(
      'from-stdin',
    )
  })

  it.each([['--api-key', canary], [`--api-key=${canary}`]])(
    'refuses an API key as an argument: %s',
    async (...argv) => {
      const caller = answering()
      const ended = await here.run(['credits', ...argv], { caller })
      expect([ended.code, errorOf(ended).hint, caller.asked]).toEqual([
        2,
        'Use PROSPECT_API_KEY, --api-key-file FILE or --api-key-stdin.',
        [],
      ])
      expect(ended.stdout + ended.stderr).not.toContain(canary)
    },
  )

  it.each(['', '  \n', 'two words', 'späß'])('refuses text that cannot be an API key: %j', async (text) => {
    const ended = await here.run('credits --api-key-stdin', { stdin: text, caller: answering() })
    expect([ended.code, errorOf(ended).code]).toEqual([3, 'key'])
  })

  it('stores a key for one origin and returns it for no other', () => {
    const at = places()
    storeKey(at, 'https://a.example', 'key-a', 0, 'u1')
    storeKey(at, 'https://b.example', 'key-b', 0, 'u2')
    expect([storedKey(at, 'https://a.example'), storedKey(at, 'https://b.example')]).toEqual([
      'key-a',
      'key-b',
    ])
    expect([storedKey(at, 'https://c.example'), storedKey(at, 'toString')]).toEqual([undefined, undefined])
  })

  it('forgets a key and keeps the others', () => {
    const at = places()
    storeKey(at, 'a', 'key-a', 0, 'u1')
    storeKey(at, 'b', 'key-b', 0, 'u2')
    expect([forgetKey(at, 'a', 'u3'), forgetKey(at, 'a', 'u4')]).toEqual([true, false])
    expect([storedKey(at, 'a'), storedKey(at, 'b')]).toEqual([undefined, 'key-b'])
  })

  it('does not print a key from a damaged file', async () => {
    await writeFile(here.path('credentials.json'), `{"keys": ${canary}`, { mode: 0o600 })
    const ended = await ends(here.run('accounts technologies'), 3)
    expect(ended.stderr).not.toContain(canary)
  })
})

describe('secrets in output and files', () => {
  const lines = [
    'credits',
    'credits --json',
    'credits --verbose',
    'credits --format table',
    'account',
    'accounts enrich --domain x',
    'accounts enrich --domain x --dry-run',
    'accounts enrich --domian x',
    `accounts enrich ${canary}`,
    `accounts enrich --fields ${canary} --domain x`,
    `nothing --apikey=${canary}`,
    `--apikey=${canary}`,
    `${canary}`,
    `credits --base-url https://x/${canary}`,
    `credits --profile ${canary}`,
    `credits --format ${canary}`,
    `credits --api-key-file ${canary}`,
    `config get ${canary}`,
    'commands --json',
    '--help',
  ]

  it.each(lines)('never prints the API key: %s', async (line) => {
    const everything = ({ stdout, stderr }: CommandResult) => stdout + stderr
    const refusing = answering({
      status: 500,
      body: { error: `upstream saw ${canary}` },
      headers: { 'x-echo': canary },
    })
    for (const caller of [answering({ body: { id: 'x' } }), refusing]) {
      const ended = await here.run(line, { caller, terminal: true })
      expect(everything(ended)).not.toContain(canary)
    }
  })

  it('does not store a key that came from the environment', async () => {
    await here.run('credits', { caller: answering() })
    await ends(here.run('accounts technologies'), 0)
    expect(await readFile(here.path('credentials.json'), 'utf8')).not.toContain(canary)
  })
})
