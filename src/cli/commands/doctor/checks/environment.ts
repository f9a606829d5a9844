import { addressOf } from '../../../../client/proxy.js'
import type { Scene } from '../context/scene.js'
import { ok, type Verdict, warning } from '../context/verdict.js'

/** Variables whose value may be shown. */
const plain: readonly string[] = ['PROSPECT_HOME', 'PROSPECT_PROFILE', 'PROSPECT_BASE_URL', 'PROSPECT_DEBUG']
/** Variables that hold a secret: only that they are set is told. */
const secret: readonly string[] = ['PROSPECT_API_KEY', 'PROSPECT_WEBHOOK_SECRET', 'PROSPECT_DATABASE_URL']
const proxies: readonly string[] = ['HTTPS_PROXY', 'HTTP_PROXY']
const others: readonly string[] = [
  'NO_PROXY',
  'NO_COLOR',
  'CI',
  'NODE_EXTRA_CA_CERTS',
  'XDG_CONFIG_HOME',
  'XDG_DATA_HOME',
  'XDG_STATE_HOME',
]

/** Which variables of the environment change what commands do, and which look like a slip of the pen. */
export function environment({ env }: Scene): readonly Verdict[] {
  const isSet = (name: string) => Boolean(env[name])
  const names = [...plain, ...secret, ...proxies, ...proxies.map(lower), ...others, 'no_proxy']
  const told = names.filter(isSet).map((name) => described(name, env[name] ?? ''))
  const fine = told.length === 0 ? 'No variable changes what commands do.' : `Set: ${told.join(', ')}.`
  return [ok(fine), ...unknownNames(Object.keys(env).filter(isSet)), ...unusable(env)]
}

const lower = (name: string): string => name.toLowerCase()

function described(name: string, value: string): string {
  if (proxies.includes(name.toUpperCase())) return `${name} (${withoutCredentials(value)})`
  if (name === 'PROSPECT_BASE_URL') return `${name} (${withoutCredentials(value)})`
  return plain.includes(name) ? `${name} (${value})` : name
}

/** An address without user and password, and without what is not known to be free of them. */
function withoutCredentials(text: string): string {
  const url = addressOf(text)
  if (!url) return 'not an address'
  const { protocol, host, pathname } = url
  return `${protocol}//${host}${pathname === '/' ? '' : pathname}`
}

function unknownNames(names: readonly string[]): readonly Verdict[] {
  const known = [...plain, ...secret]
  const unknown = names.filter((name) => name.startsWith('PROSPECT_') && !known.includes(name))
  if (unknown.length === 0) return []
  const text = `${unknown.length === 1 ? 'A variable is' : 'Variables are'} not known: ${unknown.join(', ')}.`
  return [warning(text, `Known: ${known.join(', ')}.`)]
}

function unusable(env: Scene['env']): readonly Verdict[] {
  const warnings: Verdict[] = []
  for (const name of [...proxies, ...proxies.map(lower)])
    if (env[name] && withoutCredentials(env[name]) === 'not an address')
      warnings.push(warning(`${name} is not the address of a proxy.`, 'Such as http://proxy.example:3128'))
  if (env.NODE_TLS_REJECT_UNAUTHORIZED === '0')
    warnings.push(
      warning(
        'NODE_TLS_REJECT_UNAUTHORIZED is 0: prospect checks certificates all the same.',
        'Unset it; NODE_EXTRA_CA_CERTS=FILE adds an authority of your own.',
      ),
    )
  return warnings
}
