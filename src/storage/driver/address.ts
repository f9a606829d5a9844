/**
 * What `target_session_attrs` may be, as in libpq. Without it, several hosts are searched for the primary: an engine writes,
 * and a standby would refuse it.
 */
const attributes = ['any', 'read-write', 'read-only', 'primary', 'standby', 'prefer-standby'] as const

export type Attribute = (typeof attributes)[number]

/** An address of one or several servers, of which each has an address of its own. */
export interface Address {
  readonly urls: readonly string[]
  /** What each is called, without role and password. */
  readonly names: readonly string[]
  readonly wants: Attribute
}

const parts = /^(postgres(?:ql)?:\/\/)([^/?#]*@)?([^/?#]*)([^?#]*)(.*)$/is

/** Reads an address with several hosts, as libpq does: `a:5432,b:5432`, or `?host=a,b&port=5432`. */
export function readAddress(url: string): Address {
  const { scheme, role, path, query, servers } = split(url)
  const wants = (query.get('target_session_attrs') ?? (servers.length > 1 ? 'primary' : 'any')) as Attribute
  query.delete('target_session_attrs')
  if (servers.length < 2)
    return { urls: [withVerifiedTls(url)], names: servers.map(({ name }) => name), wants }
  const urls = servers.map(({ authority, host, port }) => {
    const own = new URLSearchParams(query)
    for (const [name, value] of [['host', host] as const, ['port', port] as const])
      if (value === undefined) own.delete(name)
      else own.set(name, value)
    // The driver reads a plus as a space, but others would not.
    const rest = own.size > 0 ? `?${String(own).replaceAll('+', '%20')}` : ''
    return withVerifiedTls(`${scheme}${role}${authority}${path}${rest}`)
  })
  return { urls, names: servers.map(({ name }) => name), wants }
}

/** Returns what is wrong with the hosts of an address, as the end of a sentence about it. */
export function addressProblem(url: string): string | undefined {
  const { query, servers, ports } = split(url)
  const wants = query.get('target_session_attrs')
  if (wants !== null && !(attributes as readonly string[]).includes(wants))
    return `has target_session_attrs=${wants}, which is none of ${attributes.join(', ')}`
  if (servers.length > 1 && ports !== undefined && ports !== 1 && ports !== servers.length)
    return `names ${servers.length} hosts but ${ports} ports: give one port for all, or one for each`
  if (servers.length > 1 && servers.some(({ name }) => name.replace(/:\d*$/, '') === ''))
    return 'has an empty host between its commas'
  const wrong = servers.find(({ name }) => !/^(?:\[[^\]]*\]|[^:]*)(?::\d*)?$/.test(name))
  return servers.length > 1 && wrong ? `has a host that is none: ${wrong.name}` : undefined
}

interface Server {
  readonly name: string
  readonly authority: string
  readonly host?: string
  readonly port?: string
}

function split(url: string) {
  const [, scheme = '', role = '', hosts = '', path = '', rest = ''] = parts.exec(url) ?? []
  const query = new URLSearchParams(rest.replace(/#.*$/s, '').replace(/^\?/, ''))
  const listed = query.get('host')?.split(',') ?? []
  const ports = query.get('port')?.split(',')
  const portAt = (at: number) => (ports && ports.length > 1 ? ports[at] : ports?.[0])
  const servers: readonly Server[] =
    listed.length > 0
      ? listed.map((host, at) => {
          const port = portAt(at)
          return { name: port ? `${host}:${port}` : host, authority: '', host, ...(port ? { port } : {}) }
        })
      : hosts.split(',').map((host, at) => {
          const port = portAt(at)
          return { name: host, authority: host, ...(port ? { port } : {}) }
        })
  return { scheme, role, path, query, servers, ports: ports?.length }
}

/** Returns an address that verifies the server's certificate, as pg does for any of these modes. */
const withVerifiedTls = (url: string): string =>
  url.replace(/([?&]sslmode=)(?:prefer|require|verify-ca)(?=&|$)/, '$1verify-full')
