import { ApiError } from '../../api/errors.js'
import type { Handler } from '../handler.js'

/** One company; free when none is found. `live: false` omits the phone. */
export const enrich: Handler<'accounts.enrich'> = async ({ input, source }) => {
  const { company_network_url: url, domain, name, country } = input
  const account = await source.company({ url, domain, name, country })
  if (!account) throw new ApiError('no_company_found')
  if (input.live !== false) return { output: account, used: { company: 1 } }
  const { phone: _, ...output } = account
  return { output, used: { company: 1 } }
}

/** Technologies by name or slug, best match first. */
export const technologies: Handler<'accounts.technologies'> = async ({ input, source }) => ({
  output: { technologies: [...(await source.technologies(input.query ?? '', input.limit))] },
})
