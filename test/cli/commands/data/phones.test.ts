import { describe, expect, it } from 'vitest'
import { ends, machine } from '../../../support/command.js'
import { perTest } from '../../../support/each.js'

const here = perTest(machine)

interface Report {
  readonly mapping: Readonly<Record<string, string>>
  readonly ignored: readonly string[]
  readonly not_understood: readonly { readonly field: string; readonly values: number }[]
}

/** Imports a file. Returns what is said of it, and the phones of its records by their names. */
async function load(kind: 'companies' | 'people', text: string, ...options: string[]) {
  here.write('file.csv', text)
  const { json, stderr } = await ends(here.run(['data', 'import', kind, 'file.csv', '--json', ...options]), 0)
  const stored = await here.json<Record<string, unknown>[]>(`data export ${kind}`)
  const phones = stored.map(({ name, first_name, phone, phones }) => [name ?? first_name, phone ?? phones])
  return { report: json as Report, stderr, stored, phones: Object.fromEntries(phones) }
}

describe('the phones of imported companies', () => {
  it.each([
    ['+49 30 123456', 'D', '+4930123456'],
    ['030 1234567', 'Deutschland', '+49301234567'],
    ['tel:+49301234567', '', '+49301234567'],
    ['0049 30 1234567', '', '+49301234567'],
    ['＋４９３０１２３４５６７', '', '+49301234567'],
    ["'+33612345678", '', '+33612345678'],
    ['+1 (212) 555-0100 ext 5', '', '+12125550100'],
    ['+7 8 495 123 45 67', '', '+74951234567'],
  ])('that are written as %j, in %j, are stored as %j', async (written, country, number) => {
    const { phones, report } = await load(
      'companies',
      `name,domain,country,phone\nAcme,acme.example,${country},${written}\n`,
    )
    expect([phones, report.not_understood]).toEqual([{ Acme: number }, []])
  })

  it('are left out and counted where they are not certain, and the companies stay', async () => {
    const cells = [
      '1e9',
      '999',
      '0011 33 6 12 34 56 78',
      '009 49 30 1234567',

      '030 1234567',
      '+33612345678 / 79',
    ]
    const { phones, report, stored } = await load(
      'companies',
      `name,domain,phone\n${cells.map((cell, at) => `C${at},c${at}.example,${cell}\n`).join('')}`,
    )
    expect(stored).toHaveLength(6)
    expect(Object.values(phones).filter((phone) => typeof phone === 'string')).toEqual([])
    expect(report.not_understood).toEqual([{ field: 'phone', values: 6, sample: '1e9' }])
  })

  it('are one for each: the first of a list, and the others are counted', async () => {
    const { phones, report } = await load(
      'companies',
      'name,domain,phone\nAcme,acme.example,+33612345678; +33612345677\nBirch,birch.example,n/a\n',
    )
    expect([phones.Acme, report.not_understood]).toEqual([
      '+33612345678',
      [{ field: 'phone', values: 1, sample: '+33612345677' }],
    ])
  })
})

