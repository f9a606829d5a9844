import { describe, expect, it } from 'vitest'
import { ends, practiceMachine } from '../../support/command.js'
import { perTest } from '../../support/each.js'

const here = perTest(practiceMachine)

describe('missing required fields', () => {
  it('asks for a missing required field at a terminal', async () => {
    const { code, json } = await here.run('personas create', { typed: [['Name', 'Buyers\r']] })
    expect([code, json]).toMatchObject([0, { name: 'Buyers' }])
  })

  it('asks again where the answer is not valid, and ends with exit code 130 at Ctrl-C', async () => {
    const typed = [
      ['Name', '\r'],
      ['name must', '\u0003'],
    ] as const
    await ends(here.run('personas create', { typed }), 130, '--name must be text.')
  })

  it('splits an answer at commas for a list field', async () => {
    const typed = [['Job titles', 'CTO, Head of Sales\r']] as const
    const { code, json } = await here.run('titles suggest', { typed })
    const titles = (json as { suggestions: { jobTitle: string }[] }).suggestions.map(
      ({ jobTitle }) => jobTitle,
    )
    expect([code, titles]).toEqual([0, expect.arrayContaining(['CTO', 'Head of Sales'])])
  })

  it('exits 2 with the option of a missing field with --no-input, with --yes or in a pipe', async () => {
    const asked = await here.run('personas create --no-input', { typed: [] })
    const agreed = await here.run('personas create -y', { typed: [['Name', 'Buyers\r']] })
    const piped = await here.run('personas create')
    for (const ended of [asked, agreed, piped])
      expect([ended.code, ended.stdout, ended.stderr]).toEqual([
        2,
        '',
        expect.stringMatching(/^--name is required\./),
      ])
  })

  it('leaves a missing field of --input to the API, also where the price of the request is asked for', async () => {
    for (const line of ['personas create --input -', 'personas create --input - --dry-run']) {
      const { code, json } = await here.run(line, { stdin: '{}' })
      expect([code, json]).toEqual([7, { error: 'Missing required keys: name' }])
    }
  })
})

describe('a dry run', () => {
  it.each([
    ['accounts enrich --input -', '{"domain":5}', 7],
    ['accounts enrich --input -', '{"domian":"acme.example"}', 7],
    ['accounts enrich --bulk --input -', '{}', 7],
    ['leads search --input -', '{}', 7],
    ['contacts waterfall --input -', '{"linkedin_url":"acme"}', 7],
    ['credits consumption --input -', '{"start_date":"2026-01-02","end_date":"2026-01-01"}', 7],
    ["accounts enrich --domain acme.example --idempotency-key ''", '', 7],
    ['accounts enrich --domain acme.example --fields nmae', '', 2],
    ['leads search --company-domain acme.example --job-titles CEO --wait --fields lead.nmae', '', 2],
    ['accounts enrich --csv - --fields nmae', 'domain\nacme.example\n', 2],
    ['accounts enrich --csv - --format ids', 'domain\nacme.example\n', 2],
    ['accounts enrich --csv - -o out.pdf', 'domain\nacme.example\n', 2],
    ['accounts enrich --csv - -o nowhere/out.csv', 'domain\nacme.example\n', 2],
  ])('is refused as the command itself is: %s, of %j', async (line, stdin, code) => {
    await here.run('data import companies -', { stdin: 'name,domain\nBeta,beta.example\n' })
    await here.run('data import people -', { stdin: 'full_name,email\nAnn Lee,ann@beta.example\n' })
    const real = await here.run(line, { stdin })
    const dry = await here.run(`${line} --dry-run`, { stdin })
    expect([real.code, dry.code, dry.stdout]).toEqual([code, code, real.stdout])
    expect(dry.stderr.trim().split('\n').at(-1)).toBe(real.stderr.trim().split('\n').at(-1))
  })

  it('says the price, whatever fields or layout the result has', async () => {
    for (const option of ['--fields name,domain', '--layout hubspot']) {
      const { code, json } = await here.run(`accounts enrich --domain acme.example ${option} --dry-run`)
      expect([code, json]).toMatchObject([0, { price: { min: 0, max: 1 } }])
    }
  })

  it('leaves what a server may take to the server', async () => {
    const server = '--base-url http://127.0.0.1:1/api/v2'
    const line = `accounts enrich --input - --dry-run ${server}`
    const { code, json } = await here.run(line, { stdin: '{"size":5}', env: { PROSPECT_API_KEY: 'k' } })
    expect([code, json]).toMatchObject([0, { body: { size: 5 } }])
  })
})

