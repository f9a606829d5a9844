import { expect, it } from 'vitest'
import { openBench } from '../support/engine.js'

it("returns the locations that the source knows, free of charge, of the network's catalogue by default", async () => {
  const bench = await openBench()
  const asked: unknown[] = []
  const known = bench.source.locations
  bench.source.locations = (name, ...from: unknown[]) => {
    asked.push(...from)
    return known(name)
  }
  const reply = await bench.call('locations.find', { name: 'lyon', source: 'database' })
  expect(reply).toMatchObject({ status: 200, body: [{ id: 'known:lyon', name: 'lyon' }], credits: 0 })
  await bench.call('locations.find', { name: 'lyon' })
  expect(asked).toEqual(['database', 'live'])
})
