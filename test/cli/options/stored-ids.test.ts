import { describe, expect, it } from 'vitest'
import { answering, ends, stockedMachine } from '../../support/command.js'
import { perTest } from '../../support/each.js'
import { loadSample } from '../../support/sample.js'

const here = perTest(stockedMachine)

const enrich = async (name: string) => {
  here.write(name, `domain\n${name}.example\n`)
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
    const forgotten = await here.run('runs forget --last')
    expect([forgotten.code, (await listed('runs')).map(({ id }) => id)]).toEqual([0, [oldest?.id]])
  })

  it('are refused with the candidates and exit 2 where a beginning fits several runs', async () => {
    for (let count = 0; count < 17; count++) await enrich(`f${count}`)
    const ids = (await listed('runs')).map(({ id }) => id)
    // Of 17 ids two begin with the same of 16 digits.
    const digit = ids.map((id) => id.slice(0, 1)).find((one, at, all) => all.indexOf(one) !== at) ?? ''
    const refused = await ends(here.run(['runs', 'show', digit]), 2)
    expect(refused.stderr).toContain(ids.find((id) => id.startsWith(digit))?.slice(0, 8))
  })

  it('are accepted as a beginning and as --last for jobs, deliveries, keys and workspaces', async () => {
    await loadSample(here.home)
    const hook = '--webhook-url http://127.0.0.1:9/x --no-wait'
    await here.run(`lists create --name L --companies '{"domain":"a.example"}' ${hook}`)
    await here.run('engine jobs run')
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

  it('are accepted as a beginning and as --last for searches, lists, enrichments and personas of the engine', async () => {
    await loadSample(here.home)
    await here.run('leads advanced-search --job-titles a --no-live --wait')
    await here.run(`lists create --name L --companies '{"domain":"a.example"}' --wait`)
    const person = '--first-name A --last-name B --domain a.example'
    await here.run(`contacts waterfall ${person} --enrichment-type email --wait`)
    await here.run('personas create --name P --job-titles a')
    const jobs = await here.json<{ id: string; kind: string }[]>('engine jobs list')
    const [persona] = (await here.json<{ personas: { id: string }[] }>('personas list')).personas
    const idOf = (kind: string) => jobs.find((job) => job.kind === kind)?.id ?? ''
    for (const [words, id, named] of [
      [['searches', 'get'], idOf('lead_search'), 'search.id'],
      [['lists', 'get'], idOf('list_import'), 'id'],
      [['contacts', 'get'], idOf('contact_enrichment'), 'enrichment_id'],
      [['personas', 'get'], persona?.id ?? '', 'id'],
    ] as const)
      for (const given of [id.slice(0, 6), '--last', id]) {
        const read = await here.run([...words, given, '--jq', `.${named}`])
        expect([words, given, read.stdout.trim()]).toEqual([words, given, id])
      }
    const table = await here.run('lists list', { terminal: true })
    expect(table.stdout).toContain(idOf('list_import').slice(0, 8))
    expect(table.stdout).not.toContain(idOf('list_import').slice(0, 9))
    expect((await here.run('searches get zz')).code).toBe(9)
  })

  it('are passed whole to a server, which --last does not ask', async () => {
    const server = '--base-url https://api.example.com/api/v2'
    await ends(here.run(`searches get --last ${server}`), 2, 'engine of this machine')
    const caller = answering({ status: 404, body: { error: 404, message: 'Not found' } })
    await here.run(`searches get 7f6f ${server}`, { caller })
    expect(caller.asked[0]?.input).toEqual({ id: '7f6f' })
  })

  it.each([
    ['personas get', 'no persona yet'],
    ['runs show', 'no run yet'],
    ['events show', 'no event yet'],
  ])('are not found by %s --last where none is stored', async (line, text) => {
    await here.run('init')
    await ends(here.run(`${line} --last`), 9, text)
  })
})
