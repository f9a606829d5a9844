import type { Command } from 'commander'
import { exits, Stop } from '../../context/errors.js'
import { guide } from '../../shell/guide.js'
import type { Invocation, Shell } from '../../shell/shell.js'
import { checks } from './checks.js'
import { surroundings } from './context/surroundings.js'
import { type Examination, examine } from './examine.js'
import { doctorView } from './view.js'

const columns = ['name', 'status', 'text', 'hint']

/** `prospect doctor`: looks at everything that commands rely on, says what is wrong and what to do; changes nothing. */
export function doctorCommand(shell: Shell): Command {
  const command = shell
    .command('doctor', 'Look for what is wrong on this machine, and say what to do; exit 13 for a problem')
    .option('--thorough', 'read databases of more than 1 GiB through, too')
  guide(
    command,
    ['doctor', 'doctor --json', 'doctor --profile team'],
    'Nothing is changed and nothing is spent. A server is asked two free questions, and public_url one, for 5 seconds at\nmost each.',
  )
  return shell.action(command, (invocation) => run(shell, invocation))
}

async function run({ context, print }: Shell, { options, globals }: Invocation): Promise<number> {
  const found = await examine(checks, surroundings(context, globals, options.thorough === true))
  const examination = withoutSecrets(found, context.redact)
  await print(examination, globals, { layout: doctorView, columns })
  const names = new Set(examination.checks.flatMap(({ name, status }) => (status === 'problem' ? name : [])))
  if (names.size === 0) return exits.ok
  throw new Stop(
    `Something is wrong: ${[...names].join(', ')}.`,
    exits.checkFailed,
    'Each problem says what to do.',
    'check_failed',
  )
}

const withoutSecrets = ({ ok, checks }: Examination, redact: (text: string) => string): Examination => ({
  ok,
  checks: checks.map((finding) => ({
    ...finding,
    text: redact(finding.text),
    hint: finding.hint === null ? null : redact(finding.hint),
  })),
})
