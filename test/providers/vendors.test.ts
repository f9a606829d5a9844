import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { command, type Machine, machine } from '../support/command.js'
import { perFile } from '../support/each.js'
import { casesOf } from '../support/fixtures.js'
import { nameServer } from '../support/name-server.js'
import { type FakeVendor, fakeFile, fakeVendor } from '../support/vendors.js'

const key = 'vendor-secret-key-0123456789'
let here: Machine
const dns = perFile(() =>
  nameServer((name, type) => (type === 'MX' && name === 'acme.example' ? ['mx.acme.example'] : 'NXDOMAIN')),
)

/** Runs work with a machine whose workspace has these vendors, in this order; the first has `timeout` to answer. */
async function withVendors(
  vendors: readonly FakeVendor[],
  work: () => Promise<void>,
  timeout?: string,
): Promise<void> {
  here = machine()
  try {
    await here.json('init')
    for (const [at, { origin }] of vendors.entries()) {
      writeFileSync(
        join(here.home, 'one.yaml'),
        fakeFile(origin, `vendor${at + 1}`, at === 0 ? timeout : undefined),
      )
      const added = await run('providers', 'add', 'one.yaml', '--key-stdin', '--allow-target', '127.0.0.0/8')
      expect(added.stderr).toBe('')
    }
    await work()
  } finally {
    here.remove()
    await Promise.all(vendors.map((vendor) => vendor.close()))
  }
}

const run = (...argv: string[]) => here.run(argv, { stdin: key, env: { PROSPECT_DNS: dns.address } })

interface Result {
  readonly email: string | null
  readonly email_status: string | null
  readonly email_source: string | null
  readonly credits_used: number
  readonly message?: string
  readonly answers_lost?: readonly string[]
}

async function find(lastName: string, ...more: string[]): Promise<Result> {
  const person = ['--first-name', 'Ada', '--last-name', lastName, '--domain', 'acme.example']
  const { stdout, stderr } = await run(
    'contacts',
    'waterfall',
    '--sync',
    ...person,
    '--enrichment-type',
    'email',
    '--json',
    ...more,
  )
  if (stdout === '') throw new Error(stderr)
  return JSON.parse(stdout) as Result
}

describe('a waterfall over vendors', () => {
  it('takes the first answer with its source, costs nothing here, and asks nobody twice', async () => {
    const [one, two] = [await fakeVendor(), await fakeVendor()]
    await withVendors([one, two], async () => {
      const found = {
        email: 'king@acme.example',
        email_status: 'valid',
        email_source: 'vendor1',
        credits_used: 0,
      }
      expect(await find('King')).toMatchObject(found)
      expect(await find('King')).toMatchObject(found)
      expect([one.asked.get('King'), two.asked.get('King'), one.charged()]).toEqual([1, undefined, 1])
    })
  })

  it.each(casesOf<[string, string, number]>('providers/vendors/goes-on-after-which'))(
    'goes on after %s, which %s answers',
    async (name, source, charged) => {
      const two = await fakeVendor((row, _, response, charge) => {
        charge()
        response.end(
          JSON.stringify({ data: { email: `${row}@acme.example`, verification: { status: 'valid' } } }),
        )
      })
      const one = await fakeVendor()
      await withVendors(
        [one, two],
        async () => {
          expect(await find(name)).toMatchObject({ email_source: source })
          expect(await find(name)).toMatchObject({ email_source: source })
          const times = { Limited: 2, Faulty: 1, Moved: 2 }[name] ?? 1
          expect([one.asked.get(name), one.charged()]).toEqual([times, charged])
        },
        name === 'Slow' ? '2s' : undefined,
      )
    },
  )

  it('says whose answer was lost where nobody found anything, and asks no more', async () => {
    const vendor = await fakeVendor()
    await withVendors([vendor], async () => {
      for (const _ of [1, 2])
        expect(await find('Lost')).toMatchObject({ email: null, answers_lost: ['vendor1'] })
      expect(vendor.asked.get('Lost')).toBe(1)
    })
  })

  it('says who was not asked, and why', async () => {
    await withVendors([await fakeVendor()], async () => {
      await find('Broke')
      expect((await find('King')).message).toContain('not asked: vendor1 (out of credits)')
      await run('providers', 'enable', 'vendor1')
      expect(await find('King')).toMatchObject({ email_source: 'vendor1' })
    })
  })

  it('takes an address for risky whose domain takes no mail', async () => {
    const vendor = await fakeVendor((_, __, response) =>
      response.end(
        JSON.stringify({ data: { email: 'ada@nomail.example', verification: { status: 'valid' } } }),
      ),
    )
    await withVendors([vendor], async () => {
      expect(await find('King')).toMatchObject({ email: 'ada@nomail.example', email_status: 'risky' })
    })
  })

  it('asks nobody for an agent that was permitted no cost, nor beyond what it was', async () => {
    const vendor = await fakeVendor()
    await withVendors([vendor], async () => {
      const ask = (lastName: string, most?: Record<string, number>) => {
        const person = ['--first-name', 'Ada', '--last-name', lastName, '--domain', 'acme.example']
        const env = { PROSPECT_HOME: here.home, PROSPECT_DNS: dns.address }
        const vendors = { run: 'agent', most, others: 0 }
        return command(['contacts', 'waterfall', '--sync', ...person, '--enrichment-type', 'email'], {
          env,
          vendors,
        })
      }
      await ask('King')
      expect(vendor.asked.size).toBe(0)
      for (const name of ['One', 'Two', 'Three']) await ask(name, { vendor1: 2 })
      expect([...vendor.asked.keys()]).toEqual(['One', 'Two'])
    })
  })

  it('sends the key in its header and nowhere else, and shows it nowhere', async () => {
    const vendor = await fakeVendor()
    await withVendors([vendor], async () => {
      await find('King')
      expect(vendor.seen[0]).toContain(key)
      expect(vendor.seen[0]?.split(' ')[0]).not.toContain(key)
      for (const argv of [
        ['providers', 'list', '--json'],
        [
          'contacts',
          'waterfall',
          '--sync',
          '--first-name',
          'A',
          '--last-name',
          'Badkey',
          '--domain',
          'acme.example',
          '--enrichment-type',
          'email',
          '-v',
        ],
      ]) {
        const { stdout, stderr } = await run(...argv)
        expect(stdout + stderr).not.toContain(key)
      }
    })
  })
})

