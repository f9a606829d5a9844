import { describe, expect, it } from 'vitest'
import { printPaged } from '../../../src/cli/options/help.js'
import { createContext } from '../../../src/cli/target/create.js'
import { machine, streamsOf } from '../../support/command.js'
import { perTest } from '../../support/each.js'

const here = perTest(machine)

const text = 'line\n'.repeat(30)
const paged = () => (here.exists('paged') ? here.read('paged') : undefined)

/** Prints the text on a terminal of some rows; returns what is printed without a pager. */
async function print(rows: number, env: Record<string, string> = {}, isTTY = true): Promise<string> {
  const pager = `cat > '${here.path('paged')}'`
  const given = Object.entries({ PROSPECT_HOME: here.home, PAGER: pager, ...env }).filter(
    ([, value]) => value !== 'unset',
  )
  const streams = streamsOf({ env: Object.fromEntries(given), terminal: true })
  Object.assign(streams.stdout, { rows, isTTY })
  const context = createContext(streams)
  printPaged(context, text)
  await context.close()
  return streams.stdout.text()
}

describe('the pager', () => {
  it('gets help that is longer than the terminal', async () => {
    expect([await print(20), paged()]).toEqual(['', text])
  })

  it('is that of the profile where the environment has none', async () => {
    here.write('config.json', '{"profiles":{"default":{"pager":"off"}}}', 0o600)
    expect([await print(20, { PAGER: 'unset' }), paged()]).toEqual([text, undefined])
  })

  it('is not started for text that the terminal has room for', async () => {
    expect([await print(40), paged()]).toEqual([text, undefined])
  })

  it.each([{ TERM: 'dumb' }, { CI: 'true' }, { PAGER: '' }, { PAGER: 'cat' }])(
    'is not started with %j',
    async (env) => {
      expect([await print(20, env), paged()]).toEqual([text, undefined])
    },
  )

  it('is not started in a pipe', async () => {
    expect([await print(20, {}, false), paged()]).toEqual([text, undefined])
  })

  it('is replaced by plain text where it does not exist', async () => {
    expect(await print(20, { PAGER: 'prospect-no-such-pager' })).toBe(text)
  })
})
