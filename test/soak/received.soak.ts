import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, it } from 'vitest'
import { prospect } from '../support/processes.js'
import { expectEachTakenOnce } from '../support/received.js'
import { found, grouped, secondsSince } from './findings.js'
import { some } from './share.js'

let home: string

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'prospect-soak-'))
})

afterAll(() => {
  rmSync(home, { recursive: true, force: true })
})

it('P16: a receiver that is killed 50 times stores each of 10,000 shuffled deliveries once, 30 % of them sent twice', async () => {
  const began = performance.now()
  const [deliveries, distinct, kills] = [some(10_000, 500), some(7_000, 350), some(50, 3)]
  await expectEachTakenOnce(prospect, home, { deliveries, distinct, kills })
  found({
    promise: 'P16',
    tried: `${grouped(deliveries)} deliveries of ${grouped(distinct)} ids, ${kills} kills of the receiver`,
    lost: '0 lost, 0 taken twice',
    measured: secondsSince(began),
  })
})
