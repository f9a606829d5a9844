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
    const { code, json } = await here.run('personas create --input -', { stdin: '{}' })
    expect([code, json]).toEqual([7, { error: 'Missing required keys: name' }])
    const quote = await here.run('accounts enrich --bulk --input - --dry-run', { stdin: '{}' })
    expect([quote.code, quote.json]).toMatchObject([0, { body: {}, price: { min: 0, max: 1 } }])
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
