import { binary } from '../run.js'
import { median, time } from './measure.js'

const version = { name: 'prospect --version', args: [binary, '--version'], limit: 1.25 }
const commands = [
  { name: 'prospect credits', args: [binary, 'credits'], limit: 2.5 },
  {
    name: 'prospect accounts enrich --domain …',
    args: [binary, 'accounts', 'enrich', '--domain', 'company-1.example'],
    limit: 2.9,
  },
]

const rounds = 31

/** Start-up of small commands against an empty Node, run in turns so that a busy moment hits all of them. */
export async function startup({ env, all }) {
  const nothing = { name: 'node -e 0', args: ['-e', '0'] }
  const measured = [...(all ? [version] : []), ...commands]
  const times = new Map([nothing, ...measured].map(({ name }) => [name, []]))
  for (let round = -1; round < rounds; round++) {
    for (const { name, args } of [nothing, ...measured]) {
      const ms = await time(args, env)
      if (round >= 0) times.get(name).push(ms)
    }
  }
  const base = median(times.get(nothing.name))
  return measured.map(({ name, limit }) => {
    const ms = median(times.get(name))
    return {
      what: `Start-up of \`${name}\``,
      measured: `${ms.toFixed(0)} ms`,
      baseline: `\`node -e 0\`: ${base.toFixed(0)} ms`,
      ratio: ms / base,
      atMost: limit,
    }
  })
}
