import { describe, expect, it, onTestFinished } from 'vitest'
import { machine } from '../support/command.js'
import { connect, openers, type Size } from '../support/crm/each.js'
import { perTest } from '../support/each.js'

const own = perTest(machine)

/** Connects an account, and makes the sample data. */
async function account(crm: keyof typeof openers, size: Size = { companies: 0, contacts: 0 }) {
  const fake = await openers[crm](size)
  onTestFinished(fake.close)
  await connect(own, fake)
  await own.run('data sample')
  return fake
}

const flow = (name: string, parts: object): string => {
  own.write(name, JSON.stringify({ name: name.replace('.yaml', ''), ...parts }))
  return name
}

describe.each(Object.keys(openers) as (keyof typeof openers)[])('a flow whose output is %s', (crm) => {
  const companies = (settings: object) =>
    flow('companies.yaml', {
      input: { csv: 'in.csv' },
      steps: ['accounts.enrich'],
      output: { [crm]: settings },
    })

  it('is checked, quoted and shown, and writes its rows once', async () => {
    const fake = await account(crm)
    own.write('in.csv', 'Website\nacme-robotics.example\n')
    const file = companies({ mode: 'fill' })
    expect((await own.run(`flow check ${file}`)).stderr).toContain('Nothing is wrong')
    expect(await own.json(`flow quote ${file}`)).toMatchObject({ steps: [{ rows: { max: 1 } }] })
    const result = await own.run(`flow run ${file}`)
    expect([result.code, result.stderr]).toEqual([0, expect.stringContaining('1 created')])
    expect(await own.json('flow show --last')).toMatchObject({ status: 'finished', written: 1 })
    const [domain, ...others] = fake.companies.live().map(({ fields }) => fake.domainOf(fields))
    expect([domain, others]).toEqual([expect.stringContaining('acme-robotics.example'), []])
    for (const again of ['', ' --fresh']) await own.run(`flow run ${file}${again}`)
    expect(fake.companies.live()).toHaveLength(1)
  })

  it('names what is wrong with its settings, by line and column', async () => {
    own.write('in.csv', 'Website\nacme-robotics.example\n')
    const result = await own.run(`flow check ${companies({ mode: 'fil', ownr: 'jane@us.example' })}`)
    expect([result.code, result.stderr]).toEqual([2, expect.stringMatching(/mode .*fill[\s\S]*ownr/)])
  })

  it('is refused before anything is paid for where no account is connected', async () => {
    await own.run('data sample')
    own.write('in.csv', 'Website\nacme-robotics.example\n')
    for (const words of ['check', 'run']) {
      const result = await own.run(`flow ${words} ${companies({})}`)
      expect([result.code, result.stderr]).toEqual([
        2,
        expect.stringContaining(`No account of ${crm} is connected`),
      ])
    }
    expect(await own.json('ledger')).toEqual([])
  })

  it('is refused where nothing may leave the machine', async () => {
    await account(crm)
    own.write('in.csv', 'Website\nacme-robotics.example\n')
    const result = await own.run(`flow run ${companies({})} --no-outward`)
    expect([result.code, result.stderr]).toEqual([2, expect.stringContaining('or a CRM')])
  })
})
