import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'vitest'
import { createAdmin } from '../../src/engine/admin/admin.js'
import { verifyLedger } from '../../src/engine/credits/ledger.js'
import { openEngineDatabase } from '../../src/engine/tables/schema.js'
import { randomIds } from './engine.js'
import { type Running, start } from './processes.js'

const workspaces = 8
const each = 1_000

/** What was tried in a bank, and how often what was seen was wrong. */
export interface Banked {
  readonly transfers: number
  readonly looks: number
  readonly kills: number
}

/** How long a bank is open, and for how many. */
export interface Rush {
  readonly ms: number
  readonly kills: number
  readonly writers?: number
  readonly readers?: number
  /** A database; a file of its own unless given. */
  readonly location?: string
}

/**
 * Eight workspaces with a fixed total; processes that move credits between them, of which some are killed, and others
 * that look. Expects that every look sees the same total and nothing below zero, and that the ledgers are right.
 */
export async function runBank(
  program: string,
  { ms, kills, writers = 4, readers = 4, location }: Rush,
): Promise<Banked> {
  const folder = mkdtempSync(join(tmpdir(), 'prospect-bank-'))
  const file = location ?? join(folder, 'engine.db')
  const store = await openEngineDatabase(file)
  try {
    const admin = createAdmin({ store, clock: { now: Date.now }, ids: randomIds })
    await admin.init({ workspace: 'bank 0' })
    for (let at = 1; at < workspaces; at++) await admin.createWorkspace(`bank ${at}`)
    for (const { name } of await admin.workspaces()) {
      await admin.useWorkspace(name)
      await admin.setCredits(each)
    }
    const total = String(workspaces * each)
    const begin = (role: string) => start(program, file, role, total)
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
    await Promise.all(all.map(({ running }) => end(running)))
    lines.push(...all.map(({ role, running }) => ({ role, lines: running.lines })))
    expect(lines.flatMap((one) => one.lines.filter((line) => line !== 'ok'))).toEqual([])
    for (const { id } of await admin.workspaces())
      expect((await verifyLedger(store, id)).problems).toEqual([])
    const count = (role: string) =>
      lines.filter((one) => one.role === role).reduce((sum, one) => sum + one.lines.length, 0)
    return { transfers: count('write'), looks: count('read'), kills }
  } finally {
    await store.close()
    rmSync(folder, { recursive: true })
  }
}

async function end({ child, lines, ended }: Running): Promise<void> {
  // One that has only just been started knows no signals yet.
  while (lines.length === 0) await pause(10)
  child.kill('SIGTERM')
  expect(await ended).toBe(0)
}
