import { beforeAll, describe, expect, it } from 'vitest'
import { operations } from '../../src/api/operations/table.js'
import { eventNames } from '../../src/api/webhooks/events.js'
import { eventExamples, examples } from '../../src/reference/examples.js'
import { type SampleRun, sampleRun } from './sample-run.js'

let run: SampleRun
beforeAll(async () => {
  run = await sampleRun()
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

  it('contain a success of every operation that the engine does', () => {
    expect(Object.keys(examples)).toEqual(operations().map(({ id }) => id))
    expect(run.exchanges.map(({ id, status }) => [id, status])).toEqual(
      operations().map(({ id, ok, unavailable }) => [id, unavailable ? 422 : ok]),
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
