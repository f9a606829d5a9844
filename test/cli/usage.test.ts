import { mkdirSync, readdirSync } from 'node:fs'
import { beforeAll, describe, expect, it } from 'vitest'
import { command, errorOf, type Given, stockedMachine } from '../support/command.js'
import { perFile } from '../support/each.js'
import { casesOf } from '../support/fixtures.js'
import { workbookOfRows } from '../support/workbooks.js'

/** A machine with a workspace and files, none of which a refused command changes. */
const there = perFile(stockedMachine)
const files: Readonly<Record<string, string | Uint8Array>> = {
  'companies.csv': 'Company,Website,Land\nA,a.example,France\nB,b.example,\n',
  'people.csv': 'First Name,Last Name,Company,LinkedIn\nAda,L,A,https://www.linkedin.com/in/ada\n',
  'crm.csv': 'Record ID,Company name,Company Domain Name\n1,Acme,acme.example\n',
  'phones.csv': 'phone_number\n+33612345678\n',
  'odd.csv': 'a,b\n1,2\n',
  'blank.csv': 'name\n" "\n',
  'empty.csv': '',
  'open.csv': 'domain\n"unclosed\n',
  'torn.csv': Buffer.from([...Buffer.from('company,domain\nPlat'), 0xec, ...Buffer.from(',a.example\n')]),
  'text.db': 'not a database'.repeat(100),
  'faults.txt': 'credits --status 500\n',
  'wrong.yaml': 'name: wrong\nbase_url: nowhere\n',
  'book.xlsx': workbookOfRows([['Website'], ['a.example']]),
  'old.xls': Buffer.concat([Buffer.from('d0cf11e0a1b11ae1', 'hex'), Buffer.alloc(2_048)]),
  'in.csv.gz': Buffer.from([0x1f, 0x8b, 8, 0]),
  'in.pdf': '%PDF-1.7\n',
}
beforeAll(async () => {
  await there.json('runs list')
  for (const [name, text] of Object.entries(files)) there.write(name, text, 0o600)
  there.write('open.secret', 'whsec_AAAA', 0o644)
  mkdirSync(there.path('folder'))
})

describe('a wrong command', () => {
  it.each(casesOf<[string, string | string[], Given?]>('cli/usage/refused'))(
    'exits 2 and says what to do for: %s',
    async (line, says, given = {}) => {
      const { code, stdout, stderr } = await there.run(line, given)
      const said = stderr.replaceAll(/\s+/g, ' ').replaceAll(`${there.home}/`, '')
      for (const part of [says].flat()) expect(said).toContain(part)
      expect([code, stdout]).toEqual([2, ''])
      expect(stderr).not.toMatch(/secret@|=secret|whsec_AAAA/)
    },
  )

  it('sends, spends and writes nothing', async () => {
    expect([await there.balance(), await there.json('runs list')]).toEqual([1_000, []])
    expect(await there.json('engine jobs list')).toEqual([])
    const own = /\.db(-\w+)?$|\.json$|^(locks|runs)$/
    const left = readdirSync(there.home).filter((name) => !own.test(name))
    expect(left.sort()).toEqual(
      [...Object.keys(files).filter((name) => !own.test(name)), 'folder', 'open.secret'].sort(),
    )
  })

  it.each([
    'engine keys revoke no-such-id',
    'engine members set nobody@b.co --weekly-limit 1',
    'engine keys create --member nobody@b.co',
  ])('exits 9 where there is none of that name, as other commands do: %s', async (line) => {
    const { code, stdout, stderr } = await there.run(line)
    expect([code, stdout, stderr]).toEqual([9, '', expect.stringMatching(/^There is no (valid key|member) /)])
  })

  it('prints a usage error in one line on a terminal', async () => {
    const { stderr, code } = await command('acounts', { terminal: true, columns: 120 })
    expect(stderr).toBe(
      'prospect has no command "acounts". Did you mean: prospect accounts? See: prospect --help\n',
    )
    expect(code).toBe(2)
  })

  it('prints a usage error as a sentence on a terminal also where the name of -o chooses no format, or JSON', async () => {
    for (const file of ['out.xls', 'out.json']) {
      const argv = `accounts enrich acme-robotics.example --typo -o ${file}`
      const { stderr, code } = await command(argv, { terminal: true, columns: 120 })
      expect([code, stderr]).toEqual([2, 'Unknown option "--typo". Add --help to see what it takes.\n'])
    }
  })

  it.each(['', '-o out.json', '--jq .name', '--format csv', '--format nothing'])(
    'prints its error as a sentence also where stderr is no terminal: %s',
    async (more) => {
      const { code, stderr } = await there.run(`accounts enrich --domain a.example --no-tpyo ${more}`)
      expect([code, stderr]).toEqual([2, expect.stringMatching(/^[^{\n]+ --help to see what it takes\.\n$/)])
    },
  )

  it.each(['--json', '--format json', '--format=ndjson'])(
    'prints its error as one object where JSON is asked for: %s',
    async (more) => {
      const ended = await there.run(`runs show nobody ${more}`)
      expect(errorOf(ended)).toMatchObject({ code: 'not_found', exit_code: ended.code, status: null })
    },
  )

  it('prints its error as the setting says on a terminal, and as a sentence elsewhere', async () => {
    await there.json('profiles add machine-readable')
    const env = { PROSPECT_PROFILE: 'machine-readable' }
    await there.run('config set format json', { env })
    for (const line of ['runs show nobody', 'runs shwo']) {
      expect(errorOf(await there.run(line, { env, terminal: true }))).toHaveProperty('exit_code')
      expect((await there.run(line, { env })).stderr).not.toContain('exit_code')
    }
  })

  it('prints a usage error as one object with --json', async () => {
    expect(errorOf(await command('acounts --json', { terminal: true }))).toEqual({
      error: 'prospect has no command "acounts".',
      code: 'usage',
      status: null,
      exit_code: 2,
      hint: 'Did you mean: prospect accounts? See: prospect --help',
    })
  })
})
