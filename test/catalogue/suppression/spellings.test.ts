import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { freePort } from '../../client/listeners.js'
import { machine } from '../../support/command.js'
import { perTest } from '../../support/each.js'

const network = 'https://www.network.example'
const companies = `name,domain,country,network_url
Atelier Lumière SARL,atelier-lumiere.example,FR,${network}/company/atelier-lumiere
`
const people = `first_name,last_name,title,email,email_status,company_domain,network_url
Zoé,Denis,Directrice,zoe.denis@atelier-lumiere.example,valid,atelier-lumiere.example,${network}/in/zoe
Luc,Petit,Directeur,luc.petit@atelier-lumiere.example,valid,atelier-lumiere.example,${network}/in/luc
`
/** Of the first nobody has a record, so that the address is a guess. */
const suppressed = ['Théo Marchand', 'Zoé Denis']
const canary = /marchand@|zoe\.denis|directrice/i

const here = perTest(machine)

/** Gives a machine the records and 1,000 credits. */
async function fill(at: Pick<ReturnType<typeof machine>, 'fill' | 'json'>): Promise<void> {
  await at.fill('companies', companies)
  await at.fill('people', people)
  await at.json('engine credits set 1000')
}

const byName = (name: string) => {
  const [first, last] = name.split(' ')
  return `--first-name ${first} --last-name ${last} --company-name 'Atelier Lumière'`
}

const csv = `first_name,last_name,company_name
Théo,Marchand,Atelier Lumière
Zoé,Denis,Atelier Lumière
Luc,Petit,Atelier Lumière
`

describe('somebody who is suppressed at a domain, and is asked for at the name of the company', () => {
  beforeEach(async () => {
    await fill(here)
    for (const name of suppressed)
      expect((await here.run(['suppress', 'add', `${name} at atelier-lumiere.example`])).code).toBe(0)
  })

  it('is found by suppress check at the name of the company, and at their profile, as a lookup would', async () => {
    const check = async (who: string) => (await here.run(['suppress', 'check', who])).code
    for (const who of [
      'Théo Marchand at Atelier Lumière',
      'zoe denis at Atelier Lumière SARL',
      `${network}/in/zoe`,
    ])
      expect([who, await check(who)]).toEqual([who, 13])
    for (const who of [
      'Luc Petit at Atelier Lumière',
      `${network}/in/luc`,
      'luc.petit@atelier-lumiere.example',
    ])
      expect([who, await check(who)]).toEqual([who, 0])
  })

  it.each(
    suppressed.flatMap((name) => [
      `contacts waterfall ${byName(name)} --enrichment-type email --sync`,
      `contacts waterfall ${byName(name)} --enrichment-type email --wait`,
      `leads enrich ${byName(name)}`,
    ]),
  )('costs nothing, and the command says why nothing is shown: %s', async (line) => {
    const { code, stdout, stderr } = await here.run(line)
    expect([code, stderr]).toEqual([
      9,
      expect.stringContaining('somebody who is suppressed: nothing was sent'),
    ])
    expect(stdout + stderr).not.toMatch(canary)
    expect(await here.balance()).toBe(1_000)
  })

  it('leaves colleagues to be found, and paid for', async () => {
    const { code, stdout } = await here.run(
      `contacts waterfall ${byName('Luc Petit')} --enrichment-type email --sync --json`,
    )
    expect([code, JSON.parse(stdout)]).toEqual([0, expect.objectContaining({ credits_used: 3 })])
    expect(await here.balance()).toBe(997)
  })

  it.each([
    ['contacts waterfall', '--enrichment-type email', 3],
    ['leads enrich', '', 1],
  ])('is counted as suppressed in a batch of %s', async (line, more, price) => {
    here.write('in.csv', csv)
    const batch = `${line} --csv in.csv ${more} --yes -o out.csv`
    expect((await here.run(`${batch} --dry-run --json`)).json).toMatchObject({ lookups: 1, suppressed: 2 })
    const { code, stderr } = await here.run(batch)
    expect([code, stderr]).toEqual([0, expect.stringContaining('1 found · 2 suppressed')])
    const rows = here.rows('out.csv').map(({ _status, _credits }) => [_status, Number(_credits)])
    expect(rows).toEqual([
      ['suppressed', 0],
      ['suppressed', 0],
      ['found', price],
    ])
    expect(here.read('out.csv')).not.toMatch(canary)
    expect(await here.balance()).toBe(1_000 - price)
  })

  it('costs nothing in a request for several, and its job', async () => {
    const contacts = [...suppressed, 'Luc Petit'].map((name) => {
      const [firstname, lastname] = name.split(' ')
      return { firstname, lastname, company_name: 'Atelier Lumière' }
    })
    const asked = { contacts, enrichment_type: ['email'], webhook_url: 'http://127.0.0.1:9/' }
    const accepted = await here.run('api POST /contacts/bulk_enrich --input -', {
      stdin: JSON.stringify(asked),
    })
    expect([accepted.code, accepted.stderr]).toEqual([0, expect.any(String)])
    await here.run('engine jobs run')
    const { enrichment_id: id } = JSON.parse(accepted.stdout) as { enrichment_id: string }
    const { stdout } = await here.run(`contacts get ${id} --json`)
    const results = (JSON.parse(stdout) as { contacts: { credits_used: number }[] }).contacts
    expect(results.map(({ credits_used }) => credits_used)).toEqual([0, 0, 3])
    expect(stdout).not.toMatch(canary)
    expect(await here.balance()).toBe(997)
  })
})

