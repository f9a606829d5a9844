import { beforeAll, describe, expect, it } from 'vitest'
import { operations } from '../../src/api/operations/table.js'
import { eventNames } from '../../src/api/webhooks/events.js'
import { eventExamples, examples } from '../../src/reference/examples.js'
import { type SampleRun, sampleRun } from './sample-run.js'

let run: SampleRun
beforeAll(async () => {
  run = await sampleRun()
})

const json = (value: unknown): string => JSON.stringify(value, null, 2)

/** The module of the examples as it should be. */
function moduleText({ exchanges, events }: SampleRun): string {
  const recorded = Object.fromEntries(
    exchanges.map(({ id, input, body }) => [id, { request: input, reply: body }]),
  )
  return `// biome-ignore-all format: recorded by test/reference/examples.test.ts, which vitest -u writes anew
import type { OperationId } from '../api/operations/table.js'
import type { EventName } from '../api/webhooks/events.js'

/** A request, its path parameters and query among the fields, and what the engine answered. */
export interface Example {
  readonly request: Readonly<Record<string, unknown>>
  readonly reply: unknown
}

/** A success of every operation, recorded from the engine over the sample data. */
export const examples: Readonly<Record<OperationId, Example>> = ${json(recorded)}

/** A body of every event, recorded likewise. */
export const eventExamples: Readonly<Record<EventName, unknown>> = ${json(Object.fromEntries(events))}
`
}

describe('examples', () => {
  it('are what the engine answers; npx vitest run test/reference -u records them anew', async () => {
    await expect(moduleText(run)).toMatchFileSnapshot('../../src/reference/examples.ts')
  })

  it('show a success of every operation', () => {
    expect(Object.keys(examples)).toEqual(operations().map(({ id }) => id))
    expect(run.exchanges.map(({ id, status }) => [id, status])).toEqual(
      operations().map(({ id, ok }) => [id, ok]),
    )
  })

  it('show a body of every event', () => {
    expect(Object.keys(eventExamples)).toEqual(eventNames())
  })

  it('show records, not empty lists', () => {
    for (const { id, body } of run.exchanges.filter(({ id }) => !id.startsWith('account.')))
      for (const [name, value] of Object.entries(body as object))
        if (/preview|jobs|leads|lists|searches|contacts|suggestions|technologies|results/.test(name))
          expect(value, `${id}: ${name}`).not.toEqual([])
  })
})
