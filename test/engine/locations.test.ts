import { expect, it } from 'vitest'
import { openBench } from '../support/engine.js'

it('returns the locations that the source knows, free of charge', async () => {
  const bench = await openBench()
  const reply = await bench.call('locations.find', { name: 'lyon', source: 'database' })
  expect(reply).toMatchObject({ status: 200, body: [{ id: 'known:lyon', name: 'lyon' }], credits: 0 })
})

it('returns an empty list when the source knows none', async () => {
  const bench = await openBench()
  bench.source.locations = () => []
  expect(await bench.call('locations.find', { name: 'x', source: 'hiring' })).toMatchObject({
    status: 200,
    body: [],
  })
})

it("asks the network's catalogue by default", async () => {
  const bench = await openBench()
  const asked: unknown[] = []
  bench.source.locations = (...values: unknown[]) => {
    asked.push(...values)
    return []
  }
  await bench.call('locations.find', { name: 'lyon' })
  expect(asked).toEqual(['lyon', 'live'])
})

it.each([{}, { name: 'lyon', source: 'elsewhere' }, { name: 7, source: 'database' }])(
  'refuses %j',
  async (input) => {
    const { status } = await (await openBench()).call('locations.find', input)
    expect([400, 422]).toContain(status)
  },
)