describe('a company that is suppressed by its domain, and is asked for by its name', () => {
  beforeEach(async () => {
    await fill(here)
    await here.run('suppress add atelier-lumiere.example')
  })

  it.each(["accounts enrich --name 'Atelier Lumière'", `leads enrich ${byName('Luc Petit')}`])(
    'costs nothing, and the command says why nothing is shown: %s',
    async (line) => {
      const { code, stderr } = await here.run(line)
      expect([code, stderr]).toEqual([9, expect.stringContaining('somebody who is suppressed')])
      expect(await here.balance()).toBe(1_000)
    },
  )

  it('is counted as suppressed in a batch', async () => {
    here.write('in.csv', 'name\nAtelier Lumière\n')
    const { stderr } = await here.run('accounts enrich --csv in.csv --yes -o out.csv')
    expect(stderr).toContain('0 found · 1 suppressed · 0 credits')
  })
})

describe('an answer of a server that shows only then that it is about somebody suppressed', () => {
  const server = async () => {
    const there = machine()
    onTestFinished(there.remove)
    await fill(there)
    const PROSPECT_API_KEY = await there.newKey()
    const { line: url, stop } = await there.start('serve --port 0')
    onTestFinished(async () => void (await stop()))
    await here.setUp()
    await here.run('suppress add zoe.denis@atelier-lumiere.example')
    return { url, env: { PROSPECT_API_KEY } }
  }

  it('is not shown, and the command says what the server charged', async () => {
    const { url, env } = await server()
    const waterfall = `contacts waterfall ${byName('Zoé Denis')} --enrichment-type email`
    for (const [line, credits] of [
      [`${waterfall} --sync`, '3 credits'],
      [`${waterfall} --wait --refresh`, '3 credits'],
      [`leads enrich ${byName('Zoé Denis')}`, '1 credit'],
    ]) {
      const { code, stdout, stderr } = await here.run(`${line} --base-url ${url}`, { env })
      expect([line, code, stderr]).toEqual([
        line,
        9,
        expect.stringMatching(`somebody who is suppressed.*The server charged ${credits}`),
      ])
      expect(stdout + stderr).not.toMatch(canary)
    }
  })

  it.each([
    ['leads enrich', '', '1'],
    ['contacts waterfall', '--enrichment-type email', '3'],
  ])('is a suppressed row of a batch of %s %s, with what the server charged', async (line, more, price) => {
    const { url, env } = await server()
    here.write('in.csv', csv)
    const batch = `${line} --csv in.csv ${more} --yes --fresh -o out.csv --base-url ${url}`
    const { stderr } = await here.run(batch, { env })
    expect(here.rows('out.csv').map(({ _status, _credits }) => [_status, _credits])).toEqual([
      [expect.stringMatching(/found/), expect.any(String)],
      ['suppressed', price],
      ['found', price],
    ])
    expect(stderr).toContain('1 suppressed')
    expect(here.read('out.csv')).not.toMatch(/zoe\.denis|directrice/i)
  })

  it('is said with what the server charged when it is received by webhook', async () => {
    const { url, env } = await server()
    const port = await freePort()
    const asked = `contacts waterfall ${byName('Zoé Denis')} --enrichment-type email --wait --base-url ${url}`
    const receiving = `--public-url http://127.0.0.1:${port} --receive-port ${port}`
    const { code, stdout, stderr } = await here.run(`${asked} ${receiving}`, { env })
    expect([code, stderr]).toEqual([
      9,
      expect.stringMatching(/somebody who is suppressed.*The server charged 3 credits/),
    ])
    expect(stdout + stderr).not.toMatch(canary)
    const { stdout: events } = await here.run('events list --json')
    const [{ id }] = JSON.parse(events) as [{ id: string }]
    const shown = await here.run(`events show ${id} --json`)
    expect(shown.stdout).toMatch(/somebody who is suppressed/)
    expect(shown.stdout).not.toMatch(canary)
  })
})
