import type { LeaveOut } from '../../csv/names.js'
import { type Connection, send } from '../../storage/driver/connection.js'
import type { RawRecord } from '../kinds/kind.js'
import { parseProfile } from '../normalize/profile.js'
import { InvalidRecordError, shorten, text } from '../normalize/readers.js'
import type { Steps } from '../write/sync-steps.js'
import type { WriteContext, WriteResult } from '../write/write-context.js'
import { fields, type RecordFields, readFields, readOr } from './fields.js'
import { checkEngagers, findByIdentity } from './upsert.js'

/** A person who reacted to a post or commented on it. `profile` is the id or slug in the url. */
interface Engager {
  readonly profile: string
  readonly engagement: string
  readonly url: string
}

/** A stored post: its fields without the engagers. */
export type StoredPost = Omit<RecordFields<'posts'>, 'engagers'>

/** A post that was read and is ready to be written. */
export interface PreparedPost {
  readonly post: StoredPost
  readonly identity: string
  readonly engagers: readonly Engager[]
}

/** Reads a post. Throws when it has no url. */
export function preparePost(raw: RawRecord, leaveOut: LeaveOut): PreparedPost {
  const { engagers = [], ...post } = readFields(fields.posts, raw, leaveOut)
  const { post_url, author_profile_url: author } = post
  if (post_url === undefined) throw new InvalidRecordError('a post needs a post_url')
  if (author !== undefined && readOr(leaveOut, 'author_profile_url', author, toProfileName) === undefined)
    delete post.author_profile_url
  return {
    post,
    identity: toPostIdentity(post_url),
    engagers: engagers.flatMap((engager) => readOr(leaveOut, 'engagers', engager, readEngager) ?? []),
  }
}

/** Returns a post's url for comparison: without scheme, `www`, query and trailing slash. */
export function toPostIdentity(url: string): string {
  const bare = url
    .trim()
    .replace(/[?#].*$/, '')
    .replace(/\/+$/, '')
    .replace(/^(?:https?:)?(?:\/\/)?(?:www\.)?/i, '')
  const [host = ''] = bare.split('/', 1)
  return host.toLowerCase() + bare.slice(host.length)
}

function readEngager(raw: RawRecord): Engager {
  const url = text(raw.network_profile_url)
  if (url === undefined) throw new InvalidRecordError('each needs a network_profile_url')
  return { profile: toProfileName(url), engagement: readEngagement(text(raw.engagement)), url }
}

function toProfileName(url: string): string {
  const profile = parseProfile(url)
  const name = profile?.id ?? profile?.slug
  if (name === undefined) throw new InvalidRecordError(`'${shorten(url)}' is not a profile url`)
  return name
}

function readEngagement(word: string | undefined): string {
  const kind = (word ?? 'reaction').toLowerCase().replace(/s$/, '')
  if (kind !== 'reaction' && kind !== 'comment')
    throw new InvalidRecordError(`engagement must be reaction or comment, not '${shorten(kind)}'`)
  return kind
}

const insert = 'INSERT INTO posts (identity, author, published_at, record, key) VALUES (?, ?, ?, ?, ?)'
const update = 'UPDATE posts SET identity = ?, author = ?, published_at = ?, record = ? WHERE key = ?'

const upsertEngager = `INSERT INTO engagers (post, profile, engagement, url) VALUES (?, ?, ?, ?)
  ON CONFLICT (post, profile, engagement) DO UPDATE SET url = excluded.url`

/** Adds a post, or merges it into the stored one with its url. Engagers are added to the stored ones. */
export function* writePost(
  context: WriteContext,
  { post, identity, engagers }: PreparedPost,
): Steps<WriteResult> {
  const { connection } = context
  checkEngagers(context.target, engagers)
  const existing = yield* findByIdentity(context, 'posts', identity)
  const after: StoredPost = { ...(existing && (JSON.parse(existing.record) as StoredPost)), ...post }
  const author = after.author_profile_url === undefined ? null : toProfileName(after.author_profile_url)
  const published = after.published_at === undefined ? null : Date.parse(after.published_at)
  const key = existing?.key ?? context.nextKey('posts')
  const record = JSON.stringify(after)
  send(connection, existing ? update : insert, identity, author, published, record, key)
  writeEngagers(connection, key, engagers)
  context.remember('posts', 'identity', identity)
  if (!existing) return 'added'
  // Engagers are not compared with the stored ones.
  return record === existing.record && engagers.length === 0 ? 'unchanged' : 'updated'
}

function writeEngagers(connection: Connection, post: number, engagers: readonly Engager[]): void {
  for (const { profile, engagement, url } of engagers)
    send(connection, upsertEngager, post, profile, engagement, url)
}
