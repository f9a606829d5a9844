import { AnyRows, type Taken } from './any-rows.js'
import type { ParseOptions } from './parse-options.js'
import { PlainRows } from './plain.js'
import type { Row } from './row.js'

export type { Row } from './row.js'

/** Longest row in bytes; a quote that is never closed would else swallow the file into memory. */
const rowLimit = 1_048_576

/** Splits UTF-8 text into rows, as many at a time as one piece of text completes; those before an error come before it. */
export async function* parseRows(
  texts: AsyncIterable<Buffer>,
  options: Omit<ParseOptions, 'limit'> & { readonly limit?: number | undefined },
): AsyncGenerator<Row[]> {
  const { delimiter, firstLine, limit = rowLimit } = options
  const plain = new PlainRows(delimiter, firstLine, limit)
  let any: AnyRows | undefined
  for await (const text of texts) {
    if (any) yield* told(await any.take(text))
    else {
      yield plain.take(text)
      if (!plain.stopped) continue
      any = new AnyRows({ ...options, limit, firstLine: plain.line })
      yield* told(await any.take(plain.rest))
    }
  }
  if (!any) {
    yield plain.end()
    if (!plain.stopped) return
    any = new AnyRows({ ...options, limit, firstLine: plain.line })
    yield* told(await any.take(plain.rest))
  }
  yield* told(await any.end())
}

function* told({ rows, failure }: Taken): Generator<Row[]> {
  yield rows
  if (failure) throw failure
}
