import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execa } from 'execa'
import { expect, it } from 'vitest'
import { prospect } from '../support/processes.js'
import { bundled } from '../support/programs.js'
import { found } from './findings.js'
import { some } from './share.js'

const publicAddress = '93.184.215.14'
const addresses = [publicAddress, '10.1.2.3', '169.254.169.254', '100.64.0.1']

/** A network of its own, with these addresses on loopback and a name server on 127.0.0.1. */
const inNamespace = (resolv: string, ...command: string[]) =>
  execa(
    'unshare',
    [
      '--net',
      '--mount',
      'sh',
      '-c',
      [
        'ip link set lo up',
        ...addresses.map((address) => `ip addr add ${address}/32 dev lo`),
        `mount --bind ${resolv} /etc/resolv.conf`,
        'exec "$@"',
      ].join(' && '),
      'sh',
      ...command,
    ],
    { reject: false },
  )

it('P17: no internal address is contacted, whatever a name server answers', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'prospect-namespace-'))
  const resolv = join(folder, 'resolv.conf')
  writeFileSync(resolv, 'nameserver 127.0.0.1\noptions timeout:1 attempts:1\n')
  const program = await bundled('programs/namespace.ts')
  try {
    const rounds = some(1_000, 20)
    const probe = await inNamespace(resolv, 'true')
    if (probe.exitCode !== 0) {
      const lost = 'not run: it needs root, unshare and ip (iproute2)'
      found({ promise: 'P17', tried: 'a network namespace with a name server of its own', lost })
      return
    }
    const { stdout, stderr, exitCode } = await inNamespace(
      resolv,
      process.execPath,
      program,
      publicAddress,
      String(rounds),
    )
    expect([exitCode, stderr]).toEqual([0, ''])
    const came = JSON.parse(stdout)
    expect(came).toMatchObject({ inside: 0, link: 0, changed: rounds })
    expect(came.statuses, JSON.stringify(came.said)).toEqual([204, null, 204])
    expect(came.queries).toBeGreaterThan(rounds)
    found({
      promise: 'P17',
      tried: `${came.urls} urls and ${rounds} names whose address changes between two questions, in a network namespace`,
      lost: '0 connections to 127.0.0.1, [::1], 10.1.2.3, 100.64.0.1 and 169.254.169.254',
      measured: `${came.queries} questions to the name server; ${came.public} connections to the public address`,
    })
  } finally {
    rmSync(folder, { recursive: true })
  }
})

/** A median, a 95th percentile and a maximum in milliseconds. */
const told = ([median, p95, most]: readonly number[]) => `median ${median} ms, p95 ${p95}, at most ${most}`

it('P47: names whose server never answers delay only the workspace that gave them', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'prospect-namespace-'))
  const resolv = join(folder, 'resolv.conf')
  writeFileSync(resolv, 'nameserver 127.0.0.1\n')
  const program = await bundled('programs/dead-names.ts')
  try {
    const [names, seconds] = [100, some(300, 10)]
    const tried = `${names} names whose server never answers, from one of two workspaces of prospect serve, for ${seconds} s`
    if ((await inNamespace(resolv, 'true')).exitCode !== 0) {
      found({ promise: 'P47', tried, lost: 'not run: it needs root, unshare and ip (iproute2)' })
      return
    }
    const args = [process.execPath, program, prospect, String(names), String(seconds)]
    const { stdout, stderr, exitCode } = await inNamespace(resolv, ...args)
    expect(exitCode, stderr).toBe(0)
    const { without, during, accepted } = JSON.parse(stdout)
    found({
      promise: 'P47',
      tried,
      lost: `${names - accepted} requests`,
      measured:
        `deliveries of the other: ${told(during.deliveries)}, without the names ${told(without.deliveries)}; ` +
        `its requests: ${told(during.requests)}, without ${told(without.requests)}`,
    })
    expect(accepted).toBe(names)
    expect(during.deliveries[1]).toBeLessThanOrEqual(2 * without.deliveries[1] + 200)
    expect(during.requests[1]).toBeLessThanOrEqual(2 * without.requests[1] + 200)
  } finally {
    rmSync(folder, { recursive: true })
  }
})
