import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { brotliDecompressSync } from 'node:zlib'
import { ApiError } from '../../api/calls/errors.js'
import { dayMs, isoDay } from '../../api/values/dates.js'
import { type Fields, getOrMake } from '../../api/values/objects.js'
import type { Catalogue } from '../catalogue.js'
import type { ImportReport } from '../import/import.js'
import { kinds, type RecordKind } from '../kinds/kind.js'

/**
 * Returns invented companies, people, jobs and posts, whose newest dates are of `now`: no person or company is real.
 * To change them, unpack the file (`node -e 'process.stdin.pipe(zlib.createBrotliDecompress()).pipe(process.stdout)'
 * < sample.ndjson.br > sample.ndjson`), edit its lines of `[kind, record]` after the first, which has the date that the
 * others are written for, and pack it again with `createBrotliCompress` in the same command.
 */
export function readSample(now: number): Readonly<Record<RecordKind, readonly Fields[]>> {
  const text = brotliDecompressSync(readFileSync(findFile())).toString()
  const [head = '{}', ...lines] = text.trimEnd().split('\n')
  const days = Math.floor((now - (JSON.parse(head) as { made: number }).made) / dayMs)
  const shiftedDays = new Map<string, string>()
  const shifted = (line: string) =>
    line.replace(/(?<=")\d{4}-\d\d-\d\d(?=["T])/g, (day) =>
      getOrMake(shiftedDays, day, () => isoDay(Date.parse(day) + days * dayMs)),
    )
  const sample: Record<RecordKind, Fields[]> = { companies: [], people: [], jobs: [], posts: [] }
  for (const line of lines) {
    const [kind, record] = JSON.parse(shifted(line)) as [RecordKind, Fields]
    sample[kind].push(record)
  }
  return sample
}

/** Imports the sample into a catalogue; records with the same keys are updated. */
export async function loadSample(catalogue: Pick<Catalogue, 'importRecords'>, now: number) {
  const sample = readSample(now)
  const reports: Partial<Record<RecordKind, ImportReport>> = {}
  for (const kind of kinds) reports[kind] = await catalogue.importRecords(kind, sample[kind], 'sample')
  return reports as Readonly<Record<RecordKind, ImportReport>>
}

/** Returns the path of the file: beside the program, above the library's chunks, or beside this one. */
function findFile(): string {
  const path = ['./sample.ndjson.br', '../sample.ndjson.br']
    .map((one) => fileURLToPath(new URL(one, import.meta.url)))
    .find(existsSync)
  if (path === undefined)
    throw new ApiError('storage_failed', { reason: 'the sample is missing: install the program again' })
  return path
}
