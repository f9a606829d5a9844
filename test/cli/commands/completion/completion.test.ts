import { execFileSync } from 'node:child_process'
import { resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type Line, stockedMachine, wordsOf } from '../../../support/command.js'
import { perFile } from '../../../support/each.js'

const here = perFile(stockedMachine)

/** Returns what bash offers for the last word of a line. */
async function offered(...words: string[]) {
  here.write('prospect.bash', (await here.run('completion bash')).stdout)
  const program = `
    prospect() { node "$PROSPECT_BIN" "$@"; }
    source "$0"
    COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
    complete -p prospect > /dev/null || exit 1
    $(complete -p prospect | sed 's/.*-F \\([^ ]*\\).*/\\1/')
    printf '%s\\n' "\${COMPREPLY[@]}"`
  const text = execFileSync('bash', ['-c', program, here.path('prospect.bash'), 'prospect', ...words], {
    encoding: 'utf8',
    env: { ...process.env, PROSPECT_HOME: here.home, PROSPECT_BIN: resolve('bin/prospect.js') },
  })
  return text.split('\n').filter((line) => line !== '')
}

describe('completion in bash', () => {
  it('offers what the program offers for the words before, and splits words at an equals sign', async () => {
    expect(await offered('acc')).toEqual(['accounts', 'account'])
    expect(await offered('credits', '--format', '=', 'nd')).toEqual(['ndjson'])
  })

  it('goes on within a value with spaces, and after a comma', async () => {
    expect(await offered('leads', 'search', '--functions', 'Human\\ R')).toEqual(['Human\\ Resources'])
    expect(await offered('contacts', 'waterfall', '--enrichment-type', 'email,')).toEqual([
      'email,phone',
      'email,personal_email',
    ])
  })

  it('leaves free values to the file completion of bash', async () => {
    expect(await offered('accounts', 'enrich', '--csv', '')).toEqual([])
  })
})

/** Returns what the program offers for the last word of a line. */
const offers = async (line: Line) =>
  (await here.run(['__complete', ...wordsOf(line)])).stdout
    .split('\n')
    .slice(0, -1)
    .map((offer) => offer.split('\t')[0])

describe('completion', () => {
  it.each([
    ['acc', 'accounts|account'],
    ['accounts en', 'enrich'],
    ['engine clock ""', 'show|set|advance|reset'],
    ['accounts enrich --dom', '--domain'],
    ['credits --format j', 'json'],
    ['credits --format = nd', 'ndjson'],
    ['credits --format=nd', '--format=ndjson'],
    ['accounts search --company-size 5', '51-200|501-1000|5001-10000'],
    ['data import p', 'people|posts'],
    ['completion ""', 'bash|zsh|fish|powershell'],
    ['leads search --seniority-levels Dir', 'Director'],
    ['accounts search --included-industries "Software D"', 'Software Development'],
    ['profiles add x --plan gr', 'growth'],
    ['engine keys create --scope acc', 'accounts|account'],
    ['events list --event lead_search.c', 'lead_search.completed'],
    ['contacts waterfall --enrichment-type email,ph', 'email,phone'],
    ['contacts waterfall --enrichment-type=email,ph', '--enrichment-type=email,phone'],
    ['leads search --seniority-levels CXO,Dir', 'CXO,Director'],
    ['accounts enrich --csv ""', ''],
    ['data import people ""', ''],
    ['providers --profile x ord', 'order'],
  ])('offers for %s: %s', async (line, offered) => {
    expect((await offers(line)).join('|')).toBe(offered)
  })

  it('offers everything where nothing is typed yet, and says what it is', async () => {
    expect(await offers('""')).toEqual(
      expect.arrayContaining(['accounts', 'engine', 'data', 'serve', 'commands']),
    )
    expect((await here.run('__complete accou')).stdout).toContain('account\tThe account behind the key\n')
  })

  it('completes the values of every option that lists them', async () => {
    type Listed = {
      readonly command: string
      readonly flag?: string
      readonly options: readonly { readonly name: string; readonly values?: readonly string[] }[]
    }
    const commands = await here.json<readonly Listed[]>('commands')
    const pairs = commands.flatMap(({ command, flag, options }) =>
      options.flatMap(({ name, values }) =>
        values ? [{ words: [...command.split(' '), ...(flag ? [`--${flag}`] : []), name], values }] : [],
      ),
    )
    expect(pairs.length).toBeGreaterThan(100)
    const unlike = []
    for (const { words, values } of pairs) {
      const found = await offers([...words, ''])
      if (JSON.stringify(found) !== JSON.stringify(values)) unlike.push([...words, found])
    }
    expect(unlike).toEqual([])
  })

  it('offers the profiles of this machine', async () => {
    await here.run('profiles add team')
    expect(await offers('profiles use te')).toEqual(['team'])
    expect(await offers('credits --profile te')).toEqual(['team'])
  })

  it('offers the columns of the file on the command line', async () => {
    here.write('crm.csv', 'Company,Web site\nAcme,acme.example\n')
    const rest = `accounts enrich --csv ${here.path('crm.csv')}`
    expect(await offers(`${rest} --map domain=W`)).toEqual(['domain=Web site'])
    expect(await offers(`${rest} --map domain = W`)).toEqual(['Web site'])
    expect(await offers(`${rest} --only-missing ""`)).toEqual(['Company', 'Web site'])
    expect(await offers('accounts enrich --csv none.csv --map domain=')).toEqual([])
  })

  it('offers the runs of this machine', async () => {
    expect(await offers('runs show ""')).toEqual([])
    const file = here.path('run.csv')
    here.write('run.csv', 'domain\nacme.example\n')
    await here.run(`accounts enrich --csv ${file} -o out.csv`)
    const [run] = await here.json<{ id: string }[]>('runs list')
    expect((await here.run('__complete runs show ""')).stdout).toBe(`${run?.id}\taccounts.enrich ${file}\n`)
  })
})

it.each([
  ['bash', 'complete -o default -F _prospect prospect'],
  ['zsh', '#compdef prospect'],
  ['fish', 'complete -c prospect'],
  ['powershell', 'Register-ArgumentCompleter'],
])('prints a script for %s that asks the program', async (shell, sign) => {
  const { stdout } = await here.run(['completion', shell])
  expect(stdout).toContain(sign)
  expect(stdout).toContain('prospect __complete')
})

describe('completion --install', () => {
  it.each([
    ['bash', '.local/share/bash-completion/completions/prospect'],
    ['zsh', '.zfunc/_prospect'],
    ['fish', '.config/fish/completions/prospect.fish'],
  ])('puts the script of %s into place', async (shell, path) => {
    const env = { HOME: here.home }
    const unasked = await here.run(['completion', shell, '--install'], { env })
    expect([unasked.code, here.exists(path)]).toEqual([2, false])
    const { code } = await here.run(['completion', shell, '--install', '--yes'], { env })
    const { stdout } = await here.run(['completion', shell])
    expect([code, here.read(path)]).toEqual([0, stdout])
  })

  it('adds the lines for zsh once', async () => {
    const env = { HOME: resolve(here.home, 'other') }
    for (let time = 0; time < 2; time++) await here.run('completion zsh --install --yes', { env })
    expect(here.read('other/.zshrc').split('/.zfunc').length).toBe(2)
  })
})
