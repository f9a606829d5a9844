import { mkdir, readdir, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { answering, machine } from '../../support/command.js'
import { perTest } from '../../support/each.js'

const here = perTest(machine)

const runs = () => here.path('runs')
const hoursAgo = (hours: number) => Date.now() / 1_000 - 3_600 * hours

/** Creates what a killed command leaves behind: its folder with the rows from its pipe. */
async function leave(name: string, hours: number): Promise<void> {
  const path = join(runs(), name)
  await mkdir(path, { recursive: true, mode: 0o700 })
  await writeFile(join(path, 'stdin.csv'), 'domain\n')
  for (const each of [join(path, 'stdin.csv'), path]) await utimes(each, hoursAgo(hours), hoursAgo(hours))
}

async function runBatch(): Promise<void> {
  await writeFile(here.path('in.csv'), 'domain\na.example\n')
  const caller = answering({ body: { name: 'A' }, credits: 1 })
  const argv = 'accounts enrich --csv in.csv --quiet'
  expect((await here.run(argv, { caller })).code).toBe(0)
}

describe('the folder of a killed command', () => {
  it('removes the folder of a killed command after a day without writes', async () => {
    await leave('old', 25)
    await runBatch()
    expect(await readdir(runs())).toEqual([])
  })

  it('keeps the folder of a command that may still read its pipe', async () => {
    await leave('slow', 23)
    await runBatch()
    expect(await readdir(runs())).toEqual(['slow'])
  })
})
