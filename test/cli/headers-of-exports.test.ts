import { describe, expect, it } from 'vitest'
import { machine } from '../support/command.js'
import { perFile } from '../support/each.js'

const here = perFile(machine)

async function withCompany() {
  await here.setUp()
  await here.fill('companies', 'name,domain\nAcme,acme.example\n')
}

/** Returns the fields that a dry run of a lookup says its columns fill. */
async function lookup(line: string, text: string) {
  await withCompany()
  await here.fill('people', 'first_name,last_name,company_domain\nAda,King,acme.example\n')
  here.write('export.csv', text)
  const { mapping } = await here.json<{ mapping: { columns: { field: string; column: string }[] } }>(
    `${line} --csv export.csv --dry-run`,
  )
  return Object.fromEntries(mapping.columns.map(({ field, column }) => [field, column]))
}

/** Returns the fields that an import says its columns fill. */
async function imported(kind: string, text: string) {
  await here.setUp()
  here.write('import.csv', text)
  const { mapping } = await here.json<{ mapping: Record<string, string> }>(
    `data import ${kind} import.csv --dry-run`,
  )
  return mapping
}

describe('the header of a table', () => {
  it.each([
    ['labels with their values', 'Report:,Customers\nDate:,2026-11-28\nCompany,Domain\n'],
    ['a title and a date', 'Customers,28.11.2026\nCompany,Domain\n'],
    ['groups that are repeated', 'Account Information,Account Information\nCompany,Domain\n'],
  ])('stands below %s in as many cells', async (_, above) => {
    const columns = await lookup('accounts enrich', `${above}Acme,acme.example\nBirch,birch.example\n`)
    expect(columns).toEqual({ name: 'Company', domain: 'Domain' })
  })

  it('is the first row where a row below it has the words of other columns', async () => {
    const columns = await lookup('accounts enrich', 'Company,Kind\nFirma,Kunde\nAcme,Website\n')
    expect(columns).toEqual({ name: 'Company' })
  })
})

describe('columns of exports', () => {
  it('of DATEV, HubSpot and Salesforce fill the names and websites of companies', async () => {
    const datev = 'Konto;Name (Adressattyp Unternehmen);Ort;Internet\n10000;Acme GmbH;Köln;\n'
    expect(await lookup('accounts enrich', datev)).toMatchObject({ name: 'Name (Adressattyp Unternehmen)' })
    const salesforce = '"ACCOUNT.NAME","ACCOUNT.WEBSITE"\n"Acme","acme.example"\n'
    expect(await lookup('accounts enrich', salesforce)).toEqual({
      name: 'ACCOUNT.NAME',
      domain: 'ACCOUNT.WEBSITE',
    })
    expect(await imported('companies', salesforce)).toEqual({
      name: 'ACCOUNT.NAME',
      website: 'ACCOUNT.WEBSITE',
    })
  })

  it('of HubSpot name the company of a contact', async () => {
    const contacts = 'First Name,Last Name,Email,Associated Company\nAda,King,,Acme\n'
    expect(await lookup('contacts waterfall --enrichment-type email', contacts)).toMatchObject({
      company_name: 'Associated Company',
    })
    expect(await imported('people', contacts)).toMatchObject({ company_name: 'Associated Company' })
  })

  it.each(['Head of Sales', ''])(
    'of Outlook do not take how people are addressed for their job, which is %j',
    async (job) => {
      const people = `First Name,Last Name,Title,Company,Job Title\nAda,King,Dr.,Acme,${job}\n`
      expect(await imported('people', people)).toMatchObject({ title: 'Job Title' })
    },
  )

  it('that are called Title alone are the job', async () =>
    expect(await imported('people', 'First Name,Last Name,Title,Company\nAda,King,CEO,Acme\n')).toMatchObject(
      {
        title: 'Title',
      },
    ))
})

describe('headers in other languages', () => {
  it.each([
    [
      'Datensatz-ID,Unternehmensname,Unternehmensdomain-Name,Land/Region',
      'Unternehmensname',
      'Unternehmensdomain-Name',
      'Land/Region',
    ],
    [
      "ID,Nom de l'entreprise,Nom de domaine de l'entreprise,Pays/Région",
      "Nom de l'entreprise",
      "Nom de domaine de l'entreprise",
      'Pays/Région',
    ],
    [
      'ID,Nombre de la empresa,Nombre de dominio de la empresa,País/región',
      'Nombre de la empresa',
      'Nombre de dominio de la empresa',
      'País/región',
    ],
    ['ID,Nome azienda,Dominio azienda,Paese/Regione', 'Nome azienda', 'Dominio azienda', 'Paese/Regione'],
    ['ID,Bedrijfsnaam,Domeinnaam,Land/regio', 'Bedrijfsnaam', 'Domeinnaam', 'Land/regio'],
    ['Nr,Firmierung,Firmenhomepage,LKZ', 'Firmierung', 'Firmenhomepage', 'LKZ'],
  ])('name companies, their domains and countries: %s', async (header, name, domain, country) => {
    const columns = await lookup(
      'accounts enrich',
      `${header}\n1,Acme,acme.example,DE\n2,Birch,birch.example,FR\n`,
    )
    expect(columns).toEqual({ name, domain, country })
  })

  it.each([
    ['Vorname Ansprechpartner;Nachname Ansprechpartner;Organisationsname', ['Ann', 'Lee', 'Acme']],
    ['Nombre;Apellidos;Empresa asociada', ['Ann', 'Lee', 'Acme']],
    ['Nome;Cognome;Nome azienda', ['Ann', 'Lee', 'Acme']],
    ['Voornaam;Familienaam;Organisatie', ['Ann', 'Lee', 'Acme']],
    ['Prénom du contact;Nom de famille;Entreprise associée', ['Ann', 'Lee', 'Acme']],
  ])('name people and their companies: %s', async (header, cells) => {
    const columns = await lookup(
      'contacts waterfall --enrichment-type email',
      `${header}\n${cells.join(';')}\n`,
    )
    const [first_name, last_name, company_name] = header.split(';')
    expect(Object.values(columns).sort()).toEqual([first_name, last_name, company_name].sort())
  })
})

