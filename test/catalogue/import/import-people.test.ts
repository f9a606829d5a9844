import { describe, expect, it } from 'vitest'
import type { Fields } from '../../../src/api/values/objects.js'
import words from '../../fixtures/exports/status-words.json' with { type: 'json' }
import { perTest } from '../../support/each.js'
import { bytesOf, exported, openWith } from '../open.js'

const profile = (name: string) => `https://www.network.example/in/${name}`

const catalogue = perTest(() =>
  openWith([
    {
      name: 'Acme Robotics GmbH',
      domain: 'acme.example',
      network_url: 'https://network.example/company/acme',
    },
    { name: 'Birch', network_url: 'https://network.example/company/birch' },
  ]),
)
const people = () => exported(catalogue, 'people')

describe('people that are imported', () => {
  const take = (...given: Fields[]) => catalogue.importRecords('people', given)

  it('are the same by profile url, else by email, else by name with company', async () => {
    await take({
      network_profile_url: profile('jane'),
      full_name: 'Jane Doe',
      company_domain: 'acme.example',
    })
    await take({ network_profile_url: `${profile('JANE')}/?x=1`, title: 'CTO' })
    await take({ email: 'JOHN@acme.example', first_name: 'John', last_name: 'Roe' })
    await take({ email: 'john@acme.example', title: 'CFO' })
    await take({ full_name: 'Zoé Lune', company_domain: 'acme.example' })
    expect(
      await take({ full_name: 'ZOE LUNE', company_domain: 'www.acme.example', title: 'CEO' }),
    ).toMatchObject({ updated: 1 })
    expect(await people()).toMatchObject([
      { full_name: 'Jane Doe', title: 'CTO' },
      { full_name: 'John Roe', title: 'CFO', email: 'john@acme.example', email_status: 'valid' },
      { full_name: 'ZOE LUNE', title: 'CEO' },
    ])
  })

  it('have the status of their address in the words of any tool', async () => {
    const file = words.map(({ word }, at) => `p${at}@acme.example,${word}`)
    const more = ['q@acme.example,Unverifiable', 'r@acme.example,perhaps']
    const text = ['Email,Email Status', ...file, ...more].join('\n')
    const { rejected, leftOut } = await catalogue.importFile('people', bytesOf(text))
    // A status that says nothing vouches for no address.
    const statusOf = (means: string, word: string) =>
      means !== 'none' ? means : word.trim() === '' ? 'valid' : 'risky'
    expect((await people()).map(({ email_status }) => email_status)).toEqual([
      ...words.map(({ means, word }) => statusOf(means, word)),
      'risky',
      'risky',
    ])
    expect([rejected, leftOut]).toEqual([[], [{ field: 'email_status', values: 1, sample: 'perhaps' }]])
  })

  it('are different people when a stronger identifier differs', async () => {
    await take({
      network_profile_url: profile('jane'),
      full_name: 'Jane Doe',
      company_domain: 'acme.example',
      email: 'jane@acme.example',
    })
    await take({
      network_profile_url: profile('jane-2'),
      full_name: 'Jane Doe',
      company_domain: 'acme.example',
      email: 'jane@acme.example',
    })
    await take({ full_name: 'Jane Doe', company_domain: 'acme.example', email: 'jane.doe@acme.example' })
    expect(await people()).toHaveLength(3)
    const { rejected } = await take({ full_name: 'Jane Doe', company_domain: 'acme.example', title: 'CTO' })
    expect(rejected).toEqual([{ line: 1, reason: expect.stringContaining('several people') }])
  })

  it('are different people when their network ids differ, whatever else they share', async () => {
    const shared = { full_name: 'John Smith', company_domain: 'acme.example', email: 'info@acme.example' }
    await take({ ...shared, network_id: 'ACwAAAAAAAEB-one' })
    await take({ ...shared, network_id: 'ACwAAAAAAAEB-two' })
    await take({ network_id: 'ACwAAAAAAAEB-two', title: 'CTO' })
    expect((await people()).map(({ network_id, title }) => [network_id, title])).toEqual([
      ['ACwAAAAAAAEB-one', undefined],
      ['ACwAAAAAAAEB-two', 'CTO'],
    ])
  })

  it('replace a generated id by an id of the network', async () => {
    await take({ full_name: 'John Smith', company_domain: 'acme.example', email: 'john@acme.example' })
    await take({ email: 'john@acme.example', network_id: 'ACwAAAAAAAEB-one' })
    expect((await people()).map(({ network_id }) => network_id)).toEqual(['ACwAAAAAAAEB-one'])
  })

  it('keep their full name when only a part of it is given', async () => {
    await take(
      { email: 'jo@acme.example', first_name: 'Jo' },
      { email: 'al@acme.example', full_name: 'Al Roe' },
    )
    await take(
      { email: 'jo@acme.example', last_name: 'Doe' },
      { email: 'al@acme.example', first_name: 'Alan' },
    )
    expect(await people()).toMatchObject([
      { first_name: 'Jo', last_name: 'Doe', full_name: 'Jo Doe' },
      { first_name: 'Alan', last_name: 'Roe', full_name: 'Al Roe' },
    ])
  })

  it('are identified by the id in a premium url, and get a generated id when they have none', async () => {
    await take({
      premium_profile_url: 'https://network.example/sales/lead/ACwAAAxYz,NAME_SEARCH,q',
      full_name: 'A B',
    })
    await take({ network_id: 'ACwAAAxYz', title: 'CTO' }, { email: 'x@acme.example' })
    expect(await people()).toMatchObject([
      { network_id: 'ACwAAAxYz', title: 'CTO' },
      { network_id: expect.stringMatching(/^ACoAA[\w-]{20,}$/), email: 'x@acme.example' },
    ])
  })

  it.each<[string, Fields]>([
    ['domain', { company_domain: 'https://www.acme.example/team' }],
    ['profile url', { company_network_url: 'https://fr.network.example/company/ACME/' }],
    ['name', { company_name: 'Acme Robotics' }],
    ['position', { current_position: { title: 'CTO', company_name: 'ACME ROBOTICS GMBH' } }],
  ])('belong to the company that they name by its %s', async (_, company) => {
    await take({ email: 'jane@acme.example', ...company })
    expect(await people()).toMatchObject([{ company_domain: 'acme.example' }])
    expect((await catalogue.stats()).companies).toBe(2)
  })

  it('create a missing company that is identified by domain or profile', async () => {
    const report = await take(
      { email: 'a@ghost.example', company_domain: 'ghost.example', company_name: 'Ghost Ltd' },
      { email: 'b@ghost.example', company_domain: 'ghost.example' },
      { email: 'c@vague.example', company_name: 'Vague' },
    )
    expect(report).toMatchObject({ added: 3, companies: 1 })
    expect(await catalogue.company({ domain: 'ghost.example' })).toMatchObject({ name: 'Ghost Ltd' })
    expect(await catalogue.company({ name: 'Vague' })).toBeUndefined()
    expect((await people())[2]).toMatchObject({ company_name: 'Vague' })
  })

  it('have their phone numbers converted to E.164, also national ones', async () => {
    await take(
      { email: 'a@acme.example', phone: '06 39 98 12 34', country: 'France' },
      { email: 'b@acme.example', phone: '+44 (0)7700 900-321; 0044 7700 900322' },
      { email: 'c@acme.example', phones: ['(617) 555-0142'], country: 'US', messenger: 'yes' },
    )
    expect((await people()).map(({ phones }) => phones)).toEqual([
      ['+33639981234'],
      ['+447700900321', '+447700900322'],
      ['+16175550142'],
    ])
  })

  it.each<[string, Fields, string]>([
    ['a name without a company', { full_name: 'Jane Doe' }, 'a person needs'],
    ['an address that is none', { email: 'jane' }, 'email: '],
    [
      'the profile of a company',
      { network_profile_url: 'https://network.example/company/acme' },
      'network_profile_url: ',
    ],
  ])('are rejected with %s', async (_, person, reason) => {
    const report = await take(person)
    expect(report.rejected).toEqual([{ line: 1, reason: expect.stringContaining(reason) }])
    expect(await people()).toEqual([])
  })

  it('may come from a file with unusual headers', async () => {
    const file =
      'Prénom;Nom;Poste;Société;Site web;Courriel;Téléphone;Pays\nThéo;Marchand;Juriste;Acme;acme.example;theo@acme.example;06 39 98 12 34;France\n'
    const report = await catalogue.importFile('people', bytesOf(file))
    expect(report).toMatchObject({ added: 1, ignored: [] })
    expect(await people()).toMatchObject([
      {
        full_name: 'Théo Marchand',
        title: 'Juriste',
        company_domain: 'acme.example',
        email: 'theo@acme.example',
        country: 'FR',
        phones: ['+33639981234'],
      },
    ])
  })
})

