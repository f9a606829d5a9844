import { EventEmitter } from 'node:events'
import { createInterface } from 'node:readline'
import { PassThrough } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { Client, type JSONRPCMessage, type Transport } from '@modelcontextprotocol/client'
import type { Caller } from '../../src/api/calls/caller.js'
import { main } from '../../src/cli/program/main.js'
import { closeAfterTest } from '../client/listeners.js'
import { streamsOf } from '../support/command.js'

/** What a tool answers. */
export interface Answer {
  readonly isError?: boolean
  readonly structuredContent?: Record<string, unknown>
  readonly content: readonly { readonly text: string }[]
}

/**
 * Starts `prospect mcp` over a home in this process, with all tools or with the `usual` ones, and connects a client that
 * speaks the older or the newer protocol.
 */
export async function connectAgent(
  home: string,
  argv: readonly string[] = [],
  {
    mode = 'auto',
    caller,
    env: given = {},
    usual = false,
  }: { mode?: 'auto' | 'legacy'; caller?: Caller; env?: Record<string, string>; usual?: boolean } = {},
) {
  const [stdin, stdout] = [new PassThrough(), new PassThrough()]
  const env = {
    ...given,
    PROSPECT_HOME: home,
    ...(caller ? { PROSPECT_API_KEY: 'pk_test0test0test0test0' } : {}),
  }
  const streams = { ...streamsOf({ env, cwd: home }), stdin, stdout }
  const signals = new EventEmitter() as unknown as NodeJS.Process
  // The time for which calls wait is over at once.
  const sleep = (ms: number, signal?: AbortSignal) =>
    pause(ms === 30_000 ? 0 : ms, undefined, signal && { signal })
  const ended = main(
    ['mcp', ...(usual ? [] : ['--areas', 'all']), ...argv],
    { ...streams, signals },
    caller ? { caller, sleep } : {},
  )
  const lines: string[] = []
  const transport: Transport = {
    start: async () => {
      createInterface(stdout).on('line', (line) => {
        lines.push(line)
        transport.onmessage?.(JSON.parse(line) as JSONRPCMessage)
      })
    },
    send: async (message) => void stdin.write(`${JSON.stringify(message)}\n`),
    close: async () => void stdin.end(),
  }
  const client = new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode } })
  await Promise.race([
    client.connect(transport),
    ended.then((code) => Promise.reject(new Error(`exit ${code}`))),
  ])
  const ask = async (name: string, args: object, options?: object) =>
    (await client.callTool({ name, arguments: { ...args } }, options)) as unknown as Answer
  closeAfterTest({
    close: async () => {
      stdin.end()
      await ended
    },
  })
  return {
    client,
    /** Calls a tool, whatever it answers. */
    ask,
    /** All lines of the server's stdout. */
    lines,
    /** Calls a tool and returns its structured result. Throws the error that it answers. */
    call: async <T = Record<string, unknown>>(name: string, args = {}, options?: object) => {
      const { isError, content, structuredContent } = await ask(name, args, options)
      if (isError) throw new Error(content[0]?.text)
      return structuredContent as T
    },
    /** Calls a tool that has to fail, and returns the error that it answers. */
    refused: async (name: string, args = {}): Promise<{ error: string; code: string; hint: string }> => {
      const { isError, content } = await ask(name, args)
      if (!isError) throw new Error(`${name} was not refused: ${content[0]?.text}`)
      return JSON.parse(content[0]?.text ?? '')
    },
  }
}
