import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ends, type Machine, machine } from '../../../support/command.js'

let here: Machine
let script: string

beforeAll(async () => {
  here = machine()
  script = here.path('prospect.bash')
  const { stdout } = await ends(here.run('completion bash'), 0)
  writeFileSync(script, stdout)
})
afterAll(() => here.remove())

/** Returns what bash offers for the last word of a line. */
function offered(...words: string[]): string[] {
  const program = `
    prospect() { node "$PROSPECT_BIN" "$@"; }
    source "$0"
    COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
    complete -p prospect > /dev/null || exit 1
    $(complete -p prospect | sed 's/.*-F \\([^ ]*\\).*/\\1/')
    printf '%s\\n' "\${COMPREPLY[@]}"`
  const text = execFileSync('bash', ['-c', program, script, 'prospect', ...words], {
    encoding: 'utf8',
    env: { ...process.env, PROSPECT_HOME: here.home, PROSPECT_BIN: resolve('bin/prospect.js') },
  })
  return text.split('\n').filter((line) => line !== '')
}

describe('completion in bash', () => {
  it('offers what the program offers for the words before, and splits words at an equals sign', () => {
    expect(offered('acc')).toEqual(['accounts', 'account'])
    expect(offered('credits', '--format', '=', 'nd')).toEqual(['ndjson'])
  })

  it('goes on within a value with spaces, and after a comma', () => {
    expect(offered('leads', 'search', '--functions', 'Human\\ R')).toEqual(['Human\\ Resources'])
    expect(offered('contacts', 'waterfall', '--enrichment-type', 'email,')).toEqual([
      'email,phone',
      'email,personal_email',
    ])
  })

  it('leaves free values to the file completion of bash', () => {
    expect(offered('accounts', 'enrich', '--csv', '')).toEqual([])
  })
})

describe('completion', () => {
  const completed = async (...words: string[]) => {
    const { stdout } = await here.run(['__complete', ...words])
    return stdout
      .split('\n')
      .slice(0, -1)
      .map((line) => line.split('\t')[0])
  }

  it('completes areas', async () => {
    expect(await completed('acc')).toEqual(['accounts', 'account'])
    expect(await completed('')).toEqual(
      expect.arrayContaining(['accounts', 'engine', 'data', 'serve', 'commands']),
    )
  })

  it('completes commands and their subcommands', async () => {
    expect(await completed('accounts', 'en')).toEqual(['enrich'])
    expect(await completed('engine', 'clock', '')).toEqual(['show', 'set', 'advance', 'reset'])
    expect(await completed('engine', 'ledger', '')).toEqual(['verify'])
  })

  it('completes the options of a command and the global ones', async () => {
    expect(await completed('accounts', 'enrich', '--dom')).toEqual(['--domain'])
    expect(await completed('accounts', 'enrich', '--form')).toEqual(['--format'])
    expect(await completed('data', 'import', 'people', 'x.csv', '--enc')).toEqual(['--encoding'])
    expect(await completed('engine', 'ledger', '--b')).toEqual(expect.arrayContaining(['--by']))
    expect(await completed('accounts', 'search', '--prev')).toEqual(['--preview'])
  })

  it('completes known values of options and arguments', async () => {
    expect(await completed('credits', '--format', 'j')).toEqual(['json'])
    expect(await completed('credits', '--format', '=', 'nd')).toEqual(['ndjson'])
    expect(await completed('accounts', 'search', '--company-size', '5')).toEqual([
      '51-200',
      '501-1000',
      '5001-10000',
    ])
    expect(await completed('engine', 'ledger', '--by', '')).toEqual(['day', 'operation', 'member'])
    expect(await completed('data', 'import', 'p')).toEqual(['people', 'posts'])
    expect(await completed('completion', '')).toEqual(['bash', 'zsh', 'fish', 'powershell'])
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
      const found = await completed(...words, '')
      if (JSON.stringify(found) !== JSON.stringify(values)) unlike.push([...words, found])
    }
    expect(unlike).toEqual([])
  })

  it('completes names that an option takes beside ids, and other known words', async () => {
    expect(await completed('leads', 'search', '--seniority-levels', 'Dir')).toEqual(['Director'])
    expect(await completed('leads', 'advanced-search', '--functions', 'Sa')).toEqual(['Sales'])
    expect(await completed('accounts', 'headcount', '--departments', 'Sa')).toEqual(['Sales'])
    expect(await completed('accounts', 'search', '--included-industries', 'Software D')).toEqual([
      'Software Development',
    ])
    expect(await completed('profiles', 'add', 'x', '--plan', 'gr')).toEqual(['growth'])
    expect(await completed('engine', 'keys', 'create', '--scope', 'acc')).toEqual(['accounts', 'account'])
    expect(await completed('events', 'list', '--event', 'lead_search.c')).toEqual(['lead_search.completed'])
  })

  it('completes each value of a list', async () => {
    expect(await completed('contacts', 'waterfall', '--enrichment-type', 'email,ph')).toEqual(['email,phone'])
    expect(await completed('contacts', 'waterfall', '--enrichment-type=email,ph')).toEqual([
      '--enrichment-type=email,phone',
    ])
    expect(await completed('leads', 'search', '--seniority-levels', 'CXO,Dir')).toEqual(['CXO,Director'])
  })

  it('offers nothing for free values', async () => {
    expect(await completed('accounts', 'enrich', '--csv', '')).toEqual([])
    expect(await completed('data', 'import', 'people', '')).toEqual([])
    expect(await completed('credits', '-o', '')).toEqual([])
  })

  it('does not mistake the value of an option for a command', async () => {
    expect(await completed('engine', '--profile', 'x', 'clock', 'adv')).toEqual(['advance'])
  })
})

