import { spawn } from 'node:child_process'
import { chmodSync, chownSync, existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../client/listeners.js'
import { makeFolder } from './new-folder.js'
import { until } from './until.js'

const program = ['/usr/sbin/pgbouncer', '/usr/bin/pgbouncer'].find(existsSync)

/** Whether the package is installed. */
export const hasPgBouncer = program !== undefined

/** Starts PgBouncer in transaction mode before the server whose socket is in a folder; at most two of its connections. */
export async function pgBouncer(
  server: { readonly folder: string; readonly name: string },
  ...settings: string[]
) {
  const folder = makeFolder()
  const port = await freePort()
  writeFileSync(join(folder, 'users'), '"postgres" ""\n')
  const lines = [
    '[databases]',
    // The server lets its own user in, through a socket in a folder of that user.
    `${server.name} = host=${server.folder} port=5432 user=postgres`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = trust',
    `auth_file = ${join(folder, 'users')}`,
    'pool_mode = transaction',
    'default_pool_size = 2',
    'max_client_conn = 200',
    ...settings,
  ]
  writeFileSync(join(folder, 'ini'), `${lines.join('\n')}\n`)
  // It refuses to run as root.
  const isRoot = process.getuid?.() === 0
  const nobody = isRoot ? { uid: 65_534, gid: 65_534 } : {}
  if (isRoot) chownSync(folder, 65_534, 65_534)
  chmodSync(folder, 0o755)
  const child = spawn(program ?? '', ['--quiet', join(folder, 'ini')], { ...nobody, stdio: 'ignore' })
  const ended = new Promise<void>((resolve) => child.on('close', () => resolve()))
  const url = `postgres://postgres@127.0.0.1:${port}/${server.name}`
  const close = async () => {
    child.kill('SIGKILL')
    await ended
    rmSync(folder, { recursive: true, force: true })
  }
  const { Client } = await import('pg')
  await until(async () => {
    const client = new Client({ connectionString: url })
    client.on('error', () => {})
    return client.connect().then(
      () => client.end().then(() => true),
      () => false,
    )
  })
  return { url, close }
}
