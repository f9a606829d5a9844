import type { Key, Member, Workspace } from '../../src/engine/tables/members.js'

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

/** A key of that member. */
export const key: Key = {
  id: 'k1',
  memberId: 'm1',
  hash: 'a'.repeat(64),
  hint: 'pk_abcd',
  scopes: ['credits', 'accounts'],
  createdAt: 2,
  expiresAt: 1_900_000_000_000,
  revokedAt: null,
  name: 'CI',
  usedAt: 3,
}
