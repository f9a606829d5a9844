import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Machine, machine } from '../../../support/command.js'

let here: Machine
let script: string

beforeAll(async () => {
  here = machine()
  script = join(here.home, 'prospect.bash')
  const { code, stdout } = await here.run(['completion', 'bash'])
  expect(code).toBe(0)
  writeFileSync(script, stdout)
})
afterAll(() => here.remove())

/** What bash offers for the last word of a line, by its own machinery. */
function offered(...words: string[]): string[] {
  const program = `
    source "$0"
    COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
    complete -p prospect > /dev/null || exit 1
    $(complete -p prospect | sed 's/.*-F \\([^ ]*\\).*/\\1/')
    printf '%s\\n' "\${COMPREPLY[@]}"`
  const text = execFileSync('bash', ['-c', program, script, 'prospect', ...words], { encoding: 'utf8' })
  return text.split('\n').filter((line) => line !== '')
}

describe('completion in bash', () => {
  it('completes areas', () => {
    expect(offered('acc')).toEqual(['accounts', 'account'])
    expect(offered('')).toEqual(expect.arrayContaining(['accounts', 'engine', 'data', 'serve', 'commands']))
  })

  it('completes commands, also below commands', () => {
    expect(offered('accounts', 'en')).toEqual(['enrich'])
    expect(offered('engine', 'clock', '')).toEqual(['show', 'set', 'advance', 'reset'])
    expect(offered('engine', 'ledger', '')).toEqual(['verify'])
  })

  it('completes options, the own and the common ones', () => {
    expect(offered('accounts', 'enrich', '--dom')).toEqual(['--domain'])
    expect(offered('accounts', 'enrich', '--form')).toEqual(['--format'])
    expect(offered('data', 'import', 'people', 'x.csv', '--enc')).toEqual(['--encoding'])
    expect(offered('engine', 'ledger', '--b')).toEqual(expect.arrayContaining(['--by']))
    expect(offered('accounts', 'search', '--prev')).toEqual(['--preview'])
  })

  it('completes values where they are known', () => {
    expect(offered('credits', '--format', 'j')).toEqual(['json'])
    expect(offered('credits', '--format', '=', 'nd')).toEqual(['ndjson'])
    expect(offered('accounts', 'search', '--company-size', '5')).toEqual(['51-200', '501-1000', '5001-10000'])
    expect(offered('engine', 'ledger', '--by', '')).toEqual(['day', 'operation', 'member'])
    expect(offered('data', 'import', 'p')).toEqual(['people', 'posts'])
    expect(offered('completion', '')).toEqual(['bash', 'zsh', 'fish', 'powershell'])
  })

  it('leaves files to bash where a value is free', () => {
    expect(offered('accounts', 'enrich', '--csv', '')).toEqual([])
    expect(offered('data', 'import', 'people', '')).toEqual([])
    expect(offered('credits', '-o', '')).toEqual([])
  })

  it('does not take the value of an option for a command', () => {
    expect(offered('engine', '--profile', 'x', 'clock', 'adv')).toEqual(['advance'])
  })
})

describe('completion in other shells', () => {
  it.each([
    ['zsh', '#compdef prospect'],
    ['fish', 'complete -c prospect'],
    ['powershell', 'Register-ArgumentCompleter'],
  ])('in %s knows the same words', async (shell, sign) => {
    const { stdout } = await here.run(['completion', shell])
    expect(stdout).toContain(sign)
    for (const word of ['accounts', 'advance', 'company-size', '51-200', 'ndjson'])
      expect(stdout).toContain(word)
  })

  it.each([['tcsh'], [undefined]])('refuses %s', async (shell) => {
    expect((await here.run(['completion', ...(shell ? [shell] : [])])).code).toBe(2)
  })
})
