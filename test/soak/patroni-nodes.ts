import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parse, stringify } from 'yaml'
import { freePort } from '../client/listeners.js'
import { cutConnection } from '../support/cut-connection.js'
import { until } from '../support/until.js'

const binaries = '/usr/lib/postgresql/15/bin'
const deploy = (name: string) =>
  readFileSync(fileURLToPath(new URL(`../../deploy/${name}`, import.meta.url)), 'utf8')

/** Whether Debian's packages are installed, and nodes can have a disk of their own: as root on Linux. */
export const hasPatroni =
  process.platform === 'linux' &&
  process.getuid?.() === 0 &&
  [
    `${binaries}/postgres`,
    '/usr/bin/patroni',
    '/usr/bin/etcd',
    '/usr/sbin/haproxy',
    '/usr/sbin/pgbouncer',
  ].every(existsSync)

/** Seconds after which a node that is gone is replaced, as `deploy/patroni.yml` has it. */
export const ttl = Number(
  (parse(deploy('patroni.yml')) as { bootstrap: { dcs: { ttl: number } } }).bootstrap.dcs.ttl,
)

const idOf = (user: string, kind = '-u') => Number(execFileSync('id', [kind, user], { encoding: 'utf8' }))

/** Starts a program of the system, whose words go into a file. */
function run(folder: string, name: string, command: readonly string[], user?: string): ChildProcess {
  const log = openSync(join(folder, `${name}.log`), 'a')
  const who = user === undefined ? {} : { uid: idOf(user), gid: idOf(user, '-g') }
  const [program = '', ...args] = command
  return spawn(program, args, { ...who, cwd: folder, stdio: ['ignore', log, log] })
}

/** The processes below one, which are all of what it started. */
function below(pid: number): number[] {
  const children = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      try {
        return Number(/^\d+ \(.*\) \S (\d+)/s.exec(readFileSync(`/proc/${name}/stat`, 'utf8'))?.[1]) === pid
      } catch {
        return false
      }
    })
    .map(Number)
  return [pid, ...children.flatMap(below)]
}

function signal(pids: readonly number[], name: NodeJS.Signals): void {
  for (const pid of pids)
    try {
      process.kill(pid, name)
    } catch {
      // It has ended by itself.
    }
}

export type PatroniNode = Awaited<ReturnType<typeof startNode>>

async function startNode(folder: string, at: number, etcdPort: number, isSynchronous: boolean) {
  const name = `db-${at + 1}`
  const own = join(folder, name)
  const [port, restPort] = [await freePort(), await freePort()]
  const etcd = await cutConnection(etcdPort)
  mkdirSync(own)
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=1g,uid=${idOf('postgres')},mode=0700`, 'tmpfs', own])
  const text = deploy('patroni.yml')
    .replaceAll('db-1:8008', `127.0.0.1:${restPort}`)
    .replaceAll('db-1:5432', `127.0.0.1:${port}`)
    .replaceAll('0.0.0.0:8008', `127.0.0.1:${restPort}`)
    .replaceAll('0.0.0.0:5432', `127.0.0.1:${port}`)
    .replaceAll('db-1', name)
    .replaceAll('/var/lib/postgresql/15/main', join(own, 'data'))
  const settings = parse(text)
  // A way of its own to etcd for each node, which is no member that etcd knows.
  settings.etcd = { hosts: [`127.0.0.1:${etcd.port}`], use_proxies: true }
  settings.bootstrap.dcs.synchronous_mode = isSynchronous
  settings.bootstrap.dcs.postgresql.parameters.max_slot_wal_keep_size = '128MB'
  settings.postgresql.parameters = {
    unix_socket_directories: own,
    min_wal_size: '32MB',
    max_wal_size: '64MB',
    shared_buffers: '32MB',
    dynamic_shared_memory_type: 'mmap',
  }
  settings.postgresql.pgpass = join(own, 'pgpass')
  settings.postgresql.pg_hba = [
    'local all all trust',
    'host replication all all trust',
    'host all all all trust',
  ]
  writeFileSync(join(own, 'patroni.yml'), stringify(settings))
  const start = () => run(folder, name, ['/usr/bin/patroni', join(own, 'patroni.yml')], 'postgres')
  let patroni = start()
  const server = () => {
    try {
      return Number(readFileSync(join(own, 'data', 'postmaster.pid'), 'utf8').split('\n')[0])
    } catch {
      return undefined
    }
  }
  const all = () => [...below(patroni.pid ?? 0), ...(server() === undefined ? [] : below(server() ?? 0))]
  return {
    name,
    port,
    restPort,
    /** Ends PostgreSQL alone, which Patroni starts again. */
    killServer: () => signal(below(server() ?? 0).slice(0, 1), 'SIGKILL'),
    /** Ends all of the node, as a power cut would; it starts again later. */
    kill: () => signal(all(), 'SIGKILL'),
    start: () => {
      patroni = start()
    },
    freeze: () => signal(all(), 'SIGSTOP'),
    thaw: () => signal(all(), 'SIGCONT'),
    cutOff: () => etcd.cutAll(),
    mend: () => etcd.mend(),
    fill: () => {
      const { bavail, bsize } = statfsSync(own)
      const blocks = Math.ceil((bavail * bsize) / 2 ** 20) + 1
      // It ends when there is no room for more.
      spawnSync('dd', ['if=/dev/zero', `of=${join(own, 'filler')}`, 'bs=1M', `count=${blocks}`])
    },
    clear: () => rmSync(join(own, 'filler'), { force: true }),
    ask: async (path: string, body?: unknown) => {
      const post = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
      const signal = AbortSignal.timeout(3_000)
      return fetch(`http://127.0.0.1:${restPort}${path}`, { ...post, signal }).catch(() => undefined)
    },
    remove: async () => {
      signal(all(), 'SIGCONT')
      signal(all(), 'SIGKILL')
      await etcd.close()
      for (let tries = 50; tries > 0; tries--)
        try {
          execFileSync('umount', [own], { stdio: 'ignore' })
          return
        } catch {
          await pause(100)
        }
    },
  }
}

