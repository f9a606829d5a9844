import type { Handler } from './handler.js'

/** The user behind the key, their workspace, and whether its sessions on the network are valid. */
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
