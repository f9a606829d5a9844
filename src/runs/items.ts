import type { z } from 'zod'
import type { Shape } from '../api/areas/shapes.js'
import type { Input } from '../api/calls/caller.js'
import { Refusal, refusalOf } from '../api/calls/errors.js'
import { bodyLimits } from '../api/operations/facts.js'
import type { Operation } from '../api/operations/table.js'
import { bare } from '../api/validation/coerce.js'
import { countValues, toJson } from '../api/values/json.js'
import { FooterCounter } from '../csv/footer.js'
import { LeftOutCounter } from '../csv/names.js'
import { createRowReader, type Mapping } from './input/mapping.js'
import { isNoRecord, type Table } from './input/table.js'
import { ReasonCounter } from './output/report.js'
import type { Rejects } from './output/writer.js'
import { checkWidth, identityOf, type Lookup } from './plan/lookup.js'
import { type BatchQuote, createQuote, noRowCounts } from './plan/quote.js'
import type { Remaining } from './ports.js'

export const itemOf = ({ input }: Shape, field: string): z.ZodObject =>
  (bare(input.shape[field] as z.ZodType) as z.ZodArray<z.ZodObject>).element

/** An array takes no more items. */
const maxItems = 100_000

/** The items, the line of each of them, what is wrong with rows that are none, and the counts of all rows. */
export type Items = Awaited<ReturnType<typeof readItems>>

/** Reads the rows of a file as items of one request. Invalid rows go to the rejects. */
export async function readItems(
  operation: Operation,
  item: z.ZodObject,
  table: Table,
  mapping: Mapping,
  explain: Lookup['explain'],
  rejects: Rejects | undefined,
  isKnown: (input: Input) => boolean = () => false,
) {
  const shape = { input: item, output: item }
  const reader = createRowReader(operation, shape, mapping)
  const problems: { readonly line: number; readonly text: string }[] = []
  const items: Input[] = []
  const lines: number[] = []
  let known = 0
  const footer = new FooterCounter()
  const reasons = new ReasonCounter()
  const counter = new LeftOutCounter()
  try {
    reading: for await (const rows of table.rows())
      for (const row of rows) {
        if (footer.add(row) || isNoRecord(row)) continue
        const { cells, line } = row
        const read = reader.read(cells)
        const { input, leftOut } = read
        const refusal = refusalOf(() => {
          checkWidth(cells, table.header)
          reader.validate(read)
        })
        if (refusal) {
          const text = explain(refusal, cells)
          problems.push({ line, text })
          reasons.add(text)
          await rejects?.add([{ line, cells, reason: text }])
        } else if (isKnown(input)) known++
        else {
          counter.addRow(leftOut)
          items.push(input)
          lines.push(line)
        }
        if (items.length > maxItems) break reading
      }
  } catch (error) {
    await rejects?.abandon()
    throw error
  }
  await rejects?.finish()
  const counts = { rows: items.length + problems.length + known, invalid: problems.length, known }
  return {
    items,
    lines,
    /** Whether there are more than an array takes, and the rest was not read. */
    isCut: items.length > maxItems,
    problems,
    footer: footer.found,
    counts: { ...counts, invalid_reasons: reasons.counts, not_understood: counter.counts },
  }
}

/** Throws a Refusal for a request with more items in a field than an array takes. */
export function checkCount({ isCut }: Items, file: string): void {
  if (isCut) throw new Refusal('run.too_many_items', { path: file, max: maxItems })
}

/** Throws a Refusal for a request with more items in a field than its body can hold: so many rows of the file fit. */
export function checkSize(input: Input, into: string, file: string, { lines, isCut }: Items): void {
  const size = sizeOf(input)
  const exceeded = (['bytes', 'values'] as const).find((limit) => size[limit] > bodyLimits[limit])
  if (!exceeded) return
  const left = sizeOf({ ...input, [into]: [] })
  let rows = 0
  for (const item of input[into] as readonly unknown[]) {
    const { bytes, values } = sizeOf(item)
    left.bytes += bytes + 1
    left.values += values
    // No comma follows the last one.
    if (left.bytes - 1 > bodyLimits.bytes || left.values - 1 > bodyLimits.values) break
    rows++
  }
  const [is, max] = [size[exceeded], bodyLimits[exceeded]]
  throw new Refusal('run.request_too_large', {
    file,
    limit: exceeded,
    is,
    isCut,
    max,
    rows,
    last: lines[rows - 1],
  })
}

function sizeOf(value: unknown) {
  const text = toJson(value)
  return { bytes: Buffer.byteLength(text), values: countValues(text) }
}

/** Returns the quote of items that go out in one free request. */
export function quoteItems(
  operation: Operation,
  item: Pick<Shape, 'input'>,
  { items, counts }: Items,
  { spendable, windows }: Remaining,
): BatchQuote {
  const identity = identityOf(operation, item)
  const identities = items.map((one) => identity(one))
  // An item without an identity equals no other.
  const unknown = identities.filter((identity) => identity === undefined).length
  const unique = new Set(identities).size - (unknown > 0 ? 1 : 0) + unknown
  return createQuote({
    counted: { ...noRowCounts, ...counts, unique, lookups: 1, rows_affordable: counts.rows },
    results: { credits: 0, answers: 0, runs: 0, rates: [] },
    defaultShare: 0,
    spendable: { ...spendable, budget: undefined },
    windows,
  })
}
