import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { TargetNames } from '../../batch/run/ports.js'
import type { GlobalOptions, Home, HomeContext, StreamsContext, TargetContext } from '../context/context.js'
import { targetOf } from './resolve-target.js'

const own = 'local'

/** The name of a target on record; an engine keeps it wherever its state is moved, but for that of this machine. */
export async function targetName(
  context: StreamsContext & HomeContext & TargetContext,
  options: GlobalOptions,
): Promise<string> {
  const target = targetOf(options, context.streams.env, context.settings())
  if (target.kind === 'remote') return target.baseUrl
  return isOwn(context.home) ? own : named(context, await engineOf(context, options))
}

/** The same, with the names that an engine has had at other places. */
export async function targetNames(
  context: StreamsContext & HomeContext & TargetContext,
  options: GlobalOptions,
): Promise<TargetNames> {
  if (!context.isLocal(options)) return { name: await targetName(context, options), formerly: [] }
  const { home } = context
  if (isOwn(home)) {
    // A state that came back from a server is this machine's again.
    const engine = existsSync(home.engine) ? await engineOf(context, { create: false }) : undefined
    return engine === undefined
      ? { name: own, formerly: [] }
      : { name: own, engine, formerly: [{ target: `${own} ${engine}` }] }
  }
  const engine = await engineOf(context, options)
  const name = named(context, engine)
  if (engine === undefined) return { name, formerly: [] }
  const isMoved = (await engineAt(besides(home))) === engine
  return {
    name,
    engine,
    formerly: [{ target: placeName(home) }, isMoved ? { target: own } : { target: own, engine }],
  }
}

const besides = ({ catalogue }: Home): string => join(dirname(catalogue), 'engine.db')

const isOwn = (home: Home): boolean => home.engine === besides(home)

const named = ({ home }: HomeContext, engine: string | undefined): string =>
  engine === undefined ? placeName(home) : `${own} ${engine}`

/** What an engine at another place was called before it was known by what is in it. */
const placeName = ({ engine }: Home): string => `${own} ${digest(withoutSecrets(engine))}`

/** The same place, whoever asks for it and with whatever password. */
const withoutSecrets = (location: string): string =>
  location.replace(/^(postgres(?:ql)?:\/\/)[^/@]*@/, '$1').replace(/(?<=[?&])(?:user|password)=[^&]*/g, '')

/** What an engine is known by: its first workspace, which goes with it wherever its state is moved. */
async function engineOf(
  context: TargetContext,
  options: GlobalOptions & { readonly create?: boolean },
): Promise<string | undefined> {
  const [first] = await (await context.admin(options)).workspaces()
  return first && engineName(first.id, first.createdAt)
}

/** The same of the file of an engine that is only looked at. */
async function engineAt(path: string): Promise<string | undefined> {
  if (!existsSync(path)) return undefined
  try {
    const look = (await import('../../storage/database/read-only.js')).lookAt(path)
    const first = await look.driver
      .read((reads) => reads.get<{ id: string; at: number }>(firstSql))
      .finally(() => look.driver.close())
    return first && engineName(first.id, first.at)
  } catch {
    // Whatever is wrong with it is told where it is used.
    return undefined
  }
}

const firstSql = 'SELECT id, created_at AS at FROM workspaces ORDER BY created_at, name LIMIT 1'

const engineName = (id: string, createdAt: number): string => digest(JSON.stringify([id, createdAt]))

const digest = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 8)

/** The name that spending is counted under. */
export const profileName = (
  { streams, settings }: StreamsContext & HomeContext,
  options: GlobalOptions,
): string => options.profile ?? streams.env.PROSPECT_PROFILE ?? settings().profile ?? 'default'
