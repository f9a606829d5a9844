import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Reply } from '../../src/api/calls/caller.js'
import type { OperationId } from '../../src/api/operations/table.js'
import { progressLine, progressParts } from '../../src/cli/output/progress.js'
import { widthOf } from '../../src/cli/output/width.js'
import recorded from '../../src/reference/examples.json' with { type: 'json' }
import type { Step } from '../../src/runs/output/report.js'
import { answering, command, type Given, keyed } from '../support/command.js'
import { sample } from '../support/effort.js'
import { casesOf } from '../support/fixtures.js'
import { prospect } from '../support/processes.js'
import { inTerminal } from '../support/terminal.js'

/** The time of every screen. */
const now = Date.parse('2026-03-10T12:05:00.000Z')
const widths = [60, 80, 120] as const

// A folder whose name is as long on every machine: screens cut paths.
const home = mkdtempSync('/tmp/prospect-')
const folder = join(home, 'quarter')
afterAll(() => rmSync(home, { recursive: true, force: true }))

/** Ids that are the same in every run. */
function countingIds(from = 0x10) {
  let count = 0
  return {
    uuid: () => `7f6f2d${(++count + from).toString(16)}-0000-4000-8000-000000000000`,
    bytes: (size: number) => Buffer.alloc(size, ++count),
  }
}
const ids = countingIds()

let clock = now
const run = (line: string, given: Given = {}) =>
  command(line, {
    env: { PROSPECT_HOME: home },
    cwd: folder,
    terminal: true,
    ids,
    sleep: async () => {},
    clock: { now: () => clock },
    ...given,
  })

/** Returns the reply that the documents show for an operation. */
const reply = (id: OperationId, more: Partial<Reply> = {}) =>
  answering({ body: recorded.operations[id].reply, ...more })

/** The spinner of long work, which is drawn and removed again. */
const sequence = '\u001b\\['
const spinner = new RegExp(`${sequence}\\?25l.*?${sequence}\\?25h`, 'gs')

/** Compares what a command shows at each width with the screen of that name, and that no line is wider. */
async function check(name: string, line: string, given: Given = {}): Promise<void> {
  const screens: string[] = []
  for (const columns of widths) {
    // What was paid for at one width is asked for at each.
    const isLookup = / (enrich|hiring|stack) /.test(line) && !line.includes('--csv')
    const { stdout, stderr } = await run(isLookup ? `${line} --refresh` : line, { columns, ...given })
    const shown = `${stderr}${stdout}`.replaceAll(spinner, '').replaceAll(home, '/tmp/prospect-folder')
    const wide = shown.split('\n').filter((each) => widthOf(each) > columns)
    expect(wide, `lines of ${name} wider than ${columns} columns`).toEqual([])
    screens.push(`--- ${columns} columns ${'-'.repeat(columns - 15)}\n${shown}`)
  }
  await expect(`$ prospect ${line}\n${screens.join('\n')}`).toMatchFileSnapshot(`screens/${name}.txt`)
}

const events = Object.values(recorded.events).slice(0, 3)