describe('completion scripts', () => {
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
    const env = { HOME: here.home }
    for (let time = 0; time < 2; time++) await here.run('completion zsh --install --yes', { env })
    expect(here.read('.zshrc').split('/.zfunc').length).toBe(2)
  })
})

describe('prospect __complete', () => {
  const lines = async (words: string) => (await here.run(`__complete ${words}`)).stdout.split('\n')

  it('describes what it offers', async () => {
    expect(await lines('accou')).toContain('account\tThe account behind the key')
  })

  it('completes a value in the same word as its option', async () => {
    expect(await lines('credits --format=nd')).toEqual(['--format=ndjson\t', ''])
  })

  it('offers the profiles of this machine', async () => {
    await here.run('profiles add team --local')
    expect(await lines('profiles use te')).toEqual(['team\t', ''])
    expect(await lines('credits --profile te')).toEqual(['team\t', ''])
  })

  it('offers the columns of the file on the command line', async () => {
    const file = here.path('crm.csv')
    writeFileSync(file, 'Company,Web site\nAcme,acme.example\n')
    const rest = `accounts enrich --csv ${file}`
    expect(await lines(`${rest} --map domain=W`)).toEqual(['domain=Web site\t', ''])
    expect(await lines(`${rest} --map domain = W`)).toEqual(['Web site\t', ''])
    expect(await lines(`${rest} --only-missing ""`)).toEqual(['Company\t', 'Web site\t', ''])
    expect(await lines('accounts enrich --csv none.csv --map domain=')).toEqual([''])
  })

  it('offers the plans, and the runs of this machine', async () => {
    expect(await lines('engine plan set sca')).toEqual(['scale\t', ''])
    expect(await lines('runs show ""')).toEqual([''])
    const file = here.path('run.csv')
    writeFileSync(file, 'domain\nacme.example\n')
    await here.run(`accounts enrich --csv ${file} -o out.csv`)
    const [run] = await here.json<{ id: string }[]>('runs list')
    expect(await lines('runs show ""')).toEqual([`${run?.id}\taccounts.enrich ${file}`, ''])
  })
})
