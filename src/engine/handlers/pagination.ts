import { createHmac, timingSafeEqual } from 'node:crypto'
import type { InputOf, OutputOf } from '../../api/areas/shapes.js'
import { ApiError } from '../../api/calls/errors.js'
import type { OperationId } from '../../api/operations/table.js'
import type { Awaitable } from '../../api/values/objects.js'
import type { Connection } from '../../storage/driver/connection.js'
import type { ListPosition, Slice } from '../tables/record-table.js'
import type { HandlerContext } from './handler.js'

/** The part of a handler's context that a page needs; `per_page` is at most 500. */
type PageContext = Pick<HandlerContext<OperationId>, 'store' | 'ids' | 'principal'> & {
  readonly input: Pick<InputOf<'lists.list'>, 'cursor' | 'per_page' | 'page'>
}

interface RowSource<T> {
  /** What the rows are filtered by: a cursor is valid for the same filters only. */
  readonly filters?: CursorScope['filters']
  readonly count: (tx: Connection, workspaceId: string) => Awaitable<number>
  readonly rows: (tx: Connection, workspaceId: string, slice: Slice) => Awaitable<readonly T[]>
  readonly position: (row: T) => ListPosition
}

const secretBytes = 32

/** Returns a page of a listing, read from one snapshot. Throws `invalid_cursor` for a cursor of another scope. */
export async function readPage<T>(
  { store, ids, principal, input: { cursor, page = 1, per_page } }: PageContext,
  endpoint: OperationId,
  { filters = {}, ...source }: RowSource<T>,
) {
  const workspaceId = principal.workspace.id
  const scope = { endpoint, workspaceId, filters }
  const startAfter = (secret: string | undefined): Omit<Slice, 'limit'> => {
    // Beyond this a number is not exact, and there are no rows anyway.
    if (cursor === undefined) return { skip: Math.min((page - 1) * per_page, Number.MAX_SAFE_INTEGER) }
    if (secret === undefined) throw new ApiError('invalid_cursor')
    const [at, id] = readCursor(secret, scope, cursor)
    return { skip: 0, after: [Number(at), String(id)] }
  }
  const found = await store.read(async (tx) => {
    const secret = await readCursorSecret(tx, workspaceId)
    // One extra row shows whether another page follows.
    const slice = { ...startAfter(secret), limit: per_page + 1 }
    const total = await source.count(tx, workspaceId)
    return { secret, total, rows: await source.rows(tx, workspaceId, slice) }
  })
  const rows = found.rows.slice(0, per_page)
  const has_more = found.rows.length > per_page
  const pagination: OutputOf<'lists.list'>['pagination'] = { per_page, total_count: found.total, has_more }
  if (cursor === undefined) pagination.page = page
  const last = rows.at(-1)
  if (has_more && last) {
    const keepFresh = (tx: Connection) =>
      keepCursorSecret(tx, workspaceId, Buffer.from(ids.bytes(secretBytes)).toString('hex'))
    const secret = found.secret ?? (await store.transaction(keepFresh, workspaceId))
    pagination.next_cursor = makeCursor(secret, scope, source.position(last))
  }
  return { rows, pagination }
}

/** Returns the secret that signs a workspace's cursors, in hexadecimal; `undefined` before its first cursor. */
export const readCursorSecret = async (tx: Connection, workspaceId: string): Promise<string | undefined> =>
  (await tx.get<{ secret: string }>('SELECT secret FROM cursor_secrets WHERE workspace_id = ?', workspaceId))
    ?.secret

/** Stores a workspace's cursor secret unless it has one. Returns the stored one. */
async function keepCursorSecret(tx: Connection, workspaceId: string, secret: string): Promise<string> {
  const sql =
    'INSERT INTO cursor_secrets (workspace_id, secret) VALUES (?, ?) ON CONFLICT (workspace_id) DO NOTHING'
  await tx.run(sql, workspaceId, secret)
  return (await readCursorSecret(tx, workspaceId)) ?? secret
}

/** What a cursor belongs to: it is valid nowhere else. */
interface CursorScope {
  /** Id of the operation. */
  readonly endpoint: string
  readonly workspaceId: string
  readonly filters: Readonly<Record<string, unknown>>
}

/** The sort position of the last row received. */
type CursorPosition = readonly (string | number)[]

/** Length of a SHA-256 in base64url. */
const sealLength = 43

/** Returns the cursor of a position: a seal and the position itself, both base64url. `secret` is hexadecimal. */
export function makeCursor(secret: string, scope: CursorScope, position: CursorPosition): string {
  const text = Buffer.from(JSON.stringify(position)).toString('base64url')
  return sealOf(secret, scope, text) + text
}

/** Returns the position in a cursor. Throws `invalid_cursor` unless it is an unchanged cursor of this scope. */
export function readCursor(secret: string, scope: CursorScope, cursor: string): CursorPosition {
  const text = cursor.slice(sealLength)
  const given = Buffer.from(cursor.slice(0, sealLength))
  const seal = Buffer.from(sealOf(secret, scope, text))
  if (given.length !== seal.length || !timingSafeEqual(given, seal)) throw new ApiError('invalid_cursor')
  return JSON.parse(Buffer.from(text, 'base64url').toString()) as CursorPosition
}

// The seal covers the text, not the decoded bytes: base64url has several spellings of the same bytes.
function sealOf(secret: string, { endpoint, workspaceId, filters }: CursorScope, text: string): string {
  const named = Object.entries(filters).sort(([a], [b]) => (a < b ? -1 : 1))
  return createHmac('sha256', Buffer.from(secret, 'hex'))
    .update(JSON.stringify([endpoint, workspaceId, named, text]))
    .digest('base64url')
}
