import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { operations } from '../../src/api/operations/table.js'
import { examples } from '../../src/reference/openapi.js'
import type { Machine } from '../support/command.js'
import { loadSample } from '../support/sample.js'

/** Operations whose work others read, before all others; those that delete come last. */
const rankOf = (id: string): number =>
  ['personas.create', 'lists.create', 'leads.extract', 'contacts.enrich'].includes(id)
    ? 0
    : id.endsWith('.delete')
      ? 2
      : 1

/** Fills a machine with what the calls of all tools need. */
export async function readyForTools(here: Machine): Promise<void> {
  await loadSample(here.home)
  await here.json('engine members set me@localhost --consent-personal-email')
  here.write('list.csv', 'name,domain\nAcme,acme-robotics.example\nOther,other.example\n')
}

/** Calls every tool over the folder of a machine. `call` throws what a tool answers as an error. */
export async function callEveryTool(
  folder: string,
  call: (name: string, given: object) => Promise<Record<string, unknown>>,
): Promise<void> {
  const ids = new Map<string, unknown>()
  for (const { id } of operations().sort((one, other) => rankOf(one.id) - rankOf(other.id))) {
    const area = id === 'leads.extract' ? 'searches' : (id.split('.')[0] ?? '')
    const { webhook_url: _, ...request } = examples[id].request
    const own = { persona_id: ids.get('personas'), uuid: ids.get('personas'), id: ids.get(area) }
    const named = Object.entries(own).filter(([name]) => name in request)
    const answer = await call(id.replace('.', '_'), { ...request, ...Object.fromEntries(named) })
    if (rankOf(id) === 0) ids.set(area, answer.id)
  }
  const list = { operation: 'accounts_enrich', file: 'list.csv' }
  expect(await call('quote_file', list)).toMatchObject({ rows: 2 })
  const run = await call('run_file', { ...list, output: 'out.csv', wait: 60 })
  expect(run).toMatchObject({ status: 'finished', counts: { found: 1, not_found: 1 } })
  for (const name of ['run_status', 'stop_run', 'resume_run'])
    expect(await call(name, { run: run.id })).toMatchObject({ status: 'finished' })
  expect(await call('match_file', { file: 'list.csv', with: ['out.csv'], output: 'both.csv' })).toMatchObject(
    {
      yes: 2,
    },
  )
  expect(await call('suppress_check', { value: 'someone@other.example' })).toMatchObject({
    suppressed: false,
  })
  expect((await call('ledger', { by: ['operation'] })).items).toContainEqual(
    expect.objectContaining({ operation: 'accounts.enrich' }),
  )
  const flow = 'name: all\ninput: { csv: list.csv }\nsteps:\n  - accounts.enrich\noutput: { csv: flow.csv }\n'
  writeFileSync(join(folder, 'flow.yaml'), flow)
  expect(await call('flow_quote', { file: 'flow.yaml' })).toMatchObject({ flow: 'all' })
  expect(await call('flow_run', { file: 'flow.yaml', wait: 60 })).toMatchObject({ status: 'finished' })
}
