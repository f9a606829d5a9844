import type { Shape } from '../../api/areas/shapes.js'
import { type Input, isOk, type Reply } from '../../api/calls/caller.js'
import { UsageError } from '../context/errors.js'

type Body = Readonly<Record<string, unknown>>

/** The most rows a page may have: fewest requests. */
const rowsPerPage = 500

/** Whether the answers of an operation come in pages. */
export const hasPages = ({ output }: Shape): boolean =>
  'shape' in output && Object.hasOwn(output.shape as object, 'pagination')

/**
 * Asks for page after page until the last, and answers them as one; a refusal of any page is the answer. A page
 * that leads nowhere new ends the walk.
 */
export async function everyPage(
  ask: (input: Input) => Promise<Reply>,
  input: Input,
  option: '--all' | '--paginate' = '--all',
): Promise<Reply> {
  if (input.page !== undefined)
    throw new UsageError(`${option} and a page exclude each other: ${option} has every page.`)
  const pages: Reply[] = []
  const seen = new Set<unknown>()
  for (let cursor = input.cursor; ; ) {
    seen.add(cursor)
    const page = await ask({ per_page: rowsPerPage, ...input, ...(cursor === undefined ? {} : { cursor }) })
    if (!isOk(page) || !isPage(page)) return page
    pages.push(page)
    const { has_more, next_cursor } = paginationOf(page)
    if (has_more !== true || next_cursor === undefined || seen.has(next_cursor)) return joined(pages, page)
    cursor = next_cursor
  }
}

/** What comes whole has no pages. */
const isPage = ({ body }: Reply): boolean =>
  typeof body === 'object' && body !== null && Object.hasOwn(body, 'pagination')

const paginationOf = ({ body }: Reply): Body => ((body as Body).pagination ?? {}) as Body

/** The lists of all pages behind each other, and the rest as the last page says it. */
function joined(pages: readonly Reply[], last: Reply): Reply {
  const { page: _, ...pagination } = paginationOf(last)
  const lists = Object.keys(last.body as Body).filter((name) => Array.isArray((last.body as Body)[name]))
  const rows = lists.map((name) => [name, pages.flatMap(({ body }) => (body as Body)[name] ?? [])])
  return {
    ...last,
    body: { ...(last.body as Body), ...Object.fromEntries(rows), pagination },
    credits: pages.reduce((sum, { credits }) => sum + credits, 0),
  }
}
