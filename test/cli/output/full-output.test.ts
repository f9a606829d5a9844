import { execa } from 'execa'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type CommandResult, command, folder, removed } from '../../support/command.js'
import { prospect } from '../../support/processes.js'

let home = ''
beforeAll(async () => {
  home = await folder()
  await command('init', { env: { PROSPECT_HOME: home } })
})
afterAll(() => removed(home))

const run = (words: string, outputs = '>/dev/full') =>
  execa('sh', ['-c', `exec "$0" "$@" ${outputs}`, process.execPath, prospect, ...words.split(' ')], {
    env: { PROSPECT_HOME: home },
    reject: false,
    stdin: 'ignore',
  })

const full = () => {
  throw Object.assign(new Error('write ENOSPC'), { code: 'ENOSPC', syscall: 'write' })
}

const expectFull = ({ code, stderr }: Pick<CommandResult, 'code' | 'stderr'>) => {
  expect(code).toBe(10)
  expect(stderr).toMatch(/The output cannot be written: .*ENOSPC/)
  expect(stderr).not.toMatch(/bug|\n\s+at /)
}

it.each(['credits', 'accounts enrich --help', 'openapi', 'config set timeout 5', 'data export companies'])(
  'ends %s with exit code 10 and a sentence where the output is full, not as a bug',
  async (words) => {
    const given = { env: { PROSPECT_HOME: home }, onOutput: full, onErrorOutput: () => {} }
    expectFull(await command(words, given))
  },
)

describe.runIf(process.platform === 'linux')('an output that is full', () => {
  it.each(['--version', 'credits'])('ends the process of %s with exit code 10', async (words) => {
    const { exitCode, stderr } = await run(words)
    expectFull({ code: exitCode ?? 0, stderr })
  })

  it('ends with exit code 10 when stderr is full as well', async () => {
    expect((await run('credits', '>/dev/full 2>/dev/full')).exitCode).toBe(10)
    expect((await run('--version', '>/dev/full 2>/dev/full')).exitCode).toBe(10)
  })
})

describe('a path that the system refuses', () => {
  it('ends --api-key-file with a sentence that does not repeat all of a very long path', async () => {
    const long = 'a'.repeat(5_000)
    const { code, stderr } = await command(['credits', '--api-key-file', long], {
      env: { PROSPECT_HOME: home },
    })
    expect([code, stderr.length < 500]).toEqual([2, true])
    expect(stderr).toContain('name is too long')
  })
})
