import type { Command } from 'commander'
import type { Listening } from '../../../http/listen.js'
import { UsageError } from '../../context/errors.js'
import { port } from '../../options/values.js'

/** Where a server listens, as its options say. */
export interface ListenAddress {
  readonly host?: string
  readonly port?: number
  readonly public?: boolean
}

/** Gives a server's command the options that say where it listens. */
export const addListenOptions = (command: Command, usualPort: number): Command =>
  command
    .option('--host <address>', 'address to listen on (default: 127.0.0.1)')
    .option('--port <n>', `port to listen on, 0 for a free one (default: ${usualPort})`, port)
    .option('--public', 'permit a --host that other machines can reach')

/** Starts a server where its options say; what is wrong with the place ends the command with exit 2. */
export async function startListening(
  handler: (request: Request) => Promise<Response>,
  place: ListenAddress,
  usualPort: number,
  allowHosts: readonly string[],
): Promise<Listening> {
  const { listen, ListenError } = await import('../../../http/listen.js')
  const { host = '127.0.0.1', port = usualPort } = place
  try {
    return await listen({ handler, host, port, allowHosts, public: place.public === true })
  } catch (error) {
    if (error instanceof ListenError) throw new UsageError(`${error.message}.`)
    throw error
  }
}
