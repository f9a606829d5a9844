import { writeFileSync } from 'node:fs'
import { request as ask } from 'node:http'
import { beforeAll, expect } from 'vitest'
import { answering } from '../client/listeners.js'
import { machine } from '../support/command.js'
import { perFile, perTest } from '../support/each.js'
import { newFolder } from '../support/new-folder.js'
import { launch, prospect, serving } from '../support/processes.js'
import { soak } from './soak.js'

const folder = perTest(newFolder)
const owner = perFile(machine)
beforeAll(async () => {
  await owner.json('init')
  const lines = Array.from({ length: 300 }, (_, at) => `Company ${at},company-${at}.example`)
  await owner.run(['data', 'import', 'companies', '-'], { stdin: `name,domain\n${lines.join('\n')}\n` })
})

/** Passes requests on to a server. Notes the statuses of its answers, and when they came. */
async function recording({ hostname, port }: URL) {
  const heard: { readonly status: number | undefined; readonly at: number }[] = []
  const between = await answering((incoming, outgoing) => {
    const { method, url: path = '', headers } = incoming
    const to = { hostname, port, method, path, headers: { ...headers, host: `${hostname}:${port}` } }
    const passed = ask(to, (answer) => {
      if (path.startsWith('/api/v2/accounts'))
        heard.push({ status: answer.statusCode, at: performance.now() })
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(outgoing)
    })
    passed.on('error', () => outgoing.destroy())
    incoming.pipe(passed)
  })
  return { heard, between }
}

for (const { what, processes, rows, ideal, command } of [
  { what: '5 a second', processes: 1, rows: 300, ideal: 59, command: ['accounts', 'hiring', '--limit', '1'] },
  { what: '5 a second', processes: 3, rows: 100, ideal: 59, command: ['accounts', 'hiring', '--limit', '1'] },
  // Of 100 a minute, 250 take two windows to their end and the beginning of a third.
  { what: '100 a minute', processes: 2, rows: 125, ideal: 120, command: ['accounts', 'headcount'] },
])
  soak('P36', `${processes} processes never exceed a limit of ${what}, and waste little time`, async () => {
    // Windows are a member's: nothing of an earlier run is left in those of a new one.
    const member = `member-${processes}@localhost`
    await owner.json('engine', 'members', 'add', member)
    const { key } = await owner.json<{ key: string }>('engine', 'keys', 'create', '--member', member)
    const server = await serving(prospect, owner.home)
    const { heard, between } = await recording(new URL(server.baseUrl))
    const env = {
      PROSPECT_HOME: folder.path,
      PROSPECT_BASE_URL: `${between.origin}/api/v2`,
      PROSPECT_API_KEY: key,
    }
    try {
      const ended = await Promise.all(
        Array.from({ length: processes }, (_, at) => {
          const domains = Array.from({ length: rows }, (_, row) => `company-${at * rows + row}.example`)
          writeFileSync(folder.at(`in-${at}.csv`), `Website\n${domains.join('\n')}\n`)
          const files = ['--csv', `in-${at}.csv`, '-o', `out-${at}.csv`, '--quiet']
          return launch(prospect, [...command, ...files], folder.path, env)
        }),
      )
      expect(ended.map(({ exitCode }) => exitCode)).toEqual(Array(processes).fill(0))
      const times = heard.map(({ at }) => at)
      const ratio = (Math.max(...times) - Math.min(...times)) / 1_000 / ideal
      const refused = heard.filter(({ status }) => status === 429).length
      expect([heard.length, refused]).toEqual([processes * rows, 0])
      expect(ratio).toBeLessThan(1.05)
      return {
        tried: `${processes} × ${rows} rows`,
        measured: `${ratio.toFixed(3)} times the least time (below 1.05)`,
      }
    } finally {
      await between.close()
      await server.stop()
    }
  })