describe('jobs that are imported', () => {
  const take = (...given: Fields[]) => catalogue.importRecords('jobs', given)

  it('are the same by url, else by company, title, location and date', async () => {
    const job = {
      job_title: 'Welder',
      company_domain: 'acme.example',
      job_location: 'Lyon',
      date_posted: '2026-03-01',
    }
    await take(
      { ...job, job_url: 'https://jobs.acme.example/1' },
      { ...job, job_url: 'https://jobs.acme.example/2' },
      job,
    )
    await take({ ...job, job_url: 'https://jobs.acme.example/1', description: 'new' })
    expect(await take({ ...job, job_title: 'WELDER', description: 'other' })).toMatchObject({ updated: 1 })
    expect((await exported(catalogue, 'jobs')).map(({ description }) => description)).toEqual([
      'new',
      undefined,
      'other',
    ])
  })

  it('may have a company object, as in a reply of the hiring operation', async () => {
    await take({
      job_title: 'Welder',
      company: { name: 'Birch', domain: null, network_url: 'https://network.example/company/birch' },
    })
    expect(await exported(catalogue, 'jobs')).toMatchObject([
      { company_network_url: 'https://network.example/company/birch' },
    ])
  })

  it.each<[string, Fields, string]>([
    ['no title', { company_domain: 'acme.example' }, 'job_title'],
    ['no company', { job_title: 'Welder' }, 'company_domain'],
    ['a company that nobody knows', { job_title: 'Welder', company_name: 'Ghost' }, "'Ghost'"],
  ])('are rejected with %s', async (_, job, reason) => {
    expect((await take(job)).rejected).toEqual([{ line: 1, reason: expect.stringContaining(reason) }])
  })
})

