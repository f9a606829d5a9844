import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { describe as sentenceOf } from '../../src/cli/messages.js'
import { flowJsonSchema } from '../../src/flows/format.js'
import { readFlow } from '../../src/flows/read.js'
import type { Table } from '../../src/runs/input/table.js'
import { mapList } from '../../src/runs/lists.js'

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

/** A flow with one thing changed, and what is said of it. */
const wrong: readonly (readonly [why: string, change: readonly [string, string], said: RegExp])[] = [
  ['a key', ['budget:', 'budgets:'], /^10:1 There is no key budgets\./],
  ['a key within', ['per_day', 'perday'], /^10:34 There is no key perday\./],
  ['a missing part', ['name: dach\n', ''], /^1:1 name is missing\./],
  ['a value', ['credits: 2000', 'credits: many'], /^10:20 credits must be a number\./],
  ['YAML', ['csv: leads.csv', 'csv: [leads.csv'], /^9:\d+ /],
  ['a step', ['- accounts.enrich', '- acounts.enrich'], /^4:5 1: There is no step acounts\.enrich\./],
  [
    'a command',
    ['- contacts.enrich', '- contacts.waterfall'],
    /^7:5 4: There is no step contacts\.waterfall\. contacts\.enrich$/,
  ],
  ['a field of a request', ['limit:', 'limits:'], /^6:48 3 \(leads\.search\): There is no field limits\./],
  ['a value of a request', ['limit: 3', 'limit: -1'], /^6:47 3 \(leads\.search\): limit must be/],
  ['a name of none', ['job_titles: [CTO]', 'functions: [Salse]'], /^6:21 3 .* unknown ids: Salse/],
  [
    'a field of a condition',
    ['country in', 'contry in'],
    /^5:30 2 \(keep\): keep: there is no field contry \(character 20\)\./,
  ],
  [
    'what was not asked for',
    ['email_status ==', 'phone =='],
    /^8:11 5 \(keep\): keep: there is no field phone /,
  ],
  [
    'the end of a name',
    ['job_titles:', 'titles:'],
    /^6:21 3 \(leads\.search\): There is no field titles\. job_titles$/,
  ],
  [
    'the type of a field',
    ['headcount >= 50', 'headcount >= "50"'],
    /^5:24 2 \(keep\): keep: headcount is a number, and "50" is a text \(character 14\)\./,
  ],
  [
    'the type of a column',
    ['!= ""', '> 5'],
    /^5:78 2 \(keep\): keep: input\["Record ID"\] is a text, and 5 is a number /,
  ],
  [
    'a value that a field never has',
    ['"valid"', '"vaild"'],
    /^8:27 5 \(keep\): keep: email_status is never "vaild" \(character 17\)\./,
  ],
  [
    'the name of a country',
    ['in ["DE", "AT"]', '== "Austria"'],
    /^5:\d+ 2 \(keep\): keep: country is never "Austria" \(character \d+\)\./,
  ],
  [
    'a list in place of a text',
    ['headcount >= 50', 'technologies == "b2b"'],
    /^5:27 2 \(keep\): keep: technologies is a list/,
  ],
  ['a condition', [' && company', ' and company'], /^8:35 5 \(keep\): keep: /],
  ['a column', ['company.name,', 'company.nam,'], /^9:56 There is no field company\.nam\./],
  ['two kinds', ['{ csv: companies.csv }', '{ csv: a.csv, list: b }'], /^2:28 This input has csv and list/],
  [
    'the step as it is written, where companies are meant',
    ['leads.search: { job_titles: [CTO], limit: 3 }', 'contacts.enrich: { enrichment_type: [email] }'],
    /^6:5 3 \(contacts\.enrich\): contacts\.enrich is for people/,
  ],
  [
    'companies where people are meant',
    ['leads.search: { job_titles: [CTO], limit: 3 }', 'leads.enrich'],
    /^6:5 3 \(leads\.enrich\): leads\.enrich is for people/,
  ],
  [
    'a field that rows lack',
    ['- accounts.enrich', '- accounts.enrich:\n    with: { domain: input.Site }'],
    /^5:21 1 \(accounts\.enrich\): There is no field input\.Site\./,
  ],
  [
    'a layout',
    ['columns: [first_name, email, company.name, input.Record ID]', 'layout: hubspott'],
    /^9:35 There is no layout hubspott\./,
  ],
]

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

  it.each(wrong)('names line, column and step of what is wrong with %s', async (_, [from, to], said) => {
    expect(whole).toContain(from)
    const { flow, problems } = await read(whole.replace(from, to))
    expect(flow).toBeUndefined()
    const lines = problems.map(({ line, column, step, refusal }) =>
      `${line}:${column} ${step === undefined ? '' : `${step}: `}${sentenceOf(refusal)} ${refusal.details.near ?? ''}`.trimEnd(),
    )
    expect(lines[0]).toMatch(said)
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
