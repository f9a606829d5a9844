import type { Command } from 'commander'
import type { Admin } from '../../../engine/admin/admin.js'
import type { GlobalOptions, TargetContext } from '../../context/context.js'
import type { CommandEnvironment, Invocation } from '../../options/command-environment.js'
import type { View } from '../../output/output.js'

/** Gives a command work with the engine's administration, and prints the result. */
export function addAdminAction(
  environment: CommandEnvironment,
  command: Command,
  work: (admin: Admin, invocation: Invocation) => Promise<unknown>,
  view: View = {},
): Command {
  return environment.action(command, async (invocation) => {
    const admin = await openAdmin(environment.context, invocation.globals)
    await environment.print(await work(admin, invocation), invocation.globals, view)
    return 0
  })
}

/** Opens the engine's administration. It needs a workspace, which the first use creates, but no key. */
export async function openAdmin(context: TargetContext, globals: GlobalOptions): Promise<Admin> {
  const admin = await context.admin({ ...globals, create: false })
  return (await admin.workspaces()).length > 0 ? admin : context.admin(globals)
}
