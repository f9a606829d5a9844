import { type Connection, send } from '../../storage/driver/connection.js'
import type { RawRecord } from '../kinds/kind.js'
import { parseProfile } from '../normalize/profile.js'
import { short, text, Unreadable } from '../normalize/readers.js'
import { answered, type Steps } from '../write/sync-steps.js'
import type { Writing, Written } from '../write/write-context.js'
import { type Fields, fields, readFields } from './fields.js'
import { checkEngagers } from './lengths.js'

/** Someone who reacted to a post or commented on it. `profile` is the id or the name in the url. */
export interface Engager {
  readonly profile: string
  readonly engagement: string
  readonly url: string
}

/** A stored post: the given fields without its engagers. */
export type StoredPost = Omit<Fields<'posts'>, 'engagers'>

/** A post read from a file or the sample, ready to be written. */
export interface PreparedPost {
  readonly post: StoredPost
  readonly identity: string
  readonly engagers: readonly Engager[]
}

/** Reads a given post. Refuses one without url, and engagers that are no persons. */
export function preparePost(given: RawRecord): PreparedPost {
  const { engagers = [], ...post } = readFields(fields.posts, given)
  if (post.post_url === undefined) throw new Unreadable('a post needs a post_url')
  if (post.author_profile_url !== undefined) profileIn(post.author_profile_url)
  return { post, identity: postIdentity(post.post_url), engagers: engagers.map(engager) }
}

/** A post's url as it is compared: without scheme, `www`, query and trailing slash. */
export function postIdentity(url: string): string {
  const bare = url
    .trim()
    .replace(/[?#].*$/, '')
    .replace(/\/+$/, '')
    .replace(/^(?:https?:)?(?:\/\/)?(?:www\.)?/i, '')
  const [host = ''] = bare.split('/', 1)
  return host.toLowerCase() + bare.slice(host.length)
}

function engager(given: RawRecord): Engager {
  const url = text(given.network_profile_url)
  if (url === undefined) throw new Unreadable('engagers: each needs a network_profile_url')
  return { profile: profileIn(url), engagement: engagementOf(text(given.engagement)), url }
}

function profileIn(url: string): string {
  const profile = parseProfile(url)
  const name = profile?.id ?? profile?.slug
  if (name === undefined) throw new Unreadable(`'${short(url)}' is not a profile url`)
  return name
}

function engagementOf(word: string | undefined): string {
  const kind = (word ?? 'reaction').toLowerCase().replace(/s$/, '')
  if (kind !== 'reaction' && kind !== 'comment')
    throw new Unreadable(`engagers: engagement must be reaction or comment, not '${short(kind)}'`)
  return kind
}

interface PostRow {
  readonly key: number
  readonly record: string
}

const insert = 'INSERT INTO posts (identity, author, published_at, record, key) VALUES (?, ?, ?, ?, ?)'
const update = 'UPDATE posts SET identity = ?, author = ?, published_at = ?, record = ? WHERE key = ?'

/** Adds a post, or merges what is given over the one with its url; its engagers are added to those there are. */
export function* writePost(writing: Writing, { post, identity, engagers }: PreparedPost): Steps<Written> {
  const { connection, mayHold } = writing
  checkEngagers(connection, engagers)
  const existing = mayHold('posts', 'identity', identity)
    ? yield* answered(connection.get<PostRow>('SELECT key, record FROM posts WHERE identity = ?', identity))
    : undefined
  const after: StoredPost = { ...(existing && (JSON.parse(existing.record) as StoredPost)), ...post }
  const author = after.author_profile_url === undefined ? null : profileIn(after.author_profile_url)
  const published = after.published_at === undefined ? null : Date.parse(after.published_at)
  const key = existing?.key ?? writing.nextKey('posts')
  send(connection, existing ? update : insert, identity, author, published, JSON.stringify(after), key)
  writeEngagers(connection, key, engagers)
  writing.note('posts', 'identity', identity)
  return existing ? 'updated' : 'added'
}

function writeEngagers(connection: Connection, post: number, engagers: readonly Engager[]): void {
  for (const { profile, engagement, url } of engagers)
    send(
      connection,
      'INSERT INTO engagers (post, profile, engagement, url) VALUES (?, ?, ?, ?) ON CONFLICT (post, profile, engagement) DO UPDATE SET url = excluded.url',
      post,
      profile,
      engagement,
      url,
    )
}
