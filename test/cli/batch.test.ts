import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Caller, Input } from '../../src/api/calls/caller.js'
import { type CommandResult, command, errorOf, type Given, keyed, machine } from '../support/command.js'
import { perTest } from '../support/each.js'

const here = perTest(machine)

/** A target that knows every domain but `nobody.example`, until `credits` are spent. */
function companies(credits = Number.POSITIVE_INFINITY): Caller & { readonly asked: Input[] } {
  const asked: Input[] = []
  let left = credits
  return {
    asked,
    call: async (_, input) => {
      asked.push(input)
      if (left === 0) return refusal(402, { error: 'Insufficient credits', code: 'insufficient_credits' })
      if (input.domain === 'nobody.example') return refusal(404, { error: 'No company found' })
      left--
      return { status: 200, body: { name: `=${input.domain}`, headcount: 7 }, headers: {}, credits: 1 }
    },
    close: async () => {},
  }
}

const refusal = (status: number, body: unknown) => ({ status, body, headers: {}, credits: 0 })

async function enrich(csv: string, argv: readonly string[] = [], given: Given = {}): Promise<CommandResult> {
  await writeFile(join(here.home, 'in.csv'), csv)
  const all = ['accounts', 'enrich', '--csv', 'in.csv', ...argv]
  return command(all, { env: keyed(here.home), cwd: here.home, caller: companies(), ...given })
}

const read = (name: string) => readFile(join(here.home, name), 'utf8')

