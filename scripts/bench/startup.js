import { binary } from '../run.js'
import { median, time } from './measure.js'

const commands = [
  { name: 'prospect --version', args: [binary, '--version'], limit: 1.25 },
  { name: 'prospect credits', args: [binary, 'credits'], limit: 2.5 },
  {
    name: 'prospect accounts enrich --domain …',
    args: [binary, 'accounts', 'enrich', '--domain', 'company-1.example'],
    limit: 2.9,
  },
]

/** Start-up of small commands against an empty Node, run in turns so that a busy moment hits all of them. */
export async function startup({ env, quick }) {
  const nothing = { name: 'node -e 0', args: ['-e', '0'] }
  const times = new Map([nothing, ...commands].map(({ name }) => [name, []]))
  const rounds = quick ? 15 : 31
  for (let round = -1; round < rounds; round++) {
    for (const { name, args } of [nothing, ...commands]) {
      const ms = await time(args, env)
      if (round >= 0) times.get(name).push(ms)
    }
  }
  const base = median(times.get(nothing.name))
  return commands.map(({ name, limit }) => {
    const ms = median(times.get(name))
    return {
      what: `start-up of \`${name}\``,
      measured: `${ms.toFixed(0)} ms`,
      baseline: `\`node -e 0\`: ${base.toFixed(0)} ms`,
      ratio: ms / base,
      atMost: limit,
    }
  })
}
