import { execa } from 'execa'
import { beforeAll, describe, expect, it } from 'vitest'
import { type CommandResult, ends, machine } from '../../support/command.js'
import { perFile } from '../../support/each.js'
import { prospect } from '../../support/processes.js'

const here = perFile(machine)
beforeAll(() => here.json('init'))

const run = (words: string, outputs = '>/dev/full') =>
  execa('sh', ['-c', `exec "$0" "$@" ${outputs}`, process.execPath, prospect, ...words.split(' ')], {
    env: { PROSPECT_HOME: here.home },
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
    expectFull(await here.run(words, { onOutput: full, onErrorOutput: () => {} }))
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

it('ends --api-key-file with a sentence that does not repeat all of a very long path', async () => {
  const long = `credits --api-key-file ${'a'.repeat(5_000)}`
  const { stderr } = await ends(here.run(long), 2, 'name is too long')
  expect(stderr.length).toBeLessThan(500)
})
