/** The CRMs, whose imports have layouts (`crm-layouts.json`) and whose accounts can be connected. */
export const crmNames = ['hubspot', 'salesforce', 'pipedrive'] as const

export type CrmName = (typeof crmNames)[number]

export const isCrmName = (name: string): name is CrmName => crmNames.some((one) => one === name)