describe('a column of numbers', () => {
  it.each(['Kunde', 'Debitor', 'Customer', 'Client'])(
    'is no name of companies, though it is called %s',
    async (name) => {
      const columns = await lookup(
        'accounts enrich',
        `${name},Name 1,Land\n100001,Acme,DE\nK-100002,Birch,FR\n`,
      )
      expect(columns).toEqual({ name: 'Name 1', country: 'Land' })
      expect(await imported('companies', `${name},Name 1,Homepage\n100001,Acme,acme.example\n`)).toEqual({
        name: 'Name 1',
        website: 'Homepage',
      })
    },
  )

  it('is the name of companies where names with digits are among them', async () => {
    const columns = await lookup('accounts enrich', 'Kunde\n1&1\n3M\n42\nA1 Telekom\n')
    expect(columns).toEqual({ name: 'Kunde' })
  })
})

it('the line that DATEV writes above every header is none, however many cells it has', async () => {
  const extf = 'EXTF;700;16;Debitoren/Kreditoren;5;20260102101112000;;RE;;;1001;1;20260101;4;;;;;0;0;;'
  const columns = await lookup(
    'accounts enrich',
    `${extf}\nKonto;Name (Adressattyp Unternehmen);Land;Internet\n10000;Acme;DE;acme.example\n`,
  )
  expect(columns).toEqual({ name: 'Name (Adressattyp Unternehmen)', domain: 'Internet', country: 'Land' })
})

it('a formula whose value a CSV file does not have is blank', async () => {
  await withCompany()
  here.write('formula.csv', 'Company,Website\nAcme,"=HYPERLINK(""https://acme.example"",""Acme"")"\n')
  const { code } = await here.run('accounts enrich --csv formula.csv -o out.csv --map name=')
  expect([code, here.rows('out.csv')[0]?._status]).toEqual([11, 'invalid'])
})

describe('a column that is only called Name beside one of first names', () => {
  it.each(['Vorname,Name', 'Prénom,Nom', 'Voornaam,Naam', 'First name,Name'])(
    'holds family names: %s',
    async (header) => {
      const [first, last] = header.split(',')
      const people = `${header},Company\nAda,King,Acme\nBo,van der Berg,Acme\nCy,Roe,Acme\n`
      expect(await lookup('contacts waterfall --enrichment-type email', people)).toEqual({
        firstname: first,
        lastname: last,
        company_name: 'Company',
      })
      expect(await imported('people', people)).toEqual({
        first_name: first,
        last_name: last,
        company_name: 'Company',
      })
    },
  )

  it('holds full names where these are, or where another column has the family names', async () => {
    const full = 'Vorname,Name,Company\nAda,Ada King,Acme\n'
    expect(await imported('people', full)).toMatchObject({ full_name: 'Name' })
    const both = 'Vorname,Nachname,Name,Company\nAda,King,Ada,Acme\n'
    expect(await imported('people', both)).toMatchObject({ last_name: 'Nachname', full_name: 'Name' })
  })
})

it('lines that SAP draws are no rows, and none of them is the header', async () => {
  const rule = '-'.repeat(30)
  await withCompany()
  here.write(
    'alv.txt',
    `${rule}\n|Debitor|Name 1|Land|\n${rule}\n|100001|Acme|DE|\n|100002|Birch|CH|\n${rule}\n`,
  )
  const quote = await here.json<{ rows: number; skipped: number; mapping: { columns: object[] } }>(
    'accounts enrich --csv alv.txt --dry-run',
  )
  expect(quote).toMatchObject({ rows: 4, skipped: 2 })
  expect(quote.mapping.columns).toMatchObject([{ column: 'Name 1' }, { column: 'Land' }])
})

describe('profiles of people in a column of any name', () => {
  const profiles = (column: string) =>
    `id,${column}\n${[1, 2, 3].map((at) => `${at},https://www.network.example/in/ada-${at}`).join('\n')}\n`

  it.each(['link', 'Kontakt', 'reference'])('say whom the rows are about: %s', async (column) => {
    expect(await lookup('leads enrich', profiles(column))).toEqual({ network_url: column })
    expect(await imported('people', profiles(column))).toMatchObject({ network_profile_url: column })
  })

  it('give way to a column that is called so', async () => {
    const text =
      'Owner link,Profile URL\nhttps://www.network.example/in/rep,https://www.network.example/in/ada-1\n'
    expect(await lookup('leads enrich', text)).toEqual({ network_url: 'Profile URL' })
  })
})

it('a first line of a name that is written in several is the name', async () => {
  const text = 'Kd.-Nr.;Firma1;Firma2;Ort\n1;Acme Robotics GmbH;;Bonn\n'
  expect(await lookup('accounts enrich', text)).toMatchObject({ name: 'Firma1' })
})
