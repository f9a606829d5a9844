import { describe, expect, it } from 'vitest'
import type { ImportReport } from '../../../src/catalogue/import/import.js'
import type { RecordKind } from '../../../src/catalogue/kinds/kind.js'
import { openSqlite } from '../../../src/storage/driver/sqlite/driver.js'
import { perTest } from '../../support/each.js'
import { bytesOf, exported, openEmpty } from '../open.js'

const catalogue = perTest(openEmpty)

const take = (kind: RecordKind, text: string) => catalogue.importFile(kind, bytesOf(text, 4_096))

async function preview(kind: RecordKind, text: string): Promise<ImportReport> {
  const scratch = openSqlite('')
  return catalogue.previewFile(kind, bytesOf(text, 4_096), {}, scratch).finally(() => scratch.close())
}

const counts = ({ added, updated, unchanged, companies, rejected, rejectedTotal }: ImportReport) => ({
  added,
  updated,
  unchanged,
  companies,
  rejectedTotal,
  lines: rejected.map(({ line, reason }) => `${line} ${reason}`),
})

const contents = async () =>
  JSON.stringify(
    await Promise.all((['companies', 'people', 'jobs'] as const).map((kind) => exported(catalogue, kind))),
  )

/** Rows in which several records are one, by domain, profile or address, also far apart. */
const companies = (rows: number, from = 0): string =>
  ['name,domain,network_url,country,technologies']
    .concat(
      Array.from({ length: rows }, (_, at) => {
        const one = from + at
        const domain = one % 7 === 0 ? '' : `c${one % 900}.example`
        const url = one % 3 === 0 ? `https://www.network.example/company/c${one % 800}` : ''
        const country = one % 90 === 5 ? 'Narnia' : 'FR'
        return `Company ${one % 950},${domain},${url},${country},${one % 11 === 0 ? 'crm;erp' : ''}`
      }),
    )
    .join('\n')

const people = (rows: number, from = 0): string =>
  ['full_name,email,network_profile_url,company_domain,company_name,title,phone']
    .concat(
      Array.from({ length: rows }, (_, at) => {
        const one = from + at
        const email = one % 4 === 0 ? '' : `p${one % 700}@c${one % 30}.example`
        const url = one % 3 === 0 ? `https://www.network.example/in/p${one % 600}` : ''
        const company = one % 5 === 0 ? ',Company 3' : `c${one % 40}.example,`
        const written = one % 77 === 3 ? 'no address' : email
        return `Jo ${one % 650},${written},${url},${company},Title ${one % 2},+33140${100_000 + one}`
      }),
    )
    .join('\n')

describe('a preview of an import', () => {
  it('counts companies as the import does, in an empty catalogue and in one that has some of them', async () => {
    for (const file of [companies(1_200), companies(1_300, 400)]) {
      const before = await contents()
      const expected = counts(await preview('companies', file))
      expect(await contents()).toBe(before)
      expect(counts(await take('companies', file))).toEqual(expected)
      expect(expected.rejectedTotal).toBeGreaterThan(0)
    }
  })

  it('counts people and the companies created beside them as the import does', async () => {
    await take('companies', companies(100))
    for (const file of [people(1_200), people(900, 700)]) {
      const before = await contents()
      const expected = counts(await preview('people', file))
      expect(await contents()).toBe(before)
      expect(counts(await take('people', file))).toEqual(expected)
      expect(expected.updated).toBeGreaterThan(0)
    }
  })

  it('counts jobs and posts as the import does, also when they are known', async () => {
    const job = '{"job_title":"CTO","company_domain":"c1.example"}\n'
    const jobs = `${job}${job}{"job_title":"CFO","company_name":"Unknown"}\n`
    const posts = '{"post_url":"https://network.example/posts/1","text":"Hello"}\n'
    for (const [kind, file] of [
      ['jobs', jobs],
      ['posts', posts],
      ['jobs', jobs],
      ['posts', posts],
    ] as const) {
      const expected = counts(await preview(kind, file))
      expect(counts(await take(kind, file))).toEqual(expected)
    }
  })

  it('says which records are as they were', async () => {
    await take('companies', 'name,domain\nAcme,acme.example\nBirch,birch.example\n')
    const file = 'name,domain\nAcme,acme.example\nBirch & Sons,birch.example\nCedar,cedar.example\n'
    expect(await preview('companies', file)).toMatchObject({ added: 1, updated: 2, unchanged: 1 })
    const persons = 'full_name,email,company_name\nAda,ada@acme.example,Nowhere\nBo,bo@acme.example,\n'
    await take('people', persons)
    expect(await preview('people', persons)).toMatchObject({ added: 0, updated: 2, unchanged: 2 })
    expect(await preview('people', persons.replace('Bo,', 'Bob,'))).toMatchObject({
      updated: 2,
      unchanged: 1,
    })
  })

  it('has the columns of the file with a value of each', async () => {
    expect(await preview('companies', '_line,Firma,Web,x\n1,,acme.example,y\n2,Birch,,z\n')).toMatchObject({
      mapping: { name: 'Firma', website: 'Web' },
      samples: { name: 'Birch', website: 'acme.example' },
      ignored: ['x'],
    })
  })
})
