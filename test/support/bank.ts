import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'vitest'
import { createAdmin } from '../../src/engine/admin/admin.js'
import { verifyLedger } from '../../src/engine/credits/ledger.js'
import { openEngineDatabase } from '../../src/engine/tables/schema.js'
import { randomIds } from './engine.js'
import { start } from './processes.js'

const workspaces = 8
const each = 1_000

/** How long a bank is open, and for how many. */
export interface Rush {
  readonly ms: number
  readonly kills: number
  readonly writers: number
  readonly readers: number
  readonly location: string
}

/**
 * Eight workspaces with a fixed total; processes that move credits between them, of which some are killed, and others
 * that look. Expects that every look sees the same total and nothing below zero, and that the ledgers are right.
 */
export async function runBank(program: string, { ms, kills, writers, readers, location }: Rush) {
  const store = await openEngineDatabase(location)
  try {
    const admin = createAdmin({ store, clock: { now: Date.now }, ids: randomIds })
    await admin.init({ workspace: 'bank 0' })
    for (let at = 1; at < workspaces; at++) await admin.createWorkspace(`bank ${at}`)
    for (const { name } of await admin.workspaces()) {
      await admin.useWorkspace(name)
      await admin.setCredits(each)
    }
    const total = String(workspaces * each)
    const begin = (role: string) => start(program, location, role, total)
    const all = [...Array(writers).fill('write'), ...Array(readers).fill('read')].map((role: string) => ({
      role,
      running: begin(role),
    }))
    const lines: { role: string; lines: readonly string[] }[] = []
    for (let kill = 0; kill < kills; kill++) {
      await pause(ms / (kills + 1))
      const one = all[kill % writers]
      if (!one) continue
      one.running.child.kill('SIGKILL')
      await one.running.ended
      lines.push({ role: one.role, lines: one.running.lines })
      one.running = begin(one.role)
    }
    await pause(ms / (kills + 1))
    const codes = await Promise.all(all.map(({ running }) => running.stop()))
    expect(codes).toEqual(codes.map(() => 0))
    lines.push(...all.map(({ role, running }) => ({ role, lines: running.lines })))
    expect(lines.flatMap((one) => one.lines.filter((line) => line !== 'ok'))).toEqual([])
    for (const { id } of await admin.workspaces())
      expect((await verifyLedger(store, id)).problems).toEqual([])
    const count = (role: string) =>
      lines.filter((one) => one.role === role).reduce((sum, one) => sum + one.lines.length, 0)
    return { transfers: count('write'), looks: count('read') }
  } finally {
    await store.close()
  }
}
