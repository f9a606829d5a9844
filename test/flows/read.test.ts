import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { describe as sentenceOf } from '../../src/cli/messages.js'
import { flowJsonSchema } from '../../src/flows/format.js'
import { readFlow } from '../../src/flows/read.js'
import type { Table } from '../../src/runs/input/table.js'
import { mapList } from '../../src/runs/lists.js'
import { casesOf } from '../support/fixtures.js'

const header = ['Name', 'Website', 'Record ID']
const table = { header, samples: [['Acme'], ['acme.example'], ['7']], notes: [] } as unknown as Table
const people = {
  header: ['First name', 'Last name', 'Company'],
  samples: [['Ada'], ['King'], ['Acme']],
  notes: [],
} as unknown as Table

const read = (text: string, of = table) =>
  readFlow(text, {
    toList: (source: string) => source,
    openSearch: async () => ({ about: 'people', query: ['title'], fields: ['title', 'email'] }),
    sources: false,
    openTable: async () => ({ table: of, mapped: mapList(of, 'companies.csv') }),
  })

const whole = `name: dach
input: { csv: companies.csv }
steps:
  - accounts.enrich
  - keep: headcount >= 50 && country in ["DE", "AT"] && input["Record ID"] != ""
  - leads.search: { job_titles: [CTO], limit: 3 }
  - contacts.enrich: { enrichment_type: [email] }
  - keep: email_status == "valid" && company.headcount > 10
output: { csv: leads.csv, columns: [first_name, email, company.name, input.Record ID] }
budget: { credits: 2000, per_day: 500 }
`

describe('the file of a flow', () => {
  it('is read with its steps, its fields and its budget', async () => {
    const { flow, problems } = await read(whole)
    expect(problems).toEqual([])
    expect(flow?.steps.map(({ name, before }) => [name, before.about])).toEqual([
      ['accounts.enrich', 'companies'],
      ['keep', 'companies'],
      ['leads.search', 'companies'],
      ['contacts.enrich', 'people'],
      ['keep', 'people'],
    ])
    expect(flow?.budget).toEqual({ credits: 2_000, per_day: 500 })
  })

  it.each(casesOf<[why: string, change: [string, string], said: string]>('flows/wrong'))(
    'names line, column and step of what is wrong with %s',
    async (_, [from, to], said) => {
      expect(whole).toContain(from)
      const { flow, problems } = await read(whole.replace(from, to))
      expect(flow).toBeUndefined()
      const lines = problems.map(({ line, column, step, refusal }) =>
        `${line}:${column} ${step === undefined ? '' : `${step}: `}${sentenceOf(refusal)} ${refusal.details.near ?? ''}`.trimEnd(),
      )
      expect(lines[0]).toMatch(new RegExp(said))
    },
  )

  it('says of a wrong value only that, and not what its results would not have', async () => {
    for (const types of ['[]', '[fax]', '{}']) {
      const { problems } = await read(whole.replace('[email]', types))
      expect(problems.map(({ line }) => line)).toEqual([7])
    }
    const { problems } = await read(whole.replace('limit: 3', 'limit: 0'))
    expect(problems.map(({ line }) => line)).toEqual([6])
  })

  it('says of a part that is missing only that', async () => {
    for (const name of ['', 'name:\n']) {
      const { problems } = await read(whole.replace('name: dach\n', name))
      expect(problems.map(({ refusal }) => sentenceOf(refusal))).toEqual(['name is missing.'])
    }
  })

  it('takes names for ids, and ids without quotes, as the options of a command do', async () => {
    const filters =
      'functions: [Engineering, 25], seniority_levels: [vice president, CXO], included_locations: [103644278]'
    const { flow, problems } = await read(whole.replace('job_titles: [CTO]', filters))
    expect(problems).toEqual([])
    expect(flow?.steps[2]).toMatchObject({
      constants: {
        functions: ['8', '25'],
        seniority_levels: ['300', '310'],
        included_locations: ['103644278'],
        limit: 3,
      },
    })
  })

  it('takes one value where a list is meant', async () => {
    const { flow, problems } = await read(whole.replace('[email]', 'email'))
    expect([
      problems,
      flow?.steps.map((step) => 'constants' in step && step.constants.enrichment_type),
    ]).toEqual([[], expect.arrayContaining([['email']])])
  })

  it('names every mistake at once, in the order of the lines', async () => {
    const { problems } = await read(
      whole.replace('contry', '').replace('limit: 3', 'limits: 3').replace('credits', 'credit'),
    )
    expect(problems.map(({ line }) => line)).toEqual([6, 10])
  })

  it('fills the requests about the company of a person from the fields below company', async () => {
    const steps = 'steps: [leads.enrich, accounts.enrich, { keep: company.headcount > 5 && title != null }]'
    const { flow } = await read(`name: a\ninput: { csv: a.csv }\n${steps}\noutput: { csv: b.csv }`, people)
    const [person, company] = flow?.steps ?? []
    expect(person).toMatchObject({
      place: 'row',
      filling: [
        ['first_name', ['first_name']],
        ['last_name', ['last_name']],
        ['company_name', ['company_name']],
      ],
    })
    expect(company).toMatchObject({
      place: 'company',
      filling: [
        ['name', ['company_name']],
        ['domain', ['company_domain']],
      ],
    })
  })

  it('has a JSON Schema, which is published as it is', async () => {
    const published: unknown = JSON.parse(readFileSync('docs/flow.schema.json', 'utf8'))
    expect(published).toEqual(JSON.parse(JSON.stringify(await flowJsonSchema())))
  })
})
