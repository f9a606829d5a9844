import { once } from 'node:events'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { execa } from 'execa'
import { describe, expect, it } from 'vitest'
import { exitCodes } from '../../../../src/api/calls/exit-codes.js'
import { ends, type Machine, machine } from '../../../support/command.js'
import { perTest } from '../../../support/each.js'
import { prospect } from '../../../support/processes.js'
import { until } from '../../../support/until.js'

const here = perTest(machine)

const header = 'country,founded,id,industry,linkedin_url,locality,name,region,size,website\n'
const row = (name: string, slug: string, domain: string, more: { city?: string; founded?: string } = {}) =>
  `germany,${more.founded ?? ''},x,retail,${slug && `linkedin.com/company/${slug}`},${more.city ?? ''},${name},,1-10,${domain}\n`
const rows = (count: number, from = 0) =>
  Array.from({ length: count - from }, (_, at) => {
    const number = from + at
    return row(`firm ${number}`, `firm-${number}`, `firm-${number}.example`)
  }).join('')

/** The catalogue as others see it, in a connection of its own. */
function look<T>(at: (database: Database.Database) => T, home = here.home): T {
  const database = new Database(join(home, 'catalogue.db'), { timeout: 0 })
  try {
    return at(database)
  } finally {
    database.close()
  }
}

const indexes = (home = here.home) =>
  look(
    (database) =>
      database.prepare(`SELECT name, sql FROM sqlite_schema WHERE type = 'index' ORDER BY name`).all(),
    home,
  )

/** Whether somebody holds the catalogue, which has its tables, for writing. */
const isHeld = () =>
  here.exists('catalogue.db') &&
  look((database) => {
    if (database.pragma('user_version', { simple: true }) === 0) return false
    try {
      database.exec('BEGIN IMMEDIATE; ROLLBACK')
      return false
    } catch (error) {
      return (error as { code?: string }).code === 'SQLITE_BUSY'
    }
  })

/** Begins to import open data that does not end, and resolves once some of it was taken. */
async function importEndlessly() {
  await ends(here.run('init --own-data --yes'), 0)
  const argv = [prospect, 'data', 'import', 'companies', '-', '--snapshot', '2026-05-01']
  const importing = execa(process.execPath, argv, {
    cwd: here.home,
    env: { PROSPECT_HOME: here.home },
    reject: false,
    stdin: 'pipe',
  })
  if (!importing.stdin.write(header + rows(15_000))) await once(importing.stdin, 'drain')
  await until(isHeld)
  // A process is a promise of its end.
  return { importing }
}

describe('open data that fills an empty catalogue', () => {
  const file =
    header +
    row('alpha', 'alpha', 'alpha.example') +
    row('beta', 'beta', '') +
    // The same by its domain, by its profile, and by both of two.
    row('alpha', '', 'alpha.example', { city: 'berlin' }) +
    row('beta', 'beta', 'beta.example', { founded: '1990' }) +
    row('gamma', 'gamma', 'gamma.example') +
    row('gamma two', 'gamma', 'other.example') +
    // Two companies have this profile.
    row('gamma three', 'gamma', '') +
    row('delta', '', '') +
    row('beta', '', 'beta.example', { city: 'hamburg' }) +
    row('epsilon', 'epsilon', 'epsilon.example')

  async function importIt(at: Machine, more: string) {
    at.write('open.csv', file)
    const report = await ends(
      at.run(`data import companies open.csv --snapshot 2026-05-01 --rejects no.csv --json ${more}`),
      exitCodes.someFailed,
    )
    const { stdout } = await ends(at.run('data export companies --format ndjson'), 0)
    const companies = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>)
    const { json: stats } = await ends(at.run('data stats --json'), 0)
    return {
      report: report.json as Record<string, unknown>,
      rejected: at.read('no.csv'),
      sources: (stats as { sources: { companies: number }[] }).sources.map(({ companies: count }) => count),
      companies: companies
        .filter(({ domain }) => domain !== 'there.example')
        .map(({ id, ...company }) => company)
        .sort((one, other) => String(one.domain).localeCompare(String(other.domain))),
    }
  }

  it.each(['', '--create'])(
    'gives the companies, counts and rejected lines that it gives where there is one already %s',
    async (more) => {
      const other = machine()
      other.write('own.csv', 'name,domain\nThere,there.example\n')
      await ends(other.run('data import companies own.csv'), 0)
      const first = await importIt(here, more)
      expect(first).toEqual(await importIt(other, more))
      expect(indexes(here.home)).toEqual(indexes(other.home))
      other.remove()
      expect(first.companies.map(({ domain }) => domain)).toContain('beta.example')
      expect(first.report).toMatchObject({ rejected_total: 1 })
    },
  )

  it('completes the few companies that are there, as it does in portions', async () => {
    const [one, other] = [here, machine()]
    for (const at of [one, other]) {
      at.write('own.csv', 'name,domain,headcount\nAlpha Inc.,alpha.example,70\nFirm,firm-1199.example,3\n')
      await ends(at.run('data import companies own.csv'), 0)
    }
    const load = async (at: Machine, text: string) => {
      at.write('open.csv', text)
      const { stdout } = await at.run('data import companies open.csv --snapshot 2026-05-01 --json')
      const { added, updated } = JSON.parse(stdout) as { added: number; updated: number }
      return { added, updated }
    }
    const exported = async (at: Machine) => {
      const { stdout } = await ends(at.run('data export companies --format ndjson'), 0)
      return stdout
        .replace(/"id":"[^"]*",/g, '')
        .split('\n')
        .sort()
    }
    expect(await load(one, file + rows(1_200))).toMatchObject({ added: 4 + 1_199 })
    for (const portion of [file, header + rows(600), header + rows(1_200, 600)]) await load(other, portion)
    expect(await exported(one)).toEqual(await exported(other))
    expect(indexes(one.home)).toEqual(indexes(other.home))
    expect(await one.json('accounts enrich --domain alpha.example')).toMatchObject({
      name: 'Alpha Inc.',
      headcount: 70,
      city: 'Berlin',
    })
    other.remove()
  })

  it('is there whole or not at all when the import is killed, and is imported by the same command', async () => {
    const { importing } = await importEndlessly()
    // Meanwhile others read what was there before.
    expect(await here.json('data stats')).toMatchObject({ companies: 0 })
    importing.kill('SIGKILL')
    await importing
    expect(await here.json('data stats')).toMatchObject({ companies: 0 })
    const before = indexes()
    const stdin = header + rows(15_000)
    await ends(here.run('data import companies - --snapshot 2026-05-01', { stdin }), 0)
    expect(await here.json('data stats')).toMatchObject({ companies: 15_000 })
    expect(indexes()).toEqual(before)
    expect(await here.json('accounts enrich --domain firm-14999.example')).toMatchObject({
      name: 'Firm 14999',
    })
  })

  it('is kept until a signal, with its indexes', async () => {
    const { importing } = await importEndlessly()
    const before = indexes()
    importing.kill('SIGINT')
    const { stderr } = await importing
    const [, added = ''] = /Imported before the error: ([\d,]+) added/.exec(stderr) ?? []
    expect([stderr, Number(added.replaceAll(',', ''))]).toEqual([stderr, expect.any(Number)])
    const { companies } = await here.json<{ companies: number }>('data stats')
    expect(companies).toBe(Number(added.replaceAll(',', '')))
    expect(companies).toBeGreaterThan(0)
    expect(indexes()).toEqual(before)
    expect(await here.json('accounts enrich --domain firm-0.example')).toMatchObject({ name: 'Firm 0' })
  })
})
