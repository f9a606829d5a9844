import { spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'

const program = fileURLToPath(new URL('../../test/support/postgres-server.js', import.meta.url))
const port = 5432

/** What whoever runs a server for this gives it; the tests have hundreds of small ones. */
const settings = ['shared_buffers=1GB', 'max_wal_size=4GB']

/** Starts a PostgreSQL of its own on the disk of the machine's temporary files, gone with this process. */
export async function startDatabase() {
  const above = mkdtempSync(join(tmpdir(), 'prospect-pg-'))
  // It runs as somebody else where this runs as root; its own folder in this one is private.
  chmodSync(above, 0o711)
  const folder = join(above, 'server')
  const child = spawn(process.execPath, [program, folder, String(process.pid), ...settings], {
    stdio: 'ignore',
  })
  const ended = new Promise((resolve) => child.on('close', resolve))
  const sql = async (text) => {
    const client = new pg.Client({ host: folder, port, user: 'postgres', database: 'postgres' })
    await client.connect()
    try {
      return [await client.query(text)].flat().at(-1).rows
    } finally {
      await client.end()
    }
  }
  await answering(folder, sql)
  return {
    folder,
    port,
    url: `postgres://postgres@/postgres?host=${encodeURIComponent(folder)}&port=${port}`,
    log: () => readFileSync(join(folder, 'log'), 'utf8'),
    sql,
    stop: async () => {
      child.kill('SIGTERM')
      await ended
    },
  }
}

async function answering(folder, sql) {
  for (let left = 600; left > 0; left--) {
    if (existsSync(join(folder, 'failed'))) throw new Error(readFileSync(join(folder, 'failed'), 'utf8'))
    try {
      await sql('SELECT 1')
      return
    } catch {
      await pause(100)
    }
  }
  throw new Error('PostgreSQL did not start within a minute')
}
