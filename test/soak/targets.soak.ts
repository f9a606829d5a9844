import { writeFileSync } from 'node:fs'
import { execa } from 'execa'
import { expect } from 'vitest'
import { internalHosts, linkLocalHosts, loopbackHosts, unfitUrls } from '../client/targets.js'
import { perTest } from '../support/each.js'
import { newFolder } from '../support/new-folder.js'
import { bundled } from '../support/programs.js'
import { soak, some } from './soak.js'

const publicAddress = '93.184.215.14'
const folder = perTest(newFolder)
/** What a network of its own has on loopback, beside a name server on 127.0.0.1. */
const addresses = [publicAddress, '10.1.2.3', '169.254.169.254', '100.64.0.1']
const rounds = some(1_000, 20)
const refused = [
  ...[...loopbackHosts, ...internalHosts, ...linkLocalHosts].map((host) => `http://${host}:8099/`),
  ...unfitUrls,
]

soak('P17', 'no internal address is contacted, whatever a name server answers', async () => {
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
  const program = await bundled('programs/namespace.ts')
  const argv = [program, publicAddress, String(rounds), JSON.stringify(refused)]
  const { stdout, stderr, exitCode } = await inNamespace(process.execPath, ...argv)
  expect(exitCode, stderr).toBe(0)
  const came = JSON.parse(stdout)
  expect(came).toMatchObject({ inside: 0, link: 0, changed: rounds })
  expect(came.statuses, JSON.stringify(came.said)).toEqual([204, null, 204])
  expect(came.queries).toBeGreaterThan(rounds)
  return {
    tried: `${came.urls} urls and ${rounds} names whose address changes between two questions`,
    measured: `${came.queries} questions to the name server; ${came.public} connections to the public address`,
  }
})
