import type { Handler } from './handler.js'

/** The user of the key, the workspace, and whether its network sessions are valid. */
export const show: Handler<'account.show'> = ({ principal: { member, workspace } }) => ({
  output: {
    account: { email: member.email, name: member.name },
    workspace: { id: workspace.id, name: workspace.name, plan: workspace.plan },
    integrations: {
      network_session_valid: workspace.networkSession,
      premium_session_valid: workspace.premiumSession,
    },
  },
})