// One test after the other: each continues what those before it did.
describe('screens', { shuffle: false }, () => {
  describe.skipIf(process.platform === 'win32')('the screens of a terminal', () => {
    beforeAll(async () => {
      mkdirSync(join(folder, 'exports'), { recursive: true })
      const rows = Array.from({ length: 1_204 }, (_, at) => `Company ${at},company-${at}.example`)
      writeFileSync(
        join(folder, 'exports', 'companies of the first quarter.csv'),
        `name,domain\n${rows.join('\n')}\n`,
      )
      writeFileSync(join(folder, 'crm.csv'), 'domain,name\nacme.example,Acme\n,\nnothing,\n')
      await run('init --yes')
      clock = now - 90_000
      const enrich = 'accounts enrich --csv "exports/companies of the first quarter.csv" -o exports/out.csv'
      const given = { env: keyed(home), cwd: folder, clock: { now: () => clock }, ids }
      await command(enrich, { ...given, caller: reply('accounts.enrich', { credits: 1 }) })
      clock = now - 3_000
      await command('accounts enrich --csv crm.csv --max-credits 0', {
        ...given,
        caller: reply('accounts.enrich', { credits: 1 }),
      })
      const { eventsOver } = await import('../../src/storage/state/webhook-inbox.js')
      const { openState } = await import('../../src/storage/state/open.js')
      const state = await openState(join(home, 'state.db'))
      const inbox = eventsOver(state)
      for (const [at, body] of events.entries())
        await inbox.keep({
          id: `msg_${ids.uuid()}`,
          path: '/',
          receivedAt: now - at * 3_700_000,
          verified: at > 0,
          event: body.event,
          search: ids.uuid(),
          headers: {},
          body: JSON.stringify(body),
        })
      await inbox.close()
      clock = now
    })

    it.each(casesOf<[string, string]>('cli/screens/show'))('show %s', async (name, line) => {
      await check(name, line)
    })

    const answered = casesOf<readonly [string, string, OperationId]>('cli/screens/answered')
    it.each(answered)('show %s', async (name, line, id) => {
      await check(name, line, { env: keyed(home), caller: reply(id) })
    })

    it('show the quote of a batch', async () => {
      // An empty catalogue has no quote.
      const added = await run('data import companies - --json', {
        stdin: 'name,domain\nSole Ltd,sole.example\n',
        ids: countingIds(0xa0),
      })
      expect(added.code).toBe(0)
      await check('batch-quote', 'accounts enrich --csv crm.csv --dry-run')
    })

    it('show the summary of a batch, and how it is resumed', async () => {
      const given = { env: keyed(home), caller: reply('accounts.enrich', { credits: 1 }) }
      await check('batch-summary', 'accounts enrich --csv crm.csv -o exports/crm.csv --fresh --yes', given)
      const stopped =
        'accounts enrich --csv crm.csv -o exports/crm.csv --fresh --refresh --yes --max-credits 1'
      // Ids that do not depend on what ran before.
      const own = { ids: countingIds(0x90), caller: reply('accounts.enrich', { credits: 1 }) }
      await check('batch-stopped', stopped, { ...given, ...own })
    })

    it('draw bars in ASCII where the locale is C', async () => {
      const shown = await run('runs show --last', { env: { ...keyed(home), LC_ALL: 'C' } })
      expect(shown.stdout).toMatch(/^Rows +3 +100 % +#{40}$/m)
    })

    it('show the progress of a batch', async () => {
      const states: readonly (readonly [string, Step, number])[] = [
        ['running', { rows: 540, found: 412, credits: 412, total: 1_204 }, 12_000],
        [
          'waiting for the rate limit',
          { rows: 540, found: 412, credits: 412, total: 1_204, waitsUntil: now + 42_000 },
          60_000,
        ],
        [
          'after it was resumed',
          { rows: 640, found: 500, credits: 500, total: 1_204, replayed: 540, credits_before: 412 },
          4_000,
        ],
        [
          'of a file that was not counted',
          { rows: 90_210, found: 71_000, credits: 71_000, total: undefined },
          60_000,
        ],
      ]
      const money = { budget: 1_000, balance: 5_000 }
      const lines = states.flatMap(([state, step, elapsedMs]) => [
        `# ${state}`,
        ...widths.flatMap((columns) =>
          [false, true].map((isAscii) => {
            const line = progressLine(step, progressParts(step, elapsedMs, now, money), columns - 3, {
              isAscii,
            })
            expect(widthOf(line)).toBeLessThan(columns)
            return `${String(columns).padStart(3)} ${line}`
          }),
        ),
        '',
      ])
      await expect(`${lines.join('\n')}`).toMatchFileSnapshot('screens/progress.txt')
    })

    it('show a refusal', async () => {
      const caller = answering({
        status: 402,
        body: { error: 'Insufficient credits', code: 'insufficient_credits' },
      })
      await check('error-credits', 'accounts enrich --domain acme.example', { env: keyed(home), caller })
    })
  })

  /** Returns the lines that a command of the built program shows in a pseudo-terminal. */
  async function shownBy(line: string, columns: number, env: Record<string, string>): Promise<string[]> {
    const given = { ...process.env, PROSPECT_HOME: home, CI: '1', FORCE_COLOR: '', NO_COLOR: '', ...env }
    const words = [process.execPath, prospect, ...line.split(' ')]
    return (await inTerminal(words, { cwd: home, columns, env: given })).raw.split('\n')
  }

  describe.skipIf(process.platform !== 'linux')('a pseudo-terminal (needs Linux)', () => {
    it.each(sample(['limits', 'credits', 'engine status', 'doctor', 'runs show 0', 'commands'], 3))(
      'of 60 columns has no longer line, no colour with NO_COLOR and only ASCII with LC_ALL=C: %s',
      async (line) => {
        const plain = await shownBy(line, 60, { NO_COLOR: '1', LC_ALL: 'C' })
        expect(plain.filter((each) => each.length > 60)).toEqual([])
        expect(plain.join('')).toMatch(/^[\x20-\x7e]+$/)
      },
    )

    it('has colours', async () => {
      expect((await shownBy('runs show 0', 60, {})).join('')).toContain('\u001b[31mThere is no run 0.')
    })
  })
})
