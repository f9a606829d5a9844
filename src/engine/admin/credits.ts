import { addMovement, grantDue } from '../credits/ledger.js'
import { lockPosition } from '../tables/movements.js'
import { type AdminPorts, checkWhole, readCurrent } from './workspaces.js'

/** Changes the balance of the workspace in use; every change is a movement of its ledger. */
export function creditAdmin(ports: AdminPorts) {
  return {
    addCredits: async (amount: number) => {
      checkWhole(amount, 'An amount of credits', 1)
      return await adjust(ports, 'top_up', () => amount)
    },
    setCredits: async (amount: number) => {
      checkWhole(amount, 'A balance')
      return await adjust(ports, 'adjustment', (credits) => amount - credits)
    },
  }
}

async function adjust(
  { store, clock }: AdminPorts,
  kind: 'top_up' | 'adjustment',
  difference: (credits: number) => number,
): Promise<{ credits: number }> {
  const { workspace, now } = await store.read((tx) => readCurrent(tx, clock))
  await grantDue(store, workspace, now)
  return await store.transaction(async (tx) => {
    const balance = await lockPosition(tx, workspace.id)
    const amount = difference(balance.credits)
    if (amount === 0) return { credits: balance.credits }
    const [debit, credit] = amount > 0 ? (['issued', 'credits'] as const) : (['credits', 'issued'] as const)
    const step = { workspace_id: workspace.id, kind, debit, credit, amount: Math.abs(amount), at: now }
    const { credits } = await addMovement(tx, step, balance)
    return { credits }
  })
}
