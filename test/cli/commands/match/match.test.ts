import { beforeEach, describe, expect, it } from 'vitest'
import { ends, machine } from '../../../support/command.js'
import { perTest } from '../../../support/each.js'

const here = perTest(machine)
beforeEach(() => {
  write('crm.csv', [
    'Record ID,Company name,Company Domain Name,Country/Region,LinkedIn Company Page',
    '1,Acme,acme.example,France,https://www.linkedin.com/company/acme',
    '2,Globex Inc.,globex.example,Germany,',
    '3,Initech GmbH,,Germany,',
    '4,Umbrella,,,',
  ])
  write('companies.csv', [
    'Company,Website,Country,Profile',
    'ACME SAS,https://www.acme.example/about,FR,',
    'Initech,,DE,',
    'Umbrella,,GB,',
    'Initech,,FR,',
    'Another Acme,acme.example,FR,linkedin.com/company/acme-two',
    ',,,',
  ])
})

const write = (name: string, lines: readonly string[]) => here.write(name, `${lines.join('\n')}\n`)
const read = (name: string) => here.read(name)
const match = (args: string) => here.run(`match ${args}`)

describe('prospect match', () => {
  it('writes which rows are in the other list, by what, where, and the columns to take', async () => {
    const { stderr } = await ends(match('companies.csv --with crm.csv --take "record id" -o out.csv'), 0)
    expect(read('out.csv').trimEnd().split('\n')).toEqual([
      'Company,Website,Country,Profile,_match,_match_by,_match_file,_match_line,record id',
      'ACME SAS,https://www.acme.example/about,FR,,yes,domain,crm.csv,2,1',
      'Initech,,DE,,yes,name,crm.csv,4,3',
      'Umbrella,,GB,,maybe,name,crm.csv,5,4',
      'Initech,,FR,,no,,,,',
      'Another Acme,acme.example,FR,linkedin.com/company/acme-two,maybe,domain,crm.csv,2,1',
      ',,,,no,,,,',
    ])
    expect(stderr).toMatch(/^6 rows in .*: 2 yes · 2 maybe · 2 no$/m)
    expect(stderr).toContain('Yes: 1 by domain, 1 by name\nMaybe: 1 by name, 1 by domain\n')
  })

  it.each([
    ['email,Website', 'jane.doe@acme.example,acme.example', 'people'],
    ['email,Website', 'info@acme.example,acme.example', 'companies'],
    ['Name,Website', 'Anna Schmidt,acme.example', 'people'],
    ['Name,Website', 'Acme Robotics,acme.example', 'companies'],
  ])('takes a file of %s for what its values say: %s', async (header, row, kind) => {
    write('rows.csv', [header, row])
    write('other.csv', [header, row])
    const { stderr } = await match('rows.csv --with other.csv -o out.csv')
    expect(stderr).toContain(`rows.csv: ${kind}`)
  })

  it('shows a table on a terminal, with the columns that were compared', async () => {
    const args = ['match', 'companies.csv', '--with', 'crm.csv', '--take', 'Record ID']
    const { code, stdout } = await here.run(args, { terminal: true })
    expect([code, stdout.split('\n')[0]?.split(/ {2,}/)]).toEqual([
      0,
      ['Match', 'Company', 'Website', 'Country', 'Profile', 'Match by', 'Record ID'],
    ])
    expect(stdout).toMatch(/^yes +ACME SAS .* 1$/m)
  })

  it('does not say which of two records a name means, unless they say the same in every column', async () => {
    write('twice.csv', [
      'Id,Company,Country',
      '1,Initech,DE',
      '2,Initech GmbH,Germany',
      '3,Umbrella,GB',
      '3,Umbrella,GB',
    ])
    await ends(match('companies.csv --with twice.csv --take Id -o out.csv'), 0)
    expect(read('out.csv').split('\n').slice(2, 4)).toEqual([
      'Initech,,DE,,maybe,name,twice.csv,2; 3,',
      'Umbrella,,GB,,yes,name,twice.csv,4,3',
    ])
    write('people.csv', ['Name,Company,Phone', 'Ann Lee,Acme,1', 'Bo Ångström,Acme,', 'Cy Roe,Acme,'])
    write('contacts.csv', [
      'Full name,Company,Work phone,Email',
      'Ann Lee,Acme,+33612345678,',
      'ANN LEE,Acme Inc.,+33612345679,',
      'Bo Angstroem,Acme,,',
      'Cy Roe,Acme,,cy@acme.example',
      'Cy Roe,Acme,,roe@acme.example',
    ])
    await ends(match('people.csv --with contacts.csv -o out.csv'), 0)
    expect(here.rows('out.csv').map(({ _match, _match_line }) => [_match, _match_line])).toEqual([
      ['maybe', '2; 3'],
      ['yes', '4'],
      ['maybe', '5; 6'],
    ])
  })

  it('names the record with the same name among those that share a domain or a mailbox', async () => {
    write('group.csv', ['Id,Company,Website', '1,Acme Germany,acme.example', '2,Acme France,acme.example'])
    write('asked.csv', ['Company,Website', 'ACME France SAS,www.acme.example', 'Acme Spain,acme.example'])
    await ends(match('asked.csv --with group.csv --take Id -o out.csv'), 0)
    expect(here.rows('out.csv').map(({ _match, Id }) => [_match, Id])).toEqual([
      ['yes', '2'],
      ['yes', '1'],
    ])
    write('people.csv', ['Name,Company,Email', 'Bo Roe,Acme,info@acme.example'])
    write('crm.csv', [
      'Id,Name,Company,Email',
      '1,Ann Lee,Acme,info@acme.example',
      '2,Bo Roe,Acme,info@acme.example',
    ])
    await ends(match('people.csv --with crm.csv --take Id -o out.csv'), 0)
    expect(here.rows('out.csv')[0]).toMatchObject({ _match: 'yes', Id: '2' })
  })

  it('finds a company that many people of a list of contacts work at', async () => {
    write('contacts.csv', [
      'First name,Last name,Company,Country,Email',
      'Ann,Lee,Initech,Germany,ann@gmail.com',
      'Bo,Roe,Initech GmbH,DE,bo@gmail.com',
    ])
    await ends(match('companies.csv --with contacts.csv -o out.csv'), 0)
    expect(here.rows('out.csv')[1]).toMatchObject({ _match: 'yes', _match_by: 'name', _match_line: '2' })
  })

  it('takes the first list that surely has a row before one that may have it', async () => {
    write('other.csv', ['name,domain,country', 'Umbrella,umbrella.example,GB'])
    const { json } = await match('companies.csv --with crm.csv --with other.csv --json')
    expect((json as object[])[2]).toMatchObject({ _match: 'yes', _match_file: 'other.csv', _match_line: 2 })
  })

  it('compares with the catalogue, and with a list by its name', async () => {
    const stdin = 'name,domain,country\nAcme,acme.example,FR\n'
    await here.fill('companies', stdin)
    await here.run(`lists create --name Mine --companies '[{"name":"Initech","country_code":"DE"}]' --wait`)
    const { json, stderr } = await match(
      'companies.csv --with catalogue --with list:Mine --take domain --json',
    )
    expect((json as object[]).slice(0, 2)).toMatchObject([
      { _match: 'yes', _match_file: 'catalogue', _match_line: null, domain: 'acme.example' },
      { _match: 'yes', _match_file: 'list:Mine', _match_by: 'name' },
    ])
    expect(stderr).toContain('catalogue: 1 row')
  })

  it('reads a list from stdin, writes a workbook and the counts as JSON, and overwrites what it wrote before', async () => {
    const stdin = read('companies.csv')
    await ends(here.run('match - --with crm.csv -o out.xlsx --summary-json counts.json', { stdin }), 0)
    expect(JSON.parse(read('counts.json'))).toMatchObject({
      kind: 'companies',
      rows: 6,
      yes: 2,
      maybe: 2,
      no: 2,
      by: { domain: 1, name: 1 },
      not_compared: 0,
      with: [{ name: 'crm.csv', rows: 4 }],
      exit_code: 0,
      files: { input: '-' },
    })
    const again = await match('out.xlsx --with crm.csv')
    expect(again.stdout.split('\n').slice(0, 2)).toEqual([
      'Company,Website,Country,Profile,_match,_match_by,_match_file,_match_line',
      'ACME SAS,https://www.acme.example/about,FR,,yes,domain,crm.csv,2',
    ])
  })

  it('says that a row is suppressed, also where only its row in the other list says who it is, and copies nothing', async () => {
    write('people.csv', [
      'First name,Last name,Company,Email',
      'Ada,Love,Acme,',
      'Bob,Smith,,bob@acme.example',
    ])
    write('crm-people.csv', [
      'First name,Last name,Company,Email,Id',
      'Ada,Love,Acme,ada@acme.example,1',
      'Bob,Smith,,bob@acme.example,2',
    ])
    await here.run('suppress add ada@acme.example bob@acme.example')
    const taking = 'people.csv --with crm-people.csv --take Email,Id --format tsv'
    const { stdout, stderr } = await match(taking)
    expect(
      stdout
        .split('\n')
        .slice(1, 3)
        .map((line) => line.split('\t').slice(4).join(' ').trim()),
    ).toEqual(['suppressed', 'suppressed'])
    expect(stderr).toContain('0 yes · 0 maybe · 0 no · 2 suppressed')
  })

  it('does not compare a row with too many cells, keeps it, and ends with 11', async () => {
    write('short.csv', ['Company,Website', 'Acme,acme.example,x', 'Acme,acme.example'])
    const { code, stdout, stderr } = await match('short.csv --with crm.csv')
    expect([code, stdout.split('\n')[1]]).toEqual([11, 'Acme,acme.example,,,,'])
    expect(stderr).toContain('The row on line 2 has more cells than the header, and was not compared.')
    expect((await match('short.csv --with crm.csv --fail-on none')).code).toBe(0)
  })
})

const verdicts = () => read('out.csv').match(/(?:yes|maybe|no),(?:domain|name|email|profile)?(?=,)/g)

it('compares companies with a list whose column of profiles is empty', async () => {
  write('ours.csv', ['name,domain,network_url', 'Acme,acme.example,', 'Globex,globex.example,'])
  write('theirs.csv', ['name,domain', 'ACME,www.acme.example', 'Other,other.example'])
  for (const [file, known] of [
    ['theirs.csv', 'ours.csv'],
    ['ours.csv', 'theirs.csv'],
  ] as const) {
    await ends(match(`${file} --with ${known} -o out.csv`), 0)
    expect(verdicts()).toEqual(['yes,domain', 'no,'])
  }
})

it('compares people with a list whose column of profiles is empty', async () => {
  write('ours.csv', ['name,email,network_url', 'Ada One,ada@acme.example,', 'Bo Two,bo@acme.example,'])
  write('theirs.csv', ['email', 'ADA@acme.example', 'other@acme.example'])
  await ends(match('theirs.csv --with ours.csv -o out.csv'), 0)
  expect(verdicts()).toEqual(['yes,email', 'no,'])
})