describe('a batch over vendors', () => {
  it('spends no more than its budget at a vendor, asks the next one, and says who gave each value', async () => {
    const [one, two] = [await fakeVendor(), await fakeVendor()]
    await withVendors([one, two], async () => {
      const rows = Array.from({ length: 30 }, (_, at) => `Ada,King${at},acme.example`)
      writeFileSync(join(here.home, 'people.csv'), `first_name,last_name,domain\n${rows.join('\n')}\n`)
      const batch = 'contacts waterfall --csv people.csv --enrichment-type email -o out.csv'.split(' ')
      await run(...batch, '--max-cost', 'vendor1=10', '--max-cost', 'vendor2=15')
      expect([one.charged(), two.charged()]).toEqual([10, 15])
      const [header = '', ...lines] = readFileSync(join(here.home, 'out.csv'), 'utf8').trim().split('\n')
      const at = header.split(',').indexOf('email_source')
      const sources = lines.map((line) => line.split(',')[at])
      const count = (name: string) => sources.filter((source) => source === name).length
      expect([count('vendor1'), count('vendor2'), count('')]).toEqual([10, 15, 5])
    })
  })

  it('asks about each row once, also when it runs again, and submits rows together', async () => {
    const vendor = await fakeVendor()
    await withVendors([vendor], async () => {
      const rows = Array.from(
        { length: 120 },
        (_, at) =>
          `Ada,${at % 3 === 0 ? 'Nobody' : 'King'}${at},acme.example,https://www.linkedin.com/in/p${at}${at % 2 ? '' : 'none'}`,
      )
      writeFileSync(
        join(here.home, 'people.csv'),
        `first_name,last_name,domain,linkedin_url\n${rows.join('\n')}\n`,
      )
      const batch = [
        'contacts',
        'waterfall',
        '--csv',
        'people.csv',
        '--enrichment-type',
        'email',
        '--enrichment-type',
        'phone',
        '-o',
        'out.csv',
        '--yes',
      ]
      const first = await run(...batch)
      expect(first.code).toBe(0)
      const out = (await run('runs', 'list', '--json')).stdout
      expect(out).toContain('contacts')
      rmSync(join(here.home, 'out.csv'))
      await run(...batch, '--fresh', '--refresh')
      expect([...vendor.asked.values()].every((times) => times === 1)).toBe(true)
      expect(vendor.charged()).toBe(80 + 60 * 10)
    })
  })
})
