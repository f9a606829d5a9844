import facts from './crm-layouts.json' with { type: 'json' }

export type CrmName = keyof typeof facts.layouts

/** The CRMs, whose imports have layouts and whose accounts can be connected. */
export const crmNames = Object.keys(facts.layouts) as readonly CrmName[]

export const isCrmName = (name: string): name is CrmName => Object.hasOwn(facts.layouts, name)
