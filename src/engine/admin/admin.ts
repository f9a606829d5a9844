import { clockAdmin } from './clock.js'
import { creditAdmin } from './credits.js'
import { jobAdmin } from './jobs.js'
import { limitsAdmin } from './limits.js'
import { keyAdmin, memberAdmin } from './members.js'
import { reportAdmin } from './report.js'
import { type AdminPorts, webhookSecretAdmin, workspaceAdmin } from './workspaces.js'

export { AdminError } from './workspaces.js'

/** What the owner of an engine can do besides the API. */
export type Admin = ReturnType<typeof createAdmin>

/** Creates the administration over a store. Every change applies to the next request of every process. */
export const createAdmin = (ports: AdminPorts) => ({
  ...workspaceAdmin(ports),
  ...creditAdmin(ports),
  ...memberAdmin(ports),
  ...keyAdmin(ports),
  ...clockAdmin(ports),
  ...reportAdmin(ports),
  ...jobAdmin(ports),
  ...webhookSecretAdmin(ports),
  ...limitsAdmin(ports),
  /** Throws while the database can be read but not written. */
  requireWritable: () => ports.store.requireWritable(),
})