describe('the phones of imported people', () => {
  it('that a link with parameters or a list of Google names are read as in a batch', async () => {
    const { phones, report } = await load(
      'people',
      'First Name,Email,Phone\nAda,ada@acme.example,tel:+33612345678;ext=5\nBo,bo@acme.example,+33612345678 ::: +33612345677\n',
    )
    expect([phones, report.not_understood]).toEqual([
      { Ada: ['+33612345678'], Bo: ['+33612345678', '+33612345677'] },
      [],
    ])
  })

  const outlook = [
    'First Name,Last Name,Company,Business Phone,Mobile Phone,Business Fax,Company Phone,E-mail Address',
    'Ada,King,Acme,+49 171 3920055,,+49 30 999999,+49 30 888888,ada@acme.example',
    'Bo,Lind,Acme,+49 171 3920066,+46 70 174 06 12,,,bo@acme.example',
    'Cy,Moor,Acme,,n/a,+49 30 999999,+49 30 888888,cy@acme.example',
    '',
  ].join('\n')

  it('are all that the columns of phones have, the mobile one first, and a sentence tells', async () => {
    const { phones, report, stderr } = await load('people', outlook)
    expect(phones).toMatchObject({ Ada: ['+491713920055'], Bo: ['+46701740612', '+491713920066'] })
    expect(phones.Cy ?? []).toEqual([])
    expect(report.mapping.phone).toBe('Mobile Phone')
    expect(report.ignored).toEqual(['Business Fax', 'Company Phone'])
    expect(stderr).toContain('The numbers in "Business Phone" are kept as further phones of a person.')
  })

  it('come from one column where --map names it', async () => {
    const { phones, stderr } = await load('people', outlook, '--map', 'phone=Mobile Phone')
    expect([phones.Ada ?? [], phones.Bo]).toEqual([[], ['+46701740612']])
    expect(stderr).not.toContain('further phones')
  })

  it('come from every key that has one, in NDJSON', async () => {
    const records = [
      { first_name: 'Ada', email: 'ada@acme.example', 'Mobile Phone': '', 'Business Phone': '+33612345678' },
      { first_name: 'Bo', email: 'bo@acme.example', 'Mobile Phone': '+33612345677', 'Business Phone': '' },
      { first_name: 'Cy', email: 'cy@acme.example', Mobil: '+33612345676', Festnetz: '+4930123456' },
    ]
    const { phones } = await load('people', records.map((record) => `${JSON.stringify(record)}\n`).join(''))
    expect(phones).toEqual({
      Ada: ['+33612345678'],
      Bo: ['+33612345677'],
      Cy: ['+33612345676', '+4930123456'],
    })
  })

  it('and addresses of an export of Google are taken from its numbered columns', async () => {
    const { phones, stored, stderr } = await load(
      'people',
      [
        'First Name,E-mail 1 - Value,E-mail 2 - Value,Phone 1 - Value,Phone 2 - Value,Phone 3 - Value',
        'Ada,ada@acme.example,ada@home.example,+33612345678,+4930123456,',
        'Bo,,bo@acme.example,,+33612345677,+33612345677',
      ].join('\n'),
    )
    expect(phones).toEqual({ Ada: ['+33612345678', '+4930123456'], Bo: ['+33612345677'] })
    expect(stored.map(({ email }) => email)).toEqual(['ada@acme.example', 'bo@acme.example'])
    expect(stderr).toContain(
      'Where "E-mail 1 - Value" is blank, "E-mail 2 - Value" is read as email; a second address is not kept.',
    )
  })
})

describe('columns of imports that no name claims', () => {
  const row = (name: string, at: number) =>
    `${name};${name.toLowerCase()}@c${at}.example;+49 30 11111${at};${at % 2 ? 'www.' : ''}c${at}.example\n`
  const names = ['Ada', 'Bo', 'Cy', 'Di', 'Ed', 'Flo']

  it('are emails, phones and domains of people by their values', async () => {
    const { report, stored } = await load('people', `Vorname;Feld2;Feld3;Feld4\n${names.map(row).join('')}`)
    expect(report.mapping).toEqual({
      first_name: 'Vorname',
      email: 'Feld2',
      phone: 'Feld3',
      company_domain: 'Feld4',
    })
    expect(stored[1]).toMatchObject({
      email: 'bo@c1.example',
      phones: ['+4930111111'],
      company_domain: 'c1.example',
    })
  })

  it.each(['Telefon Zentrale', 'Hotline-Nummer', 'Firmentelefon'])(
    'are phones of companies below %s',
    async (column) => {
      const rows = names.map((name, at) => `${name} GmbH;c${at}.example;+49 30 11111${at}\n`).join('')
      const { report } = await load('companies', `Firma;Website;${column}\n${rows}`)
      expect(report.mapping).toMatchObject({ phone: column })
    },
  )

  it('are phones of companies, and what identifies them where nothing else does', async () => {
    const rows = names.map((name, at) => `${name} GmbH;c${at}.example;+49 30 11111${at}\n`).join('')
    const { report } = await load('companies', `Firma;Seite der Firma;Erreichbar\n${rows}`)
    expect(report.mapping).toEqual({ name: 'Firma', domain: 'Seite der Firma', phone: 'Erreichbar' })
  })

  it('are not imported where their name says that they are of something else', async () => {
    const rows = names.map((name, at) => `${row(name, at).trim()}\n`).join('')
    const { report } = await load('people', `Vorname;E-Mail;Telefax;Mitbewerber\n${rows}`)
    expect(report.mapping).toEqual({ first_name: 'Vorname', email: 'E-Mail' })
    expect(report.ignored).toEqual(['Telefax', 'Mitbewerber'])
  })
})

