import { writeFileSync } from 'node:fs'
import { execa } from 'execa'
import { expect } from 'vitest'
import { internalHosts, linkLocalHosts, loopbackHosts, unfitUrls } from '../client/targets.js'
import { perTest } from '../support/each.js'
import { newFolder } from '../support/new-folder.js'
import { prospect } from '../support/processes.js'
import { bundled } from '../support/programs.js'
import { type Report, soak, some } from './soak.js'

const publicAddress = '93.184.215.14'
const folder = perTest(newFolder)
const addresses = [publicAddress, '10.1.2.3', '169.254.169.254', '100.64.0.1']

/**
 * Tests a promise with what a program prints in a network of its own, which has these addresses on loopback and a name
 * server on 127.0.0.1.
 */
const soakInNamespace = (
  promise: string,
  title: string,
  program: string,
  args: readonly (string | number)[],
  judge: (printed: ReturnType<typeof JSON.parse>) => Report,
) =>
  soak(promise, title, async () => {
    const resolv = folder.at('resolv.conf')
    writeFileSync(resolv, 'nameserver 127.0.0.1\n')
    const setUp = [
      'ip link set lo up',
      ...addresses.map((address) => `ip addr add ${address}/32 dev lo`),
      `mount --bind ${resolv} /etc/resolv.conf`,
      'exec "$@"',
    ].join(' && ')
    const inNamespace = (...command: string[]) =>
      execa('unshare', ['--net', '--mount', 'sh', '-c', setUp, 'sh', ...command], { reject: false })
    if ((await inNamespace('true')).exitCode !== 0)
      return { notRun: 'it needs root, unshare and ip (iproute2)' }
    const argv = [process.execPath, await bundled(program), ...args.map(String)]
    const { stdout, stderr, exitCode } = await inNamespace(...argv)
    expect(exitCode, stderr).toBe(0)
    return judge(JSON.parse(stdout))
  })

const rounds = some(1_000, 20)
const refused = [
  ...[...loopbackHosts, ...internalHosts, ...linkLocalHosts].map((host) => `http://${host}:8099/`),
  ...unfitUrls,
]
soakInNamespace(
  'P17',
  'no internal address is contacted, whatever a name server answers',
  'programs/namespace.ts',
  [publicAddress, rounds, JSON.stringify(refused)],
  (came) => {
    expect(came).toMatchObject({ inside: 0, link: 0, changed: rounds })
    expect(came.statuses, JSON.stringify(came.said)).toEqual([204, null, 204])
    expect(came.queries).toBeGreaterThan(rounds)
    return {
      tried: `${came.urls} urls and ${rounds} names whose address changes between two questions`,
      measured: `${came.queries} questions to the name server; ${came.public} connections to the public address`,
    }
  },
)

/** A median, a 95th percentile and a maximum in milliseconds. */
const told = ([median, p95, most]: readonly number[]) => `median ${median} ms, p95 ${p95}, at most ${most}`

const [names, seconds] = [100, some(300, 10)]
soakInNamespace(
  'P47',
  'names whose server never answers delay only the workspace that gave them',
  'programs/dead-names.ts',
  [prospect, names, seconds],
  ({ without, during, accepted }) => {
    expect(accepted).toBe(names)
    expect(during.deliveries[1]).toBeLessThanOrEqual(2 * without.deliveries[1] + 200)
    expect(during.requests[1]).toBeLessThanOrEqual(2 * without.requests[1] + 200)
    return {
      tried: `${names} names from one of two workspaces of prospect serve, for ${seconds} s`,
      measured:
        `deliveries of the other: ${told(during.deliveries)}, without the names ${told(without.deliveries)}; ` +
        `its requests: ${told(during.requests)}, without ${told(without.requests)}`,
    }
  },
)