/** Starts etcd, three nodes under Patroni, HAProxy and PgBouncer, with the settings of the folder `deploy`. */
export async function startCluster(folder: string, isSynchronous: boolean) {
  execFileSync('chmod', ['0755', folder])
  const [client, peer] = [await freePort(), await freePort()]
  const urls = (port: number) => `http://127.0.0.1:${port}`
  mkdirSync(join(folder, 'etcd'), { mode: 0o700 })
  const etcd = run(folder, 'etcd', [
    '/usr/bin/etcd',
    '--enable-v2',
    ...[
      '--data-dir',
      join(folder, 'etcd'),
      '--listen-client-urls',
      urls(client),
      '--advertise-client-urls',
      urls(client),
    ],
    ...['--listen-peer-urls', urls(peer), '--initial-advertise-peer-urls', urls(peer)],
    ...['--initial-cluster', `default=${urls(peer)}`],
  ])
  const nodes: PatroniNode[] = []
  for (const at of [0, 1, 2]) nodes.push(await startNode(folder, at, client, isSynchronous))
  const leader = async () => {
    const answers = await Promise.all(
      nodes.map(async (node) => ((await node.ask('/primary'))?.status === 200 ? node : undefined)),
    )
    return answers.find((node) => node !== undefined)
  }
  /** All run, and follow the leader; one is the standby that has what is confirmed. */
  const isWhole = async () => {
    if (!(await leader())) return false
    const paths = isSynchronous ? '/synchronous' : '/replica'
    const synchronous = await Promise.all(nodes.map(async (node) => (await node.ask(paths))?.status === 200))
    const replicas = await Promise.all(
      nodes.map(async (node) => (await node.ask('/replica'))?.status === 200),
    )
    return synchronous.some(Boolean) && replicas.filter(Boolean).length === 2
  }
  await until(isWhole, 600_000)
  const [pooler, primary, api] = [await freePort(), await freePort(), await freePort()]
  const poolerSettings = deploy('pgbouncer.ini')
    .replace('port=5000', `port=${primary} user=postgres`)
    .replace('listen_port = 6432', `listen_port = ${pooler}`)
    .replace('scram-sha-256', 'trust')
    .replace('/etc/pgbouncer/userlist.txt', join(folder, 'users'))
  writeFileSync(join(folder, 'users'), '"postgres" ""\n')
  writeFileSync(join(folder, 'pgbouncer.ini'), `${poolerSettings}unix_socket_dir =\n`)
  const others: ChildProcess[] = [
    etcd,
    run(folder, 'pgbouncer', ['/usr/sbin/pgbouncer', join(folder, 'pgbouncer.ini')], 'postgres'),
  ]
  const hosts = nodes.map(({ port }) => `127.0.0.1:${port}`).join(',')
  return {
    nodes,
    leader,
    isWhole,
    primary,
    api,
    /** Several hosts, of which one is the primary. */
    direct: (database: string) => `postgres://postgres@${hosts}/${database}`,
    pooled: (database: string) => `postgres://postgres@127.0.0.1:${pooler}/${database}`,
    /** Puts HAProxy before PostgreSQL and before servers of ours on these ports. */
    balance: async (servers: readonly number[]) => {
      const text = deploy('haproxy.cfg')
        .replace('bind :4000', `bind 127.0.0.1:${api}`)
        .replace('bind :5000', `bind 127.0.0.1:${primary}`)
        .replace(/api-(\d):4010/g, (_, at) => `127.0.0.1:${servers[Number(at) - 1]}`)
        .replace(/(server db-(\d)) \S+ check port 8008/g, (_, name, at) => {
          const node = nodes[Number(at) - 1]
          return `${name} 127.0.0.1:${node?.port} check port ${node?.restPort}`
        })
      writeFileSync(join(folder, 'haproxy.cfg'), text)
      others.push(run(folder, 'haproxy', ['/usr/sbin/haproxy', '-db', '-f', join(folder, 'haproxy.cfg')]))
    },
    remove: async () => {
      await Promise.all(nodes.map((node) => node.remove()))
      for (const one of others) one.kill('SIGKILL')
    },
  }
}