describe('posts that are imported', () => {
  const take = (...given: Fields[]) => catalogue.importRecords('posts', given)
  const post = {
    post_url: 'https://www.network.example/posts/1/',
    author_profile_url: profile('jane'),
    text: 'Hello',
    published_at: '2026-03-01T09:00:00Z',
  }

  it('are the same by url, and collect their engagers', async () => {
    await take({ ...post, engagers: [{ network_profile_url: profile('a'), engagement: 'reaction' }] })
    await take({
      post_url: 'HTTPS://NETWORK.example/posts/1?x=1',
      engagers: [
        { network_profile_url: profile('A'), engagement: 'reactions' },
        { network_profile_url: profile('b'), engagement: 'comment' },
      ],
    })
    const posts = await exported(catalogue, 'posts')
    expect(posts).toHaveLength(1)
    expect(posts[0]).toMatchObject({
      text: 'Hello',
      engagers: [{ engagement: 'reaction' }, { engagement: 'comment' }],
    })
  })

  it('are rejected with no url, and read without engagers that are nobody', async () => {
    const engagers = [
      { network_profile_url: 'x' },
      { network_profile_url: profile('a'), engagement: 'shrug' },
    ]
    const { rejected, leftOut } = await take({ text: 'Hello' }, { ...post, engagers })
    expect(rejected).toEqual([{ line: 1, reason: expect.stringContaining('post_url') }])
    expect(leftOut).toMatchObject([{ field: 'engagers', values: 2 }])
    expect(await exported(catalogue, 'posts')).toHaveLength(1)
  })
})
