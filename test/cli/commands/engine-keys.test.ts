import { readFileSync } from 'node:fs'
import { beforeEach, describe, expect, it } from 'vitest'
import { ends, machine } from '../../support/command.js'
import { perTest } from '../../support/each.js'
import { loadSample } from '../../support/sample.js'

const here = perTest(machine)
beforeEach(() => here.json('init'))

const create = (options = ''): Promise<{ id: string; key: string; member: string }> =>
  here.json(`engine keys create --member me@localhost ${options}`)
const askAs = (key: string, line = 'credits') => here.run(line, { env: { PROSPECT_API_KEY: key } })

describe('engine keys', () => {
  it('prints a new key once, stores only its hash, and accepts it', async () => {
    const { key, member } = await create()
    expect(member).toBe('me@localhost')
    await ends(askAs(key), 0)
    expect(JSON.stringify(await here.json('engine keys list'))).not.toContain(key)
    expect(readFileSync(here.path('engine.db')).includes(key)).toBe(false)
  })

  it('have a name and the time of their last use', async () => {
    const { key } = await create('--name "CI of the website"')
    const listed = async () =>
      ((await here.json('engine keys list')) as { name: string | null; last_used_at: string | null }[]).find(
        ({ name }) => name === 'CI of the website',
      )
    expect(await listed()).toMatchObject({ last_used_at: null })
    expect((await askAs(key)).code).toBe(0)
    const first = (await listed())?.last_used_at
    expect(Date.parse(first ?? '')).toBeGreaterThan(Date.now() - 60_000)
    // What is newer than an hour is not written again.
    await askAs(key)
    expect((await listed())?.last_used_at).toBe(first)
    await here.json('engine clock advance 2d')
    await askAs(key)
    expect(Date.parse((await listed())?.last_used_at ?? '')).toBeGreaterThan(Date.now() + 86_400_000)
  })

  it('takes a member by the id that members list prints, or its beginning', async () => {
    const members = (await here.json('engine members list')) as { id: string }[]
    const id = members[0]?.id ?? ''
    for (const given of [id, id.slice(0, 8)])
      expect(await here.json('engine', 'keys', 'create', '--member', given)).toMatchObject({
        member: 'me@localhost',
      })
    expect(await here.json('engine', 'members', 'set', id.slice(0, 8), '--weekly-limit', '7')).toMatchObject({
      id,
      weekly_limit: 7,
    })
  })

  it('are refused outside of the areas of their scope, and once they have expired or are revoked', async () => {
    const [scoped, timed, own] = [
      await create('--scope accounts --scope lists'),
      await create('--expires 2100-01-01'),
      await create(),
    ]
    const codes = async () => {
      const ended = [scoped, timed, own].map(({ key }) => askAs(key, 'personas list'))
      return (await Promise.all(ended)).map(({ code }) => code)
    }
    expect(await codes()).toEqual([3, 0, 0])
    const keys = await here.json<{ scopes: unknown }[]>('engine keys list')
    expect(keys.map(({ scopes }) => scopes)).toContainEqual(['accounts', 'lists'])
    await here.json('engine clock set 2100-01-02')
    expect(await here.json(`engine keys revoke ${own.id}`)).toEqual({ id: own.id, revoked: true })
    expect(await codes()).toEqual([3, 3, 3])
    expect((await here.run(`engine keys revoke ${own.id}`)).code).toBe(9)
  })

  it('replaces the revoked key of this machine', async () => {
    const [own] = (await here.json('engine keys list')) as { id: string }[]
    await ends(here.run(['engine', 'keys', 'revoke', own?.id ?? '']), 0, 'key of this machine')
    expect(here.read('credentials.json')).not.toContain('pk_')
    expect((await here.run('credits')).code).toBe(0)
  })
})

it('engine members remove revokes the keys of a member and keeps what they spent', async () => {
  await loadSample(here.home)
  await here.json('engine members add ann@example.com --weekly-limit 50')
  const { key } = (await here.json('engine keys create --member ann@example.com')) as {
    key: string
  }
  const asAnn = (argv: string) => here.run(argv, { env: { PROSPECT_API_KEY: key } })
  expect((await asAnn('accounts enrich --domain acme-robotics.example --yes')).code).toBe(0)
  const spent = () => here.json('engine ledger --by member')
  const before = await spent()
  expect(await here.json('engine members remove ann@example.com')).toMatchObject({
    email: 'ann@example.com',
    removed: true,
    keys_revoked: 1,
  })
  expect((await asAnn('credits')).code).toBe(3)
  expect(await spent()).toEqual(before)
  const emails = async () =>
    ((await here.json('engine members list')) as { email: string }[]).map(({ email }) => email)
  expect(await emails()).toEqual(['me@localhost'])
  expect(await here.json('engine ledger --member ann@example.com')).toHaveLength(1)
  expect(JSON.stringify(await here.json('engine keys list'))).toContain('ann@example.com')
  await ends(here.run('engine keys create --member ann@example.com'), 9)
  // The old keys stay revoked, and the old limit is gone.
  expect(await here.json('engine members add ann@example.com')).toMatchObject({
    weekly_limit: null,
  })
  expect((await asAnn('credits')).code).toBe(3)
  expect(await emails()).toEqual(['me@localhost', 'ann@example.com'])
})
