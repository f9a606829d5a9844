import { writeFileSync } from 'node:fs'
import { beforeEach, describe, expect, it } from 'vitest'
import { createResolver, type ResolverOptions } from '../../src/client/resolver.js'
import { perFile } from '../support/each.js'
import { type Known, nameServer } from '../support/name-server.js'
import { newFolder } from '../support/new-folder.js'
import { until } from '../support/until.js'

const zone: Readonly<Record<string, Known>> = {
  'four.example': ['93.184.215.14'],
  'both.example': ['93.184.215.14', '2606:2800:21f:cb07:6820:80da:af6b:8b2c'],
  'six.example': ['2606:2800:21f:cb07:6820:80da:af6b:8b2c'],
  'alias.example': ['target.example', '93.184.215.14'],
  'alias-inside.example': ['target.internal', '10.1.2.3'],
  'mapped.example': ['::ffff:127.0.0.1'],
  'empty.example': [],
  'failing.example': 'SERVFAIL',
}

let answering: (name: string, type: 'A' | 'AAAA') => Known
const server = perFile(() => nameServer((name, type) => answering(name, type as 'A' | 'AAAA')))
const folder = perFile(newFolder)

const known = (name: string): Known => (name.startsWith('dead') ? 'silence' : (zone[name] ?? 'NXDOMAIN'))

beforeEach(() => {
  answering = known
  writeFileSync(folder.at('hosts'), '')
})

const resolverOf = (options: Partial<ResolverOptions> = {}) =>
  createResolver({ servers: [server.address], hostsFile: folder.at('hosts'), lookupMs: 300, ...options })
const codeOf = (looking: Promise<unknown>) =>
  looking.then(
    () => undefined,
    ({ code }: { code?: string }) => code,
  )
const timesAsked = (name: string) => server.asked.filter((one) => one === name).length

describe('a name', () => {
  it.each([
    ['four.example', ['93.184.215.14']],
    ['both.example', ['93.184.215.14', '2606:2800:21f:cb07:6820:80da:af6b:8b2c']],
    ['six.example', ['2606:2800:21f:cb07:6820:80da:af6b:8b2c']],
    ['alias.example', ['93.184.215.14']],
    ['alias-inside.example', ['10.1.2.3']],
    ['mapped.example', ['::ffff:127.0.0.1']],
  ])('has the addresses of its name server, of both families: %s', async (name, addresses) => {
    expect(await resolverOf()(name)).toEqual(addresses)
  })

  it.each([
    ['missing.example', 'ENOTFOUND'],
    ['empty.example', 'ENODATA'],
    ['failing.example', 'EAI_AGAIN'],
    ['dead.example', 'EAI_AGAIN'],
    [`${'x'.repeat(70)}.example`, 'ENOTFOUND'],
  ])('that cannot be resolved fails as the system would say it: %s', async (name, code) => {
    expect(await codeOf(resolverOf()(name))).toBe(code)
  })

  it('fails as one that cannot be looked up when no name server is there', async () => {
    expect(await codeOf(resolverOf({ servers: ['127.0.0.1:1'] })('four.example'))).toBe('EAI_AGAIN')
  })

  it('has the addresses that are known when the question for the others is not answered', async () => {
    answering = (_, type) => (type === 'A' ? ['93.184.215.14'] : 'silence')
    expect(await resolverOf()('half.example')).toEqual(['93.184.215.14'])
  })

  it('is looked up again each time, because its addresses may have changed', async () => {
    let times = 0
    answering = (_, type) => (type === 'A' ? [`93.184.215.${++times}`] : [])
    const resolve = resolverOf()
    expect([await resolve('moving.example'), await resolve('moving.example')]).toEqual([
      ['93.184.215.1'],
      ['93.184.215.2'],
    ])
  })
})

describe('the hosts file', () => {
  it('comes before the name servers, and is read again when it has changed', async () => {
    const lines = ['# none', '10.9.8.7\tFOUR.example  other.example # here', 'nonsense', '::1 four.example']
    writeFileSync(folder.at('hosts'), lines.join('\n'))
    const resolve = resolverOf()
    const before = timesAsked('four.example')
    expect(await resolve('four.example')).toEqual(['10.9.8.7', '::1'])
    expect(await resolve('other.example')).toEqual(['10.9.8.7'])
    expect(timesAsked('four.example')).toBe(before)
    writeFileSync(folder.at('hosts'), '10.9.8.6 other.example\n')
    expect(await resolve('four.example')).toEqual(['93.184.215.14'])
    expect(await resolve('other.example')).toEqual(['10.9.8.6'])
  })

  it('may be missing; localhost is this machine even then, and no name server is asked', async () => {
    const resolve = resolverOf({ hostsFile: folder.at('missing') })
    expect(await resolve('localhost')).toEqual(['127.0.0.1', '::1'])
    expect(await resolve('app.localhost')).toEqual(['127.0.0.1', '::1'])
    expect(timesAsked('localhost') + timesAsked('app.localhost')).toBe(0)
    expect(await resolve('four.example')).toEqual(['93.184.215.14'])
  })
})

describe('lookups of one owner', () => {
  it('wait for each other, and nobody else does', async () => {
    const resolve = resolverOf({ lookupMs: 60_000, atOnce: 4 })
    const ending = new AbortController()
    const dead = Array.from({ length: 100 }, (_, at) =>
      codeOf(resolve(`dead-${at}.one.example`, { owner: 'one', signal: ending.signal })),
    )
    const asked = () => new Set(server.asked.filter((name) => name.endsWith('.one.example'))).size
    await until(() => asked() >= 4)
    for (let count = 0; count < 10; count++)
      expect(await resolve('four.example', { owner: 'two' })).toEqual(['93.184.215.14'])
    expect(await resolve('four.example')).toEqual(['93.184.215.14'])
    expect(asked()).toBe(4)
    ending.abort()
    await Promise.all(dead)
    expect(await resolve('four.example', { owner: 'one' })).toEqual(['93.184.215.14'])
  })
})
