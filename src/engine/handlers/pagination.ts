import { createHmac, timingSafeEqual } from 'node:crypto'
import { ApiError } from '../../api/calls/errors.js'
import type { Awaitable, Ids, ListPosition, Reads, Slice, Store } from '../ports/ports.js'

/** The query of a paginated operation, once its fields are checked: `per_page` is 500 at most. */
export interface PageQuery {
  readonly cursor?: string | undefined
  readonly per_page: number
  readonly page?: number | undefined
}

/** What a page needs: the store, and random bytes for a workspace's first cursor. */
export interface PagePorts {
  readonly store: Store
  readonly ids: Ids
}

/** Rows that are listed newest first, and how to read them. */
export interface Listing<T extends ListPosition> {
  /** Rows in all. */
  readonly count: (reads: Reads) => Awaitable<number>
  /** A run of rows, newest first by `createdAt`, then by id. */
  readonly rows: (reads: Reads, slice: Slice) => Awaitable<readonly T[]>
}

/** Where a page stands, as the API answers it. */
export interface Pagination {
  page?: number
  per_page: number
  total_count: number
  has_more: boolean
  next_cursor?: string
}

/** Rows of a page, and where it stands. */
export interface Page<T> {
  readonly rows: readonly T[]
  readonly pagination: Pagination
}

const secretBytes = 32

/**
 * One page of a listing, all of one moment: after the cursor when there is one, else by number. Refuses a cursor
 * that was not made for this scope (`invalid_cursor`).
 */
export async function pageOf<T extends ListPosition>(
  { store, ids }: PagePorts,
  scope: CursorScope,
  query: PageQuery,
  listing: Listing<T>,
): Promise<Page<T>> {
  const { per_page } = query
  const found = await store.read(async (reads) => {
    const secret = await reads.cursorSecret(scope.workspaceId)
    // One row more than asked for tells whether another page follows.
    const slice = { ...startOf(secret, scope, query), limit: per_page + 1 }
    return { secret, total: await listing.count(reads), rows: await listing.rows(reads, slice) }
  })
  const rows = found.rows.slice(0, per_page)
  const has_more = found.rows.length > per_page
  const pagination: Pagination = { per_page, total_count: found.total, has_more }
  if (query.cursor === undefined) pagination.page = query.page ?? 1
  const last = rows.at(-1)
  if (has_more && last) {
    const secret = found.secret ?? (await newSecret(store, ids, scope.workspaceId))
    pagination.next_cursor = makeCursor(secret, scope, [last.createdAt, last.id])
  }
  return { rows, pagination }
}

function startOf(secret: string | undefined, scope: CursorScope, query: PageQuery): Omit<Slice, 'limit'> {
  const { cursor, page = 1, per_page } = query
  // Beyond this a number is no longer exact, and there are no rows anyway.
  if (cursor === undefined) return { skip: Math.min((page - 1) * per_page, Number.MAX_SAFE_INTEGER) }
  if (secret === undefined) throw new ApiError('invalid_cursor')
  const [createdAt, id] = readCursor(secret, scope, cursor)
  return { skip: 0, after: { createdAt: Number(createdAt), id: String(id) } }
}

const newSecret = (store: Store, ids: Ids, workspaceId: string): Promise<string> =>
  store.transaction(
    (tx) => tx.keepCursorSecret(workspaceId, Buffer.from(ids.bytes(secretBytes)).toString('hex')),
    workspaceId,
  )

/** What a cursor belongs to: it opens nowhere else. */
export interface CursorScope {
  /** Id of the operation. */
  readonly endpoint: string
  readonly workspaceId: string
  /** What the rows were chosen by. */
  readonly filters: Readonly<Record<string, unknown>>
}

/** Where the last row received stands in its order. */
export type CursorPosition = readonly (string | number)[]

/** Length of a SHA-256 in base64url. */
const sealLength = 43

/** Makes the cursor of a position: a seal, and the position itself, both base64url. `secret` is hexadecimal. */
export function makeCursor(secret: string, scope: CursorScope, position: CursorPosition): string {
  const text = Buffer.from(JSON.stringify(position)).toString('base64url')
  return sealOf(secret, scope, text) + text
}

/** The position in a cursor; anything but an unchanged cursor of this scope is refused: `invalid_cursor`. */
export function readCursor(secret: string, scope: CursorScope, cursor: string): CursorPosition {
  const text = cursor.slice(sealLength)
  const given = Buffer.from(cursor.slice(0, sealLength))
  const seal = Buffer.from(sealOf(secret, scope, text))
  if (given.length !== seal.length || !timingSafeEqual(given, seal)) throw new ApiError('invalid_cursor')
  return JSON.parse(Buffer.from(text, 'base64url').toString()) as CursorPosition
}

// The text is sealed, not what it decodes to: base64url has several spellings of the same bytes.
function sealOf(secret: string, { endpoint, workspaceId, filters }: CursorScope, text: string): string {
  const named = Object.entries(filters).sort(([a], [b]) => (a < b ? -1 : 1))
  return createHmac('sha256', Buffer.from(secret, 'hex'))
    .update(JSON.stringify([endpoint, workspaceId, named, text]))
    .digest('base64url')
}
