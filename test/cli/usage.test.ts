import { describe, expect, it } from 'vitest'
import { answering, command, errorOf, keyed, machine } from '../support/command.js'
import { perTest } from '../support/each.js'
import { casesOf } from '../support/fixtures.js'

const here = perTest(machine)

/** What is typed, and a part of the message. */
const wrong = casesOf<readonly [string, string]>('cli/usage/wrong')

describe('a wrong command', () => {
  it.each(wrong)('exits 2 and says what to do for: %s', async (line, said) => {
    const { PROSPECT_API_KEY: _, ...env } = keyed(here.home)
    const ended = await command(line.split(' '), { env, caller: answering(), cwd: here.home })
    expect(ended.stderr).toContain(said)
    expect([ended.code, errorOf(ended).exit_code, ended.stdout]).toEqual([2, 2, ''])
  })

  it('prints a usage error in one line on a terminal', async () => {
    const { stderr, code } = await command(['acounts'], { terminal: true, columns: 120 })
    expect(stderr).toBe(
      'prospect has no command "acounts". Did you mean: prospect accounts? See: prospect --help\n',
    )
    expect(code).toBe(2)
  })

  it('refuses two formats', async () => {
    const { code, stderr } = await command(['credits', '--json', '--format', 'csv'])
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining('--json and --format csv cannot be used together.'),
    ])
  })

  it('prints a usage error as a sentence on a terminal also where the name of -o chooses no format, or JSON', async () => {
    for (const file of ['out.xls', 'out.json']) {
      const argv = ['accounts', 'enrich', 'acme-robotics.example', '--typo', '-o', file]
      const { stderr, code } = await command(argv, { terminal: true, columns: 120 })
      expect([code, stderr]).toEqual([2, 'Unknown option "--typo". Add --help to see what it takes.\n'])
    }
  })

  it('prints a usage error as one object with --json', async () => {
    expect(errorOf(await command(['acounts', '--json'], { terminal: true }))).toEqual({
      error: 'prospect has no command "acounts".',
      code: 'usage',
      status: null,
      exit_code: 2,
      hint: 'Did you mean: prospect accounts? See: prospect --help',
    })
  })

  it.each([
    ['--input', 'not JSON'],
    ['--input', '[1]'],
    ['--input', 'null'],
  ])('refuses %s with %s', async (option, stdin) => {
    const ended = await command(['accounts', 'enrich', option, '-'], {
      stdin,
      env: keyed(here.home),
      caller: answering(),
    })
    expect([ended.code, ended.stdout]).toEqual([2, ''])
  })

  it('never repeats the value of an unknown option', async () => {
    const { stderr, code } = await command(['credits', '--apikey=SecretValue1'])
    expect([code, stderr.includes('SecretValue1')]).toEqual([2, false])
  })
})