describe('a batch', () => {
  it('keeps rows, order and columns, and appends the results and their status', async () => {
    const csv = 'Company Domain,note\na.example,1\nnobody.example,2\n,3\na.example,4\n'
    const ended = await enrich(csv, ['-o', 'out.csv', '--fields', 'name,headcount'])
    expect(await read('out.csv')).toBe(
      [
        'Company Domain,note,name,headcount,_status,_error,_credits,_source',
        "a.example,1,'=a.example,7,found,,1,lookup",
        'nobody.example,2,,,not_found,No company found,0,lookup',
        ',3,,,invalid,"""Company Domain"" is empty",0,',
        "a.example,4,'=a.example,7,found,,0,duplicate",
        '',
      ].join('\n'),
    )
    expect([ended.code, ended.stdout]).toEqual([11, ''])
  })

  it('exits 0 despite an invalid row with --fail-on none', async () => {
    expect((await enrich('domain\na.example\n""\n', ['--fail-on', 'none'])).code).toBe(0)
  })

  it('prints the column mapping and the counts of rows on stderr', async () => {
    const { stderr } = await enrich('Website,note\na.example,1\na.example,2\n', ['-o', 'out.csv'])
    expect(stderr).toMatch(/^domain +<- +"Website", such as a\.example$/m)
    expect(stderr).toContain('2 rows')
    expect(stderr).toContain('2 found · 1 of them a duplicate (not charged again) · 1 credit')
    expect(stderr).toContain(`Written to ${join(here.home, 'out.csv')}`)
  })

  it('prints nothing on stderr with --quiet', async () => {
    expect((await enrich('domain\na.example\n', ['--quiet'])).stderr).toBe('')
  })

  it('draws a table on a terminal, of the columns that were asked for or of a few', async () => {
    const shown = async (...options: string[]) => {
      const { stdout } = await enrich('domain,Notes\na.example,x\n', [...options, '--yes'], {
        terminal: true,
      })
      return stdout.split('\n').map((line) => line.split(/ {2,}/))
    }
    expect(await shown('--fields', 'name')).toEqual([
      ['Domain', 'Name', 'Status'],
      ['a.example', '=a.example', 'found'],
      [''],
    ])
    expect((await shown('--columns', 'Notes,name'))[1]).toEqual(['x', '=a.example'])
    expect((await shown())[0]?.slice(0, 2)).toEqual(['Domain', 'Name'])
    const [header] = await shown('--format', 'csv')
    expect(header?.[0]).toMatch(/^domain,Notes,id,name,/)
  })

  it('reads rows from stdin with --csv -', async () => {
    const argv = ['accounts', 'enrich', '--csv', '-', '--fields', 'name', '--json']
    const stdin = 'domain\na.example\n'
    const { stdout } = await command(argv, {
      env: keyed(here.home),
      cwd: here.home,
      caller: companies(),
      stdin,
    })
    expect(JSON.parse(stdout)).toEqual([
      {
        domain: 'a.example',
        name: '=a.example',
        _status: 'found',
        _error: null,
        _credits: 1,
        _source: 'lookup',
      },
    ])
  })

  it.each([
    ['out.ndjson', /^\{"domain":"a.example"/],
    ['out.json', /^\[\n\{"domain"/],
    ['out.tsv', /^domain\tname\t_status/],
  ])('writes %s in the format of its extension', async (name, start) => {
    await enrich('domain\na.example\n', ['-o', name, '--fields', 'name'])
    expect(await read(name)).toMatch(start)
  })

  it('writes a semicolon-separated file with a byte order mark with --excel', async () => {
    await enrich('domain\na.example\n', ['-o', 'out.csv', '--excel', '--fields', 'name'])
    expect(await read('out.csv')).toMatch(/^\ufeffdomain;name;_status/)
  })

  it('writes cells that start with = unescaped with --raw-csv', async () => {
    const { stdout } = await enrich('domain\na.example\n', ['--raw-csv', '--fields', 'name'])
    expect(stdout).toContain('a.example,=a.example,found')
  })

  it('sends country names as codes, and fields of options with every row', async () => {
    const caller = companies()
    await enrich('domain,country\na.example,Germany\n', ['--no-live'], { caller })
    expect(caller.asked).toEqual([{ domain: 'a.example', country: 'DE', live: false }])
  })

  it('maps columns as --map says, and with --map-only shows the mapping without a call', async () => {
    const caller = companies()
    const csv = 'domain,real\nx,a.example\n'
    const shown = await enrich(csv, ['--map', 'domain=real', '--map-only'], { caller })
    expect(JSON.parse(shown.stdout).columns).toEqual([
      { field: 'domain', column: 'real', at: 1, by: 'pin', sample: 'a.example' },
    ])
    expect([shown.code, caller.asked]).toEqual([0, []])
    await enrich(csv, ['--map', 'domain=real'], { caller })
    expect(caller.asked).toEqual([{ domain: 'a.example' }])
  })

  it('stops when the credits run out, and names the partial file with the answered rows', async () => {
    const rows = Array.from({ length: 40 }, (_, at) => `c${at}.example\n`).join('')
    const ended = await enrich(`domain\n${rows}`, ['-o', 'out.csv'], { caller: companies(10) })
    expect(ended.code).toBe(4)
    expect(ended.stderr).toContain('Insufficient credits. 30 rows are left.')
    expect(ended.stderr).toContain(`The rows answered so far are in ${join(here.home, 'out.csv.partial')}.`)
    expect((await read('out.csv.partial')).match(/,found,/g)).toHaveLength(10)
    await expect(stat(join(here.home, 'out.csv'))).rejects.toThrow()
  })

  it('makes no call when the file is not a table', async () => {
    for (const csv of ['', 'domain\n"unclosed\n', 'a,b\n1,2\n']) {
      const caller = companies()
      const ended = await enrich(csv, [], { caller })
      expect([csv, ended.code, caller.asked]).toEqual([csv, 2, []])
    }
  })

  it('refuses unknown --fields before any call', async () => {
    const caller = companies()
    const ended = await enrich('domain\na.example\n', ['--fields', 'headcout'], { caller })
    expect([ended.code, errorOf(ended).hint, caller.asked]).toEqual([2, 'Did you mean headcount?', []])
  })

  it('writes "1 row" in the singular', async () => {
    const { stderr } = await enrich('domain\na.example\n')
    expect(stderr).toMatch(/^1 row in .*: 1 found · 1 credit$/m)
  })

  it('writes CSV when the output has no extension', async () => {
    await enrich('domain\na.example\n', ['-o', 'enriched', '--fields', 'name'])
    expect(await read('enriched')).toMatch(/^domain,name,_status/)
  })

  it('keeps a partial file of an unknown run under another name, and says so', async () => {
    await writeFile(join(here.home, 'out.csv.partial'), 'first')
    const first = await enrich('domain\na.example\n', ['-o', 'out.csv'])
    await writeFile(join(here.home, 'out.csv.partial'), 'written again from the journal')
    const second = await enrich('domain\na.example\n', ['-o', 'out.csv'])
    expect(await read('out.csv.partial.1')).toBe('first')
    expect(first.stderr).toMatch(/^An earlier run left rows .* kept as .*out\.csv\.partial\.1$/m)
    expect(second.stderr).not.toContain('An earlier run left rows')
    expect(await read('out.csv')).toContain('found')
  })

  it('removes an empty partial file', async () => {
    await writeFile(join(here.home, 'out.csv.partial'), '')
    await enrich('domain\na.example\n', ['-o', 'out.csv'])
    expect((await readdir(here.home)).filter((name) => name.includes('partial'))).toEqual([])
  })

  it('says that a partial file is empty when nothing was answered', async () => {
    const ended = await enrich('domain\na.example\n', ['-o', 'out.csv'], { caller: companies(0) })
    expect([ended.code, await read('out.csv.partial')]).toEqual([4, ''])
    expect(ended.stderr).toContain(
      `Nothing was answered yet: ${join(here.home, 'out.csv.partial')} is empty.`,
    )
  })

  it('creates no runs folder when rows come from a file', async () => {
    await enrich('domain\na.example\n', ['-o', 'out.csv'])
    expect((await readdir(here.home)).filter((name) => name === 'runs')).toEqual([])
  })
})
