import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, it } from 'vitest'
import { tries } from '../support/effort.js'
import { prospect } from '../support/processes.js'
import { expectEachTakenOnce } from '../support/received.js'

let home: string
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'prospect-receiver-'))
})
afterAll(() => rmSync(home, { recursive: true, force: true }))

it('stores each acknowledged delivery exactly once, although the receiver is killed again and again', async () => {
  await expectEachTakenOnce(prospect, home, {
    deliveries: tries(40, 1_000, 10_000),
    distinct: tries(28, 700, 7_000),
    kills: tries(1, 5, 50),
  })
})
