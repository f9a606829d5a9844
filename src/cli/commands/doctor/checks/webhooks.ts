import { isOwnMachine } from '../../../../api/values/url.js'
import { reasonOf } from '../context/reason.js'
import type { Scene, WayHome } from '../context/scene.js'
import { ok, type Verdict, warning } from '../context/verdict.js'
import { remoteTarget } from './server.js'

/** Whether the deliveries of the server reach this machine. */
export async function webhooks(scene: Scene): Promise<readonly Verdict[]> {
  const target = remoteTarget(scene)
  if (!target) return []
  const { publicUrl, baseUrl } = target
  if (publicUrl === undefined) return [withoutTunnel(isOwnMachine(new URL(baseUrl)))]
  const { origin } = new URL(publicUrl)
  try {
    return [verdictOn(await scene.wayHome(publicUrl), origin)]
  } catch (error) {
    const hint = 'Start the tunnel, or correct it: prospect config set public_url URL'
    return [warning(`${origin}, where deliveries should come, is not reached: ${reasonOf(error)}.`, hint)]
  }
}

const withoutTunnel = (isOwn: boolean): Verdict =>
  isOwn
    ? ok('The server is on this machine, and its deliveries reach it.')
    : ok(
        'There is no public_url: imports of companies cannot be waited for, other work is asked for.',
        'With a tunnel to port 4011: prospect config set public_url URL',
      )

function verdictOn(found: WayHome, origin: string): Verdict {
  if (found === 'home') return ok(`${origin} leads to this machine, to the port for deliveries.`)
  if (found === 'busy')
    return ok(`Port 4011 is in use, as by prospect listen: where ${origin} leads was not tried.`)
  return warning(
    `${origin} answers ${found}, and does not lead to port 4011 of this machine.`,
    'Point the tunnel at port 4011; for another port, give commands --receive-port.',
  )
}
