import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { describe, expect, it } from 'vitest'
import { operations } from '../../src/api/operations/table.js'
import { examples } from '../../src/reference/openapi.js'
import { closeAfterTest } from '../client/listeners.js'
import { machine } from '../support/command.js'
import { prospect } from '../support/processes.js'
import type { Answer } from './agent.js'

/** The newer client of the SDK, and the one that ends with the older protocol. */
const clients = {
  'version 2': {
    protocol: '2026-07-28',
    client: new Client({ name: 'test', version: '2.0.0' }, { versionNegotiation: { mode: 'auto' } }),
    Transport: StdioClientTransport,
  },
  'version 1': {
    protocol: '2025-11-25',
    client: new OldClient({ name: 'test', version: '1.0.0' }),
    Transport: OldTransport,
  },
}

/** Operations whose work others read, before all others; those that delete come last. */
const rankOf = (id: string): number =>
  ['personas.create', 'lists.create', 'leads.extract', 'contacts.enrich'].includes(id)
    ? 0
    : id.endsWith('.delete')
      ? 2
      : 1

describe('prospect mcp as a process', () => {
  it.each(Object.entries(clients))(
    'lists its tools to the client of %s and answers each as its schema says, with nothing else on stdout',
    async (_, { client, protocol, Transport }) => {
      const here = machine()
      closeAfterTest({ close: async () => here.remove() })
      await here.json('init', '--yes', '--sample')
      await here.json('engine', 'members', 'set', 'me@localhost', '--consent-personal-email')
      writeFileSync(
        join(here.home, 'list.csv'),
        'name,domain\nAcme,acme-robotics.example\nOther,other.example\n',
      )
      const args = [prospect, 'mcp', '--root', here.home, '--max-credits', '900']
      const transport = new Transport({ command: process.execPath, args, env: { PROSPECT_HOME: here.home } })
      const strange: Error[] = []
      client.onerror = (error: Error) => void strange.push(error)
      await client.connect(transport as never)
      const { tools } = await client.listTools()
      const left = new Set(tools.map(({ name }) => name))
      // The client refuses what does not fit the schema of the tool.
      const call = async (name: string, given: object): Promise<Record<string, unknown>> => {
        left.delete(name)
        const answer = (await client.callTool({ name, arguments: { ...given } })) as unknown as Answer
        if (answer.isError) throw new Error(`${name}: ${answer.content[0]?.text}`)
        return answer.structuredContent ?? {}
      }
      const ids = new Map<string, unknown>()
      for (const { id } of operations().sort((one, other) => rankOf(one.id) - rankOf(other.id))) {
        const area = id === 'leads.extract' ? 'searches' : (id.split('.')[0] ?? '')
        const { webhook_url: _, ...request } = examples[id].request
        const own = { persona_id: ids.get('personas'), uuid: ids.get('personas'), id: ids.get(area) }
        const named = Object.entries(own).filter(([name]) => name in request)
        const asking = call(id.replace('.', '_'), { ...request, ...Object.fromEntries(named) })
        if (id === 'intents.track_job_changes') await expect(asking).rejects.toThrow('webhook_url')
        else if (rankOf(id) === 0) ids.set(area, (await asking).id)
        else await asking
      }
      const list = { operation: 'accounts_enrich', file: 'list.csv' }
      expect(await call('quote_file', list)).toMatchObject({ rows: 2 })
      const run = await call('run_file', { ...list, output: 'out.csv', wait: 60 })
      expect(run).toMatchObject({ status: 'finished', counts: { found: 1, not_found: 1 } })
      for (const name of ['run_status', 'stop_run', 'resume_run'])
        expect(await call(name, { run: run.id })).toMatchObject({ status: 'finished' })
      expect(
        await call('match_file', { file: 'list.csv', with: ['out.csv'], output: 'both.csv' }),
      ).toMatchObject({
        yes: 2,
      })
      expect((await call('ledger', { by: ['operation'] })).items).toContainEqual(
        expect.objectContaining({ operation: 'accounts.enrich' }),
      )
      const flow =
        'name: all\ninput: { csv: list.csv }\nsteps:\n  - accounts.enrich\noutput: { csv: flow.csv }\n'
      writeFileSync(join(here.home, 'flow.yaml'), flow)
      expect(await call('flow_quote', { file: 'flow.yaml' })).toMatchObject({ flow: 'all' })
      expect(await call('flow_run', { file: 'flow.yaml', wait: 60 })).toMatchObject({ status: 'finished' })
      expect([...left]).toEqual([])
      if (client instanceof Client) expect(client.getNegotiatedProtocolVersion()).toBe(protocol)
      await client.close()
      expect(strange).toEqual([])
    },
  )
})
