import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { errorOf, type Machine, machine } from '../../support/command.js'

let here: Machine
beforeEach(async () => {
  here = machine()
  await here.json('init')
})
afterEach(() => here.remove())

const enrich = async (name: string) => {
  writeFileSync(join(here.home, name), `domain\n${name}.example\n`)
  await here.run(['accounts', 'enrich', '--csv', name, '--quiet'])
}
const listed = (...words: string[]) => here.json<{ id: string }[]>(...words, 'list')
const shown = async (...words: string[]) => (await here.json<{ id: string }>(...words)).id

describe('ids of this machine', () => {
  it('are accepted as a beginning that only one run has, and as --last', async () => {
    await enrich('a')
    await enrich('b')
    const [newest, oldest] = await listed('runs')
    expect(await shown('runs', 'show', oldest?.id.slice(0, 8) ?? '')).toBe(oldest?.id)
    expect(await shown('runs', 'show', '--last')).toBe(newest?.id)
    const forgotten = await here.run(['runs', 'forget', '--last'])
    expect([forgotten.code, (await listed('runs')).map(({ id }) => id)]).toEqual([0, [oldest?.id]])
  })

  it('are refused with the candidates and exit 2 where a beginning fits several runs', async () => {
    for (let count = 0; count < 17; count++) await enrich(`f${count}`)
    const ids = (await listed('runs')).map(({ id }) => id)
    // Of 17 ids two begin with the same of 16 digits.
    const digit = ids.map((id) => id.slice(0, 1)).find((one, at, all) => all.indexOf(one) !== at) ?? ''
    const refused = await here.run(['runs', 'show', digit])
    expect(refused.code).toBe(2)
    expect(errorOf(refused).error).toContain(ids.find((id) => id.startsWith(digit))?.slice(0, 8))
  })

  it('are accepted as a beginning and as --last for jobs, deliveries, keys and workspaces', async () => {
    await here.run(['data', 'sample', '--companies', '2', '--people', '2', '--quiet'])
    const hook = ['--webhook-url', 'http://127.0.0.1:9/x', '--no-wait']
    await here.run(['lists', 'create', '--name', 'L', '--companies', '{"domain":"a.example"}', ...hook])
    await here.run(['engine', 'jobs', 'run'])
    for (const kind of ['jobs', 'deliveries']) {
      const [one] = await listed('engine', kind)
      expect(await shown('engine', kind, 'show', one?.id.slice(0, 12) ?? '')).toBe(one?.id)
      expect(await shown('engine', kind, 'show', '--last')).toBe(one?.id)
    }
    const [job] = await listed('engine', 'jobs')
    const deliveries = await here.json<object[]>(
      'engine',
      'deliveries',
      'list',
      '--job',
      job?.id.slice(0, 8) ?? '',
    )
    expect(deliveries).toHaveLength(1)
    const [space] = await listed('engine', 'workspaces')
    expect(await shown('engine', 'workspaces', 'use', space?.id.slice(0, 8) ?? '')).toBe(space?.id)
    const [key] = await listed('engine', 'keys')
    expect(await shown('engine', 'keys', 'revoke', key?.id.slice(0, 8) ?? '')).toBe(key?.id)
  })

  it.each([
    ['runs show', 2, '--last'],
    ['runs show 7f --last', 2, 'exclude'],
    ['runs show --last', 9, 'no run yet'],
    ['events replay --to http://127.0.0.1:9/x', 2, '--last'],
    ['events show --last', 9, 'no event yet'],
  ])('are asked for where %s names none, or too much', async (line, code, text) => {
    await here.run(['init'])
    const ended = await here.run(line.split(' '))
    expect([ended.code, ended.stderr]).toEqual([code, expect.stringContaining(text)])
  })
})
