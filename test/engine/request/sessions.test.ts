import { describe, expect, it } from 'vitest'
import { type OperationId, operation } from '../../../src/api/operations/table.js'
import { checkSession } from '../../../src/engine/request/access.js'
import type { Workspace } from '../../../src/engine/tables/members.js'
import { workspace } from '../../support/stored-rows.js'

const premium = 'https://www.linkedin.com/sales/search/people?query=(keywords:x)'
const plain = 'https://www.linkedin.com/search/results/people/?keywords=/sales/'

const check =
  (id: OperationId, fields: Record<string, unknown>, sessions: Partial<Workspace> = {}) =>
  () =>
    checkSession(operation(id), fields, { ...workspace, ...sessions })
const refusal = expect.objectContaining({ message: 'A valid network session is required' })
const refusalOrLive = expect.objectContaining({
  message: 'A valid network session is required, or use live: false',
})

describe('sessions', () => {
  it('of the premium search tool are required for its URLs', () => {
    expect(check('leads.extract', { search_url: premium })).toThrow(refusal)
    expect(check('leads.extract', { search_url: premium }, { premiumSession: true })).not.toThrow()
  })

  it('of the network suffice for plain URLs, whatever they search for', () => {
    expect(check('leads.extract', { search_url: plain })).not.toThrow()
    expect(check('leads.extract', { search_url: plain }, { networkSession: false })).toThrow(refusal)
  })

  it('are not required with live: false, which the refusal names only where there is such a field', () => {
    const none = { networkSession: false }
    expect(check('accounts.enrich', { domain: 'a.example' }, none)).toThrow(refusalOrLive)
    expect(check('accounts.enrich', { domain: 'a.example', live: false }, none)).not.toThrow()
  })

  it('are required for network locations, the default source', () => {
    const none = { networkSession: false }
    expect(check('locations.find', { name: 'Lyon' }, none)).toThrow(refusal)
    expect(check('locations.find', { name: 'Lyon', source: 'database' }, none)).not.toThrow()
  })
})
