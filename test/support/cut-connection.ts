import { createConnection, createServer, type Socket } from 'node:net'
import { join } from 'node:path'

/** What happens to the connection that brings a statement: it is cut before the server sees it, or before its answer. */
export type Cut = 'before' | 'after'

/** A way to a PostgreSQL server that can be cut. */
export type CutConnection = Awaited<ReturnType<typeof cutConnection>>

/** Opens a way on loopback to the server whose socket is in a folder, or to a port. */
export async function cutConnection(to: string | number) {
  const open = new Set<Socket>()
  const pairs = new Set<{ readonly client: Socket; readonly server: Socket; isStranded: boolean }>()
  let awaited: { readonly words: string; readonly cut: Cut } | undefined
  let isDown = false
  let isFrozen = false
  const server = createServer((client) => {
    if (isDown) return client.destroy()
    if (isFrozen) {
      open.add(client)
      return client.on('error', () => {})
    }
    const upstream =
      typeof to === 'number' ? createConnection(to, '127.0.0.1') : createConnection(join(to, '.s.PGSQL.5432'))
    const pair = { client, server: upstream, isStranded: false }
    pairs.add(pair)
    const end = () => {
      if (pair.isStranded) return
      pairs.delete(pair)
      client.destroy()
      upstream.destroy()
    }
    let isDeaf = false
    for (const socket of [client, upstream]) {
      open.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        open.delete(socket)
        end()
      })
    }
    client.on('data', (bytes) => {
      if (pair.isStranded) return
      const cut = awaited && bytes.includes(awaited.words) ? awaited.cut : undefined
      if (cut) awaited = undefined
      if (cut === 'before') return end()
      isDeaf ||= cut === 'after'
      upstream.write(bytes)
    })
    upstream.on('data', (bytes) => {
      if (isDeaf) end()
      else if (!pair.isStranded) client.write(bytes)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  /** Cuts all that are open, and takes no others until `mend`. */
  const cutAll = () => {
    isDown = true
    for (const socket of open) socket.destroy()
  }
  return {
    port: typeof address === 'object' && address ? address.port : 0,
    /** Cuts it at the next statement with these words, once. */
    cutAt: (words: string, cut: Cut) => {
      awaited = { words, cut }
    },
    cutAll,
    /** Leaves all that are open half-open: one side is told nothing, and hears nothing any more; the other side is gone. */
    strandAll: (side: 'client' | 'server') => {
      for (const pair of pairs) {
        pair.isStranded = true
        pair[side === 'client' ? 'server' : 'client'].destroy()
      }
      pairs.clear()
    },
    /** Forwards nothing more on all that are open, in either direction; both sides are told nothing. */
    freezeAll: () => {
      for (const pair of pairs) pair.isStranded = true
      pairs.clear()
    },
    /** The server stands still: it takes connections, but says nothing on them, nor on any that are open. */
    standStill: () => {
      isFrozen = true
      for (const pair of pairs) pair.isStranded = true
      pairs.clear()
    },
    /** The server is too slow for whoever comes now: it says nothing to them, but goes on with all that are open. */
    admitNobody: () => {
      isFrozen = true
    },
    mend: () => {
      isDown = false
      isFrozen = false
    },
    close: async () => {
      cutAll()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
