import { describe, expect, it } from 'vitest'
import { machine } from '../../support/command.js'
import { perTest } from '../../support/each.js'

const here = perTest(async () => {
  const own = machine()
  await own.json('init')
  return own
})

/** Imports a file, and returns how that ended and who is suppressed then. */
async function imported(rows: readonly string[], options = '') {
  here.write('list.csv', rows.join('\n'))
  const { code, stderr } = await here.run(`suppress import list.csv ${options}`)
  const list = await here.json<{ kind: string; value: string }[]>('suppress list')
  return { code, stderr, entries: list.map(({ kind, value }) => `${kind} ${value}`).sort() }
}

const people = [
  'Email,Company,Domain',
  'jane@acme.example,Acme,acme.example',
  ',Globex,globex.example',
  'info@zorx.example,Zorx,zorx.example',
]

describe('suppress import of a file with addresses, companies and domains', () => {
  it('suppresses a person with all the addresses and numbers that the columns have', async () => {
    const { entries } = await imported([
      'Email,Email 2,Mobil,Telefon',
      'jane@acme.example,jane@home.example,+33612345678,+4930123456',
    ])
    expect(entries).toEqual([
      'email jane@acme.example',
      'email jane@home.example',
      'phone +33612345678',
      'phone +4930123456',
    ])
  })

  it('suppresses people whose position stands behind their name, and says which rows are nobody', async () => {
    const { entries, stderr } = await imported([
      'Ansprechpartner;Firma;Domain',
      'Lenya Hertel, CEO;Acme;acme.example',
      'Hr. Zaché Denis (Einkauf);Globex;globex.example',
      'HERTEL Lenya;Zorx;zorx.example',
      'Sales Team;Initech;initech.example',
    ])
    expect(entries).toEqual([
      'person Lenya HERTEL at Zorx',
      'person Lenya HERTEL at zorx.example',
      'person Lenya Hertel at Acme',
      'person Lenya Hertel at acme.example',
      'person Zaché Denis at Globex',
      'person Zaché Denis at globex.example',
    ])
    expect(stderr).toContain('1 row identifies nobody, the first in line 5.')
  })

  it.each(['Betreuer', 'Kollege', 'ADM', 'Key Account'])(
    'suppresses a person at their company, and not whoever looks after them: %s',
    async (column) => {
      const { entries } = await imported([
        `Vorname;Nachname;Firma;${column}`,
        'Lenya;Hertel;Acme Robotics;kam@birchwood.example',
      ])
      expect(entries).toEqual(['person Lenya Hertel at Acme Robotics'])
    },
  )

  it.each(['Telefon Betreuer', 'Owner mobile', 'Rep phone', 'Telefon Zentrale', 'Spouse phone'])(
    'leaves out numbers at which somebody else answers: %s',
    async (column) => {
      const { entries } = await imported([
        `Vorname;Nachname;Firma;${column}`,
        'Arlene;Gerhold;Fjordkraft Systems;+49 30 5551001',
      ])
      expect(entries).toEqual(['person Arlene Gerhold at Fjordkraft Systems'])
    },
  )

  it('suppresses the number of a row that has a name beside it', async () => {
    const { entries } = await imported(['Telefon,Name', '+49 30 5557788,Zaran Forkel'])
    expect(entries).toEqual(['phone +49305557788'])
  })

  it('suppresses a person at the company of the row and at that of their address, where it is another', async () => {
    const { entries } = await imported([
      'Name;Company;Email',
      'Lenya Hertel;Acme Robotics;lenya@hertel.example',
    ])
    expect(entries.toSorted()).toEqual([
      'email lenya@hertel.example',
      'person Lenya Hertel at Acme Robotics',
      'person Lenya Hertel at hertel.example',
    ])
  })

  it('suppresses a person at their company, and not at its hoster', async () => {
    const { entries } = await imported([
      'Vorname;Nachname;Firma;Hoster',
      'Arlene;Gerhold;Fjordkraft Systems;hetzner.example',
    ])
    expect(entries).toEqual(['person Arlene Gerhold at Fjordkraft Systems'])
  })

  it('suppresses the person of a row, and the company of one without a person', async () => {
    expect(await imported(people)).toMatchObject({
      code: 0,
      entries: [
        'domain globex.example',
        'domain zorx.example',
        'email info@zorx.example',
        'email jane@acme.example',
      ],
    })
    expect((await here.run('suppress check jane@acme.example')).code).toBe(13)
    expect((await here.run('suppress check bob@acme.example')).code).toBe(0)
  })

  it('suppresses only companies, or only people, with --kind', async () => {
    expect((await imported(people, '--kind companies')).entries).toEqual([
      'domain acme.example',
      'domain globex.example',
      'domain zorx.example',
    ])
    await here.run('suppress remove acme.example')
    const second = await imported(people, '--kind people')
    expect(second.code).toBe(11)
    expect(second.stderr).toContain('1 row identifies nobody, the first in line 3.')
    expect(second.entries).toContain('email jane@acme.example')
    expect(second.entries).not.toContain('domain acme.example')
  })

  it('reads the columns that --map names, and refuses others', async () => {
    const rows = ['a,b,c', 'jane@acme.example,bob@acme.example,globex.example']
    expect((await imported(rows, '--map email=b')).entries).toEqual(['email bob@acme.example'])
    expect((await imported(rows, '--kind companies --map domain=c')).entries).toContain(
      'domain globex.example',
    )
    expect(await imported(rows, '--map email=nope')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('nope'),
    })
    expect(await imported(rows, '--map foo=a')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('foo'),
    })
  })

  it('reads every column with numbers of people, with the country of the row, and says which it cannot read', async () => {
    const all = await imported([
      'First name;Last name;Company;Mobile;Phone;Work phone;Country;Email',
      'Jane;Doe;Acme GmbH;+33 6 12 34 56 78;030 7654321;+49 30 1;Deutschland;',
      'Bob;Roe;;0612345678;;;;bob@acme.example',
    ])
    expect(all).toMatchObject({
      code: 11,
      stderr: expect.stringContaining('1 phone number was not understood, the first in line 3'),
      entries: [
        'email bob@acme.example',
        'person Bob Roe at acme.example',
        'person Jane Doe at Acme GmbH',
        'phone +33612345678',
        'phone +49307654321',
      ],
    })
    expect(all.stderr).not.toContain('could be phone too')
    for (const who of ['jane doe at ACME', 'tel:+49-30-7654321'])
      expect((await here.run(['suppress', 'check', who])).code).toBe(13)
    await here.fill('people', JSON.stringify([{ full_name: 'Ann Able', email: 'ann@acme.example' }]))
    // A name at a company keeps them out, however the company is written.
    here.write('q.csv', 'full_name,company_name\nJane Doe,"Acme, Inc."\n')
    expect(await here.json('data import people q.csv')).toMatchObject({ added: 0, suppressed: 1 })
  })
})
