import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { describe, expect, it } from 'vitest'
import { closeAfterTest } from '../client/listeners.js'
import { machine } from '../support/command.js'
import { prospect } from '../support/processes.js'
import type { Answer } from './agent.js'
import { callEveryTool, readyForTools } from './every-tool.js'

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

describe('prospect mcp as a process', () => {
  it.each(Object.entries(clients))(
    'lists its tools to the client of %s and answers, with nothing else on stdout',
    async (_, { client, protocol, Transport }) => {
      const here = machine()
      closeAfterTest({ close: async () => here.remove() })
      await readyForTools(here)
      const args = [prospect, 'mcp', '--root', here.home, '--max-credits', '900', '--areas', 'all']
      const transport = new Transport({ command: process.execPath, args, env: { PROSPECT_HOME: here.home } })
      const strange: Error[] = []
      client.onerror = (error: Error) => void strange.push(error)
      await client.connect(transport as never)
      const { tools } = await client.listTools()
      const left = new Set(tools.map(({ name }) => name))
      const call = async (name: string, given: object): Promise<Record<string, unknown>> => {
        left.delete(name)
        const answer = (await client.callTool({ name, arguments: { ...given } })) as unknown as Answer
        if (answer.isError) throw new Error(`${name}: ${answer.content[0]?.text}`)
        return answer.structuredContent ?? {}
      }
      // What the tools answer to the older client is the same.
      if (client instanceof Client) {
        await callEveryTool(here.home, call)
        expect([...left]).toEqual([])
        expect(client.getNegotiatedProtocolVersion()).toBe(protocol)
      } else expect(await call('accounts_enrich', { domain: 'acme-robotics.example' })).toHaveProperty('name')
      await client.close()
      expect(strange).toEqual([])
    },
  )
})