describe('a page that is no company', () => {
  it.each([
    'https://www.google.com/search?q=acme',
    'facebook.com/acme',
    'https://web.archive.org/web/2020/acme.example',
  ])('is refused in place of a domain, as a cell of a file is: %s', async (page) => {
    for (const line of [`accounts enrich ${page}`, `accounts enrich --domain ${page}`])
      await ends(here.run(line), 2, "--domain must be a company's own")
  })

  it('is not the page of a company at its own site', async () => {
    const domain = 'https://www.acme.example/about?ref=fair'
    await here.run('data import companies -', { stdin: 'name,domain\nAcme,acme.example\n' })
    await ends(here.run(`accounts enrich ${domain}`), 0)
  })
})

describe('a value that cannot be what its option means', () => {
  it.each([
    [
      "accounts enrich 'no domain'",
      '--domain must be a domain, such as example.com. For the name of a company: --name',
    ],
    ['accounts enrich --name Acme --domain acme', '--domain must be a domain'],
    ['accounts enrich --domain localhost', "--domain must be a company's own website"],
    ['accounts enrich --domain jane@gmail.com', "--domain must be a company's own"],
    ['accounts enrich --name jane@acme.example', '--name must not be an email address'],
    [
      'accounts enrich --company-network-url https://linkedin.com/in/jane',
      '--company-network-url must be the profile of a company, not of a person',
    ],
    [
      "accounts headcount --company-domain 'no domain'",
      '--company-domain must be a domain, such as example.com.\n',
    ],
    [
      "accounts hiring --company-domain 'no domain'",
      '--company-domain must be a domain, such as example.com. For the name of a company: --company-name',
    ],
    ["accounts stack --company-domain 'no domain'", '--company-domain must be a domain'],
    ["leads search --company-domain 'no domain' --job-titles CEO", '--company-domain must be a domain'],
    [
      "leads enrich --first-name Jane --last-name Doe --domain 'no domain'",
      '--domain must be a domain, such as example.com. For the name of a company: --company-name',
    ],
    [
      'leads enrich --linkedin-url https://linkedin.com/company/acme',
      '--network-url must be the profile of a person, not of a company',
    ],
    [
      "contacts waterfall --first-name Jane --last-name Doe --domain 'no domain' --enrichment-type email",
      '--domain must be a domain',
    ],
    [
      'contacts waterfall --network-url https://linkedin.com/company/acme --enrichment-type phone',
      '--network-url must be the profile of a person',
    ],
    ['leads enrich jane@acme.example', '--network-url must be the address of a profile (https://…)'],
    ["contacts reverse-lookup --email 'no address'", '--email must be an email address'],
    ['messenger validate 12', '--phone-numbers must be a phone number'],
  ])('is refused before anything is asked: %s', async (line, said) => {
    for (const asked of [line, `${line} --dry-run`]) await ends(here.run(asked), 2, said)
    expect((await here.run('ledger')).json).toEqual([])
  })

  it('is answered by the API where the request is written as JSON', async () => {
    const answer = { error: 'No company found' }
    await here.run('data import companies -', { stdin: 'name,domain\nBeta,beta.example\n' })
    for (const line of ['accounts enrich', 'api POST /accounts/single_enrich']) {
      const { code, json } = await here.run(`${line} --input -`, { stdin: '{"domain":"no domain"}' })
      expect([code, json]).toEqual([9, answer])
    }
  })

  it.each([
    'linkedin.com',
    'jane@acme.example',
    'github.io',
    'acme.madeup',
    'https://www.acme.example/about',
  ])('is looked up where it may be a domain: %s', async (domain) => {
    await here.run('data import companies -', { stdin: 'name,domain\nBeta,beta.example\n' })
    await ends(here.run(`accounts enrich ${domain}`), 9, 'No company found')
  })
})
