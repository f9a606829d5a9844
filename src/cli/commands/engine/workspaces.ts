import type { Command } from 'commander'
import type { Workspace } from '../../../engine/ports/ports.js'
import { asGroup, type CommandEnvironment, guide } from '../../options/command-environment.js'
import { isoTime } from '../../options/values.js'
import { adminAction } from './admin-action.js'

/** `prospect engine workspaces`: several may be kept side by side; one is in use at a time. */
export function workspacesCommand(environment: CommandEnvironment): Command {
  const workspaces = asGroup(
    environment.command('workspaces', 'Workspaces of this engine, of which one is in use'),
  )
  for (const make of [listWorkspaces, createWorkspace, useWorkspace]) workspaces.addCommand(make(environment))
  return workspaces
}

const shown = ({ id, name, plan, createdAt }: Workspace) => ({
  id,
  name,
  plan,
  created_at: isoTime(createdAt),
})

function listWorkspaces(environment: CommandEnvironment): Command {
  const command = guide(environment.command('list', 'List the workspaces'), ['engine workspaces list'])
  return adminAction(
    environment,
    command,
    async (admin) => (await admin.workspaces()).map((one) => ({ ...shown(one), used: one.used })),
    { columns: ['name', 'plan', 'used', 'created_at', 'id'] },
  )
}

function createWorkspace(environment: CommandEnvironment): Command {
  const command = environment.command('create', 'Create a workspace with its own credits, members and ledger')
  command.argument('<name>', 'its name')
  guide(
    command,
    ['engine workspaces create Trial'],
    'Next: prospect engine workspaces use NAME, then prospect engine members add EMAIL',
  )
  return adminAction(environment, command, async (admin, { args: [name = ''] }) =>
    shown(await admin.createWorkspace(name)),
  )
}

function useWorkspace(environment: CommandEnvironment): Command {
  const command = environment.command('use', 'Use a workspace from now on, in every command of this machine')
  command.argument('<name>', 'its name or id')
  guide(command, ['engine workspaces use Trial'])
  return adminAction(environment, command, async (admin, { args: [name = ''], globals }) => {
    const used = shown(await admin.useWorkspace(name))
    if ((await admin.members()).length === 0)
      environment.context.notify(`${used.name} has no member yet: prospect engine members add EMAIL`, globals)
    return used
  })
}
