import { type AsyncJob, notBegun } from '../../src/engine/tables/jobs.js'
import type { Member, Workspace } from '../../src/engine/tables/members.js'

/** A workspace as a store keeps it. */
export const workspace: Workspace = {
  id: 'w1',
  name: 'First',
  plan: 'growth',
  dailyProfiles: null,
  dailyCompanies: 5,
  monthlyCompanies: null,
  createdAt: 1_700_000_000_000,
  nextAllocationAt: 1_800_000_000_000,
  networkSession: true,
  premiumSession: false,
}

/** Its member. */
export const member: Member = {
  id: 'm1',
  workspaceId: 'w1',
  email: 'ada@localhost',
  name: null,
  weeklyLimit: 9,
  consentPersonalEmail: true,
  createdAt: 1,
  removedAt: null,
}

/** A job as it is when it is accepted. */
export const job: AsyncJob = {
  id: 'j1',
  workspaceId: 'w1',
  memberId: 'm1',
  operation: 'intents.stack',
  kind: 'stack_import',
  name: 'Mine',
  webhookUrl: 'https://hook.example/',
  streaming: true,
  custom: { a: [1, null] },
  plan: { does: 'search', search: { kind: 'stack', filters: { stacks: ['react'] } as never }, scale: false },
  most: 50,
  expected: 40,
  ...notBegun,
  held: 120,
  createdAt: 1_000,
}
