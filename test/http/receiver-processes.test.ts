import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, it } from 'vitest'
import { bundled } from '../support/processes.js'
import { expectEachTakenOnce } from '../support/received.js'

let program: string
let home: string
beforeAll(async () => {
  program = await bundled('programs/prospect.ts')
  home = mkdtempSync(join(tmpdir(), 'prospect-receiver-'))
})
afterAll(() => rmSync(home, { recursive: true, force: true }))

it('stores each acknowledged delivery exactly once, although the receiver is killed five times', async () => {
  await expectEachTakenOnce(program, home, { deliveries: 1_000, distinct: 700, kills: 5 })
})
