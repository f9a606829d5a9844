import { clockAdmin } from './clock.js'
import { creditAdmin } from './credits.js'
import { jobAdmin } from './jobs.js'
import { keyAdmin } from './keys.js'
import { limitsAdmin } from './limits.js'
import { memberAdmin } from './members.js'
import { reportAdmin } from './report.js'
import { type AdminPorts, webhookSecretAdmin, workspaceAdmin } from './workspaces.js'

export { AdminError } from './workspaces.js'

/** What the owner of an engine may do to the workspace in use, besides what its API offers. */
export type Admin = ReturnType<typeof createAdmin>

/** Administration over a store. Every change holds for the next request of every process. */
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
})
