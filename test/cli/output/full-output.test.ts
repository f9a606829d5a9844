import { execa } from 'execa'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { folder, removed } from '../../support/command.js'
import { prospect } from '../../support/processes.js'

let home = ''
beforeAll(async () => {
  home = await folder()
  await execa(process.execPath, [prospect, 'init'], { env: { PROSPECT_HOME: home } })
})
afterAll(() => removed(home))

const run = (words: string, outputs = '>/dev/full') =>
  execa('sh', ['-c', `exec "$0" "$@" ${outputs}`, process.execPath, prospect, ...words.split(' ')], {
    ...{ env: { PROSPECT_HOME: home }, reject: false, stdin: 'ignore' },
  })

describe.runIf(process.platform === 'linux')('an output that is full', () => {
  it.each(['--help', '--version', 'credits', 'accounts enrich --help', 'openapi', 'config set timeout 5'])(
    'ends %s with exit code 10 and a sentence, not as a bug',
    async (words) => {
      const { exitCode, stderr } = await run(words)
      expect(exitCode).toBe(10)
      expect(stderr).toMatch(/The output cannot be written: .*ENOSPC/)
      expect(stderr).not.toMatch(/bug|\n\s+at /)
    },
  )

  it('ends with exit code 10 when stderr is full as well', async () => {
    expect((await run('credits', '>/dev/full 2>/dev/full')).exitCode).toBe(10)
    expect((await run('--version', '>/dev/full 2>/dev/full')).exitCode).toBe(10)
  })
})

describe('a path that the system refuses', () => {
  it('ends --api-key-file with a sentence that does not repeat all of a very long path', async () => {
    const long = 'a'.repeat(5_000)
    const { exitCode, stderr } = await execa(
      process.execPath,
      [prospect, 'credits', '--api-key-file', long],
      {
        ...{ env: { PROSPECT_HOME: home }, reject: false, stdin: 'ignore' },
      },
    )
    expect([exitCode, stderr.length < 500]).toEqual([2, true])
    expect(stderr).toContain('name is too long')
  })
})