describe('the names of imported people', () => {
  it('are without how they are addressed and their titles, and give first and last names', async () => {
    const written = [
      ['Hr. Max Muster', 'Max Muster', 'Max', 'Muster'],
      ['Sig.ra Lucia Rossi', 'Lucia Rossi', 'Lucia', 'Rossi'],
      ['Sig. Ranieri Conti', 'Ranieri Conti', 'Ranieri', 'Conti'],
      ['Hr. u. Fr. Drei', 'Hr. u. Fr. Drei', undefined, undefined],
      ['Frau Dr. Anna Klein', 'Anna Klein', 'Anna', 'Klein'],
      ['Herr Prof. Dr.-Ing. Hans von Stein', 'Hans von Stein', 'Hans', 'von Stein'],
      ['Dr. med. Eva Blau', 'Eva Blau', 'Eva', 'Blau'],
      ['Dipl.-Ing. (FH) Karl Lang', 'Karl Lang', 'Karl', 'Lang'],
      ['Mme Claire Dupont', 'Claire Dupont', 'Claire', 'Dupont'],
      ['Mr John Q. Public', 'John Q. Public', 'John', 'Public'],
      ['"Rot, Dr. Lea"', 'Lea Rot', 'Lea', 'Rot'],
      ['Frau Muster', 'Frau Muster', undefined, 'Muster'],
      ['Sra. Maria García López', 'Maria García López', 'Maria', 'García López'],
      ['Ing Chan', 'Ing Chan', 'Ing', 'Chan'],
    ]
    const { stored } = await load(
      'people',
      `Firma;Ansprechpartner;E-Mail\n${written.map(([name], at) => `Acme;${name};p${at}@acme.example\n`).join('')}`,
    )
    const names = stored.map(({ full_name, first_name, last_name }) => [full_name, first_name, last_name])
    expect(names).toEqual(written.map(([, ...parts]) => parts))
  })

  it('come from one column with the last name first, and a column of academic titles is no job', async () => {
    const { stored, report } = await load(
      'people',
      'Titel;Name, Vorname;Firma;Mail\nDr.;"Klein, Anna";Acme;anna@acme.example\nProf. Dr.;"Muster, Max";Acme;max@acme.example\n',
    )
    expect(report.ignored).toEqual(['Titel'])
    expect(stored).toMatchObject([
      { full_name: 'Anna Klein', first_name: 'Anna', last_name: 'Klein' },
      { full_name: 'Max Muster', first_name: 'Max', last_name: 'Muster' },
    ])
    const { report: jobs } = await load('people', 'Titel;Name;Mail\nCEO;Ada King;ada@acme.example\n')
    expect(jobs.mapping).toMatchObject({ title: 'Titel' })
  })

  it('and those of their companies are read with the domain that HubSpot writes behind them', async () => {
    const { stored } = await load(
      'people',
      'First Name,Email,Associated Company\nAda,ada@home.example,Acme Robotics (acme.example)\nBo,bo@home.example,Bolt (Berlin)\n',
    )
    expect(stored).toMatchObject([
      { first_name: 'Ada', company_domain: 'acme.example' },
      { first_name: 'Bo', company_name: 'Bolt (Berlin)' },
    ])
    const { stored: companies } = await load(
      'companies',
      'Company name,Company Domain Name\nZorx AG (zorx.example),\nAcme (acme.example),acme-robotics.example\n',
    )
    expect(companies.map(({ name, domain }) => [name, domain])).toEqual(
      expect.arrayContaining([
        ['Zorx AG', 'zorx.example'],
        ['Acme', 'acme-robotics.example'],
      ]),
    )
  })
})
