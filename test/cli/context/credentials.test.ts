import { chmodSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { answering, canary, ends, errorOf, machine } from '../../support/command.js'
import { perTest } from '../../support/each.js'

const here = perTest(machine)

/** Returns the key that reached the target. */
async function sent(line: string, key: string, stdin = ''): Promise<unknown> {
  const caller = answering({ body: { credits: { enrichment: 1 } } })
  await ends(here.run(line, { env: { PROSPECT_API_KEY: key }, caller, stdin }), 0)
  return caller.asked[0]?.options.apiKey
}

describe('the API key', () => {
  it('is read from the environment, and rather from --api-key-file or --api-key-stdin', async () => {
    here.write('key', 'from-file\n', 0o600)
    expect(await sent('credits', ' from-env\n')).toBe('from-env')
    expect(await sent('credits --api-key-file key', 'from-env')).toBe('from-file')
    expect(await sent('credits --api-key-stdin', 'from-env', 'from-stdin\n')).toBe('from-stdin')
  })

  it('refuses a key file that others can read', async () => {
    const file = here.path('key')
    here.write('key', 'from-file\n')
    chmodSync(file, 0o644)
    const caller = answering()
    const ended = await here.run(`credits --api-key-file ${file} --json`, { caller })
    expect([ended.code, errorOf(ended).hint, caller.asked]).toEqual([2, `Run: chmod 600 ${file}`, []])
  })

  it.each(['', '  \n', 'two words', 'späß'])('refuses text that cannot be an API key: %j', async (text) => {
    const ended = await here.run('credits --api-key-stdin --json', { stdin: text, caller: answering() })
    expect([ended.code, errorOf(ended).code]).toEqual([3, 'key'])
  })

  it('does not print a key from a damaged file', async () => {
    await here.fill('companies', 'domain\nsole.example\n')
    here.write('credentials.json', `{"keys": ${canary}`, 0o600)
    const ended = await ends(here.run('accounts technologies'), 3)
    expect(ended.stderr).not.toContain(canary)
  })
})
