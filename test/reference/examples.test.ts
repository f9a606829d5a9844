import { beforeAll, describe, expect, it } from 'vitest'
import { shapeOf } from '../../src/api/areas/shapes.js'
import { hasBody } from '../../src/api/operations/facts.js'
import { operations } from '../../src/api/operations/table.js'
import { eventBody, eventNames } from '../../src/api/webhooks/events.js'
import { eventExamples, examples, openapi } from '../../src/reference/openapi.js'
import { type SampleRun, sampleRun } from './sample-run.js'
import { type Check, type Content, type OpenApiDocument, schemaProblems } from './schema-problems.js'

let run: SampleRun
let document: OpenApiDocument
let problems: Check
beforeAll(async () => {
  run = await sampleRun()
  document = (await openapi({ version: 'test' })) as OpenApiDocument
  problems = schemaProblems(document.components.schemas ?? {})
})

/** The text of the recorded examples as it should be. */
function recordedText({ exchanges, events }: SampleRun): string {
  const operations = Object.fromEntries(
    exchanges.map(({ id, input, body }) => [id, { request: input, reply: body }]),
  )
  return `${JSON.stringify({ operations, events: Object.fromEntries(events) }, null, 2)}\n`
}

describe('the recorded examples', () => {
  it('are what the engine returns; npx vitest run test/reference -u records them again', async () => {
    await expect(recordedText(run)).toMatchFileSnapshot('../../src/reference/examples.json')
  })

  it('contain a success of every operation', () => {
    expect(Object.keys(examples)).toEqual(operations().map(({ id }) => id))
    expect(run.exchanges.map(({ id, status }) => [id, status])).toEqual(
      operations().map(({ id, ok }) => [id, ok]),
    )
  })

  it('contain a body of every event', () => {
    expect(Object.keys(eventExamples)).toEqual(eventNames())
  })

  it('contain records, not empty lists', () => {
    for (const { id, body } of run.exchanges.filter(({ id }) => !id.startsWith('account.')))
      for (const [name, value] of Object.entries(body as object))
        if (/preview|jobs|leads|lists|searches|contacts|suggestions|technologies|results/.test(name))
          expect(value, `${id}: ${name}`).not.toEqual([])
  })
})

const json = ({ content }: Content) => content['application/json']

describe.each(operations().map((row) => [row.id, row] as const))('%s', (id, row) => {
  const described = () => document.paths[row.path]?.[row.method.toLowerCase()]
  const exchange = () => run.exchanges.find((one) => one.id === id)

  it('returns its success over HTTP with a body that its schema describes', async () => {
    const { status, contentType, body } = exchange() ?? {}
    expect([status, contentType]).toEqual([row.ok, 'application/json'])
    const response = described()?.responses[row.ok]
    expect(response && problems(json(response).schema, body)).toEqual([])
    expect((await shapeOf(id)).output.parse(body)).toEqual(body)
  })

  it('accepts a request that its schema describes', () => {
    const { requestBody } = described() ?? {}
    const sent = Object.entries(exchange()?.input ?? {}).filter(([name]) => !row.path.includes(`{${name}}`))
    expect(requestBody && problems(json(requestBody).schema, Object.fromEntries(sent))).toEqual(
      hasBody(row) ? [] : undefined,
    )
  })

  it('has examples that its schemas describe', () => {
    const { requestBody, responses } = described() ?? {}
    for (const content of [requestBody, responses?.[row.ok]])
      if (content) expect(problems(json(content).schema, json(content).example)).toEqual([])
    expect(responses?.[row.ok] && json(responses[row.ok] as Content).example).toBeDefined()
  })
})

describe.each(eventNames())('%s', (name) => {
  it('is delivered with a body that its schema describes, as is its example', () => {
    const body = run.events.find(([one]) => one === name)?.[1]
    const content = document.webhooks[name]?.post.requestBody
    expect(content && problems(json(content).schema, body)).toEqual([])
    expect(content && problems(json(content).schema, json(content).example)).toEqual([])
    expect(eventBody(name).parse(body)).toEqual(body)
  })
})

it('the check of schemas detects unknown fields, missing fields and wrong types', () => {
  const one = { type: 'object', required: ['a'], properties: { a: { type: ['integer', 'null'] } } }
  const both = { allOf: [{ $ref: '#/components/schemas/One' }, { type: 'object', properties: { b: {} } }] }
  const check = schemaProblems({ One: one })
  expect([check(one, { a: null }), check(both, { a: 1, b: 2 })]).toEqual([[], []])
  expect(check(both, { b: 2, c: 3 })).toEqual(
    expect.arrayContaining([" must have required property 'a'", ' must NOT have unevaluated properties']),
  )
  expect(check(one, { a: '1' })).not.toEqual([])
  const list = { type: 'array', items: { $ref: '#/components/schemas/One' } }
  expect(check(list, [{ a: 1, b: 2 }])).toContain('/0 must NOT have unevaluated properties')
  expect(() => check({ ...one, nonsense: {} }, { a: 1 })).toThrow('unknown keyword: "nonsense"')
})
