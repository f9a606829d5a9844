import { beforeEach, describe, expect, it } from 'vitest'
import { ends, machine } from '../support/command.js'
import { perTest } from '../support/each.js'

const here = perTest(machine)

describe('contacts waterfall', () => {
  beforeEach(async () => {
    const header = 'first_name,last_name,network_profile_url,company_name,company_domain,email'
    await here.fill(
      'people',
      `${header}\nAda,Byron,https://www.network.example/in/ada,Engines,engines.example,ada@engines.example\n`,
    )
  })

  const find = 'contacts waterfall --domain engines.example --enrichment-type email'
  const batch = 'contacts waterfall --csv people.csv'

  it.each(['--wait', '--sync'])('exits 9 when a waterfall finds nothing, with %s', async (option) => {
    const { code, json } = await here.run(`${find} --first-name No --last-name Body ${option}`)
    expect([code, json]).toMatchObject([9, { email: null, message: 'No data found' }])
  })

  it('prints a list of contacts for a bulk waterfall', async () => {
    const contacts = [
      { firstname: 'Ada', lastname: 'Byron', domain: 'engines.example' },
      { firstname: 'No', lastname: 'Body', domain: 'engines.example' },
    ]
    here.write('bulk.json', JSON.stringify({ enrichment_type: ['email'], contacts }))
    const { code, json } = await here.run('contacts waterfall --bulk --input bulk.json --wait')
    expect([code, json]).toMatchObject([0, [{ email: 'ada@engines.example' }, { email: null }]])
  })

  it('offers the values of --enrichment-type as a list where a person can choose', async () => {
    here.write('people.csv', 'First name,Last name,Website\nAda,Byron,engines.example\n')
    const typed: [string, string][] = [
      ['Personal email', ' \r'],
      ['Start?', 'y\r'],
    ]
    await ends(here.run(`${batch} -o x.csv`, { typed }), 0, 'Email')
  })

  it('looks up rows without a profile URL for the email only, and the quote says so', async () => {
    here.write(
      'people.csv',
      'First name,Last name,Website,LinkedIn\nAda,Byron,engines.example,\nGrace,Hopper,engines.example,https://www.network.example/in/grace\n',
    )
    const both = `${batch} --enrichment-type email,phone`
    expect(await here.json(`${both} --dry-run`)).toMatchObject({
      rows: 2,
      invalid: 0,
      email_only: 1,
      lookups: 2,
    })
    await ends(here.run(`${both} -o found.csv --retry-unknown`), 0)
    expect(here.rows('found.csv')).toMatchObject([
      { email: 'ada@engines.example', phone: '', _status: 'found', _credits: '3' },
      { email: '', _status: 'not_found', _credits: '0' },
    ])
  })
})
