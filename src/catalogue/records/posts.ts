import type { Fields } from '../../api/values/objects.js'
import type { LeaveOut } from '../../csv/names.js'
import { parseProfile } from '../../identity/profile.js'
import { invalid, shorten, text, textWithin } from '../../identity/readers.js'
import { type Connection, send } from '../../storage/driver/connection.js'
import {
  type Candidate,
  type Change,
  decideEach,
  type ImportContext,
  readIdentities,
} from '../write/import-context.js'
import { fields, type RecordFields, readFields, readOr } from './fields.js'

/** A person who reacted to a post or commented on it. `profile` is the id or slug in the url. */
type Engager = ReturnType<typeof readEngager>

/** A stored post: its fields without the engagers. */
export type StoredPost = Omit<RecordFields<'posts'>, 'engagers'>

export type PreparedPost = ReturnType<typeof preparePost>

/** Reads a post. Throws when it has no url. */
export function preparePost(raw: Fields, leaveOut: LeaveOut) {
  const { engagers = [], ...post } = readFields(fields.posts, raw, leaveOut)
  const { post_url, author_profile_url: author } = post
  if (post_url === undefined) throw invalid('a post needs a post_url')
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

function readEngager(raw: Fields) {
  const url = text(raw.network_profile_url)
  if (url === undefined) throw invalid('each needs a network_profile_url')
  return { profile: toProfileName(url), engagement: readEngagement(text(raw.engagement)), url }
}

/** Longer ones than any of the network fit into an index. */
const indexedName = textWithin(2_000)

function toProfileName(url: string): string {
  const profile = parseProfile(url)
  const name = indexedName(profile?.id ?? profile?.slug)
  if (name === undefined) throw invalid(`'${shorten(url)}' is not a profile url`)
  return name
}

function readEngagement(word: string | undefined): string {
  const kind = (word ?? 'reaction').toLowerCase().replace(/s$/, '')
  if (kind !== 'reaction' && kind !== 'comment')
    throw invalid(`engagement must be reaction or comment, not '${shorten(kind)}'`)
  return kind
}

const postTable = { name: 'posts', columns: ['key', 'identity', 'record'] } as const

interface PostRow extends Candidate {
  readonly identity: string
  readonly author: string | null
  readonly published_at: number | null
  readonly record: string
}

type KnownPost = Pick<PostRow, 'key' | 'identity' | 'record'>

interface PostChange extends Change {
  readonly row: PostRow
  readonly engagers: readonly Engager[]
}

/** Adds posts, or merges them into the stored ones with the same url. Engagers are added to the stored ones. */
export async function importPosts(context: ImportContext, posts: readonly PreparedPost[]) {
  const identities = posts.map(({ identity }) => identity)
  const known = await readIdentities<KnownPost>(context, postTable, identities)
  const changes: PostChange[] = []
  const outcomes = decideEach(posts, ({ post, identity, engagers }) => {
    const [before] = known.find('identity', identity)
    const merged: StoredPost = { ...(before && (JSON.parse(before.record) as StoredPost)), ...post }
    const row = {
      key: before?.key ?? context.nextKey('posts'),
      identity,
      author: merged.author_profile_url === undefined ? null : toProfileName(merged.author_profile_url),
      published_at: merged.published_at === undefined ? null : Date.parse(merged.published_at),
      record: JSON.stringify(merged),
    }
    const said = () => ({
      ...post,
      engagers: engagers.map(({ url, engagement }) => ({ network_profile_url: url, engagement })),
    })
    changes.push({ row, before, said, engagers })
    known.set(row)
    if (!before) return 'added'
    // Engagers are not compared with the stored ones.
    return before.record === row.record && engagers.length === 0 ? 'unchanged' : 'updated'
  })
  await context.target.keep(postTable, changes, writePosts)
  return outcomes
}

const insert = 'INSERT INTO posts (identity, author, published_at, record, key) VALUES (?, ?, ?, ?, ?)'
const update = 'UPDATE posts SET identity = ?, author = ?, published_at = ?, record = ? WHERE key = ?'

const upsertEngager = `INSERT INTO engagers (post, profile, engagement, url) VALUES (?, ?, ?, ?)
  ON CONFLICT (post, profile, engagement) DO UPDATE SET url = excluded.url`

async function writePosts(connection: Connection, changes: readonly PostChange[]): Promise<void> {
  for (const { row, before, engagers } of changes) {
    const { key, identity, author, published_at, record } = row
    send(connection, before ? update : insert, identity, author, published_at, record, key)
    for (const { profile, engagement, url } of engagers)
      send(connection, upsertEngager, key, profile, engagement, url)
  }
}
