import { clockAdmin } from './admin/clock.js'
import { creditAdmin } from './admin/credits.js'
import { jobAdmin } from './admin/jobs.js'
import { keyAdmin } from './admin/keys.js'
import { limitsAdmin } from './admin/limits.js'
import { memberAdmin } from './admin/members.js'
import type { AdminPorts } from './admin/ports.js'
import { reportAdmin } from './admin/report.js'
import { webhookSecretAdmin } from './admin/webhook-secrets.js'
import { workspaceAdmin } from './admin/workspaces.js'

export { AdminError } from './admin/error.js'

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
