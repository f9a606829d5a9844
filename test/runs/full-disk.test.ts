import { readFile, rm, stat } from 'node:fs/promises'
import { parse } from 'csv-parse/sync'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readBalances } from '../../src/engine/credits/ledger.js'
import { execute } from '../../src/runs/execute.js'
import { type Run, runsOver } from '../../src/runs/journal/runs.js'
import { fileSink, type Sink } from '../../src/runs/output/writer.js'
import type { Batch } from '../../src/runs/ports.js'
import type { Driver } from '../../src/storage/driver/connection.js'
import { openState } from '../../src/storage/state/open.js'
import { perFile } from '../support/each.js'
import { tries } from '../support/effort.js'
import { type Bench, openBench } from '../support/engine.js'
import { newFolder } from '../support/new-folder.js'
import { companyBatch, csvOf, failingFiles, fillDisk, lookupsFor, newRun } from './fakes.js'

const folder = perFile(newFolder)

/** How a part of a run fails: the system's code, the uses of the disk it comes with, and the credits there are. */
interface Fault {
  readonly credits: number
  readonly code: 'ENOSPC' | 'EIO' | 'EFBIG'
  readonly writes: number
  readonly answers: number
}

const infinitely = Number.POSITIVE_INFINITY
const never: Fault = { credits: 1_000, code: 'EIO', writes: infinitely, answers: infinitely }

async function partOf(driver: Driver, bench: Bench, file: string, sink: Sink, fault: Fault): Promise<Batch> {
  const [record] = await runsOver(driver).find('run-1')
  const { discardReplies } = bench.caller
  return companyBatch(file, bench.caller, sink, {
    lookups: fillDisk(await lookupsFor(driver, record as Run), fault.answers),
    callOptions: { apiKey: bench.key },
    concurrency: 6,
    onSafe: async (before) => discardReplies?.('run-1', before, { apiKey: bench.key }),
  })
}

const faults = fc.record({
  credits: fc.nat({ max: 40 }),
  code: fc.constantFrom<Fault['code'][]>('ENOSPC', 'EIO', 'EFBIG'),
  writes: fc.nat({ max: 12 }),
  answers: fc.nat({ max: 60 }),
})

test('a full disk or an empty balance truncates no output, loses no answer and pays for none twice', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.nat({ max: 40 }), { minLength: 1, maxLength: 60 }),
      fc.array(faults, { maxLength: 5 }),
      async (picks, parts) => {
        const [driver, bench] = [await openState(':memory:'), await openBench()]
        await runsOver(driver).add(newRun())
        const names = picks.map((pick) => (pick % 5 === 0 ? `nobody${pick}.example` : `known${pick}.example`))
        const file = folder.file(csvOf(names))
        const output = folder.at('out.csv')
        await rm(output, { force: true })
        for (const fault of [...parts, never]) {
          await bench.admin.setCredits(fault.credits)
          const sink = await fileSink(output, failingFiles('appendFile', fault.code, fault.writes + 1))
          const report = await execute(await partOf(driver, bench, file, sink, fault))
          if (!report.stopped) break
          expect([4, 10]).toContain(report.stopped.exit_code)
          await expect(stat(output)).rejects.toThrow()
          expect((await readFile(`${output}.partial`, 'utf8')).endsWith('lookup')).toBe(false)
        }
        const rows = parse(await readFile(output), { columns: true }) as Record<string, string>[]
        expect(rows.map((row) => row.domain)).toEqual(names)
        expect(rows.map((row) => row._status)).toEqual(
          names.map((name) => (name.startsWith('known') ? 'found' : 'not_found')),
        )
        const found = new Set(names.filter((name) => name.startsWith('known'))).size
        const { spent } = await bench.store.read((tx) => readBalances(tx, bench.workspaceId))
        expect(spent).toBe(found)
        expect(rows.reduce((sum, row) => sum + Number(row._credits), 0)).toBe(found)
        await bench.store.close()
      },
    ),
    { numRuns: tries(8, 60) },
  )
})
