import { describe, expect, it } from 'vitest'
import { machine } from '../support/command.js'
import { perFile } from '../support/each.js'

const here = perFile(machine)

/** Returns the fields that a dry run of a lookup says its columns fill. */
async function lookup(line: string, text: string) {
  await here.setUp()
  await here.fill('companies', 'name,domain\nAcme,acme.example\n')
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
