import { rmSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { ends, machine } from '../../support/command.js'
import { perTest } from '../../support/each.js'

const here = perTest(machine)

const profile = 'https://www.network.example/in/ann-lee'

async function prepare(): Promise<void> {
  await here.fill('companies', 'name,domain,network_url\nAcme,acme.example,network.example/company/acme\n')
  await here.fill(
    'people',
    `first_name,last_name,email,company_domain,network_url\nAnn,Lee,ann@acme.example,acme.example,${profile}\n`,
  )
}

/** Returns what a command on a file costs, as its quote says and as it does. */
async function costsOf(command: string, cells: string) {
  here.write('in.csv', cells)
  const { credits, in_store } = await here.json<{ credits: { max: number }; in_store: number }>(
    `${command} --csv in.csv --fresh --dry-run`,
  )
  rmSync(here.path('out.csv'), { force: true })
  const before = await here.balance()
  await ends(here.run(`${command} --csv in.csv --fresh --max-credits 50 -o out.csv`), 0)
  const [row] = here.rows('out.csv')
  return { quoted: credits.max, in_store, spent: before - (await here.balance()), source: row?._source }
}

async function spentOn(line: string): Promise<number> {
  const before = await here.balance()
  await here.json(line)
  return before - (await here.balance())
}

const named = 'First name,Last name,Domain\nAnn,Lee,acme.example\n'
const profiled = `Profile\n${profile}\n`
const reused = { quoted: 0, in_store: 1, spent: 0, source: 'reused' }

describe('an answer that states the profile of who was asked for', () => {
  it.each([
    ['leads enrich', 1, 'leads enrich'],
    ['contacts waterfall --enrichment-type email', 3, 'contacts waterfall --enrichment-type email --wait'],
  ])('by name answers who asks by that profile, in a file and alone: %s', async (command, price, single) => {
    await prepare()
    expect(await costsOf(command, named)).toMatchObject({ in_store: 0, spent: price, source: 'lookup' })
    expect(await costsOf(command, profiled)).toEqual(reused)
    expect(await here.json(`${single} --network-url ${profile} --dry-run`)).toMatchObject({ in_store: true })
    expect(await spentOn(`${single} --network-url ${profile}`)).toBe(0)
  })

  it('answers it where a single lookup asked by name, and not with other options', async () => {
    await prepare()
    expect(await spentOn('leads enrich --first-name Ann --last-name Lee --domain acme.example')).toBe(1)
    expect(await costsOf('leads enrich', profiled)).toEqual(reused)
    expect(await costsOf('leads enrich --no-live', profiled)).toMatchObject({ in_store: 0, spent: 1 })
  })

  it('is no answer to who asks by name: another person may have that name', async () => {
    await prepare()
    expect(await costsOf('leads enrich', profiled)).toMatchObject({ spent: 1 })
    expect(await costsOf('leads enrich', named)).toMatchObject({ quoted: 1, in_store: 0, spent: 1 })
  })
})

describe('a company that was asked for', () => {
  it.each([
    ['name', 'Name\nAcme\n'],
    ['domain', 'Domain\nacme.example\n'],
  ])('by %s is paid for once, when the file that was written is looked up again', async (_, asked) => {
    await prepare()
    expect(await costsOf('accounts enrich', asked)).toMatchObject({ spent: 1 })
    expect(here.rows('out.csv')[0]).toMatchObject({ network_url: expect.stringContaining('/company/acme') })
    expect(await costsOf('accounts enrich', here.read('out.csv'))).toEqual(reused)
  })

  it('by domain is another one where the profile in its row is not that of the answer', async () => {
    await prepare()
    await costsOf('accounts enrich', 'Domain\nacme.example\n')
    const other = 'Domain,Company profile\nacme.example,https://www.network.example/company/acme-other\n'
    here.write('in.csv', other)
    expect(await here.json('accounts enrich --csv in.csv --fresh --dry-run')).toMatchObject({ in_store: 0 })
  })
})
