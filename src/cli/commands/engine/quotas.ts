import type { Command } from 'commander'
import type { QuotaReport } from '../../../engine/credits/quotas.js'
import { UsageError } from '../../context/errors.js'
import { whole } from '../../options/flags.js'
import { isoTime } from '../../options/time-values.js'
import { guide } from '../../shell/guide.js'
import { asGroup, type Shell } from '../../shell/shell.js'
import { quotaTable } from '../limits/status-view.js'
import { adminAction } from './admin-action.js'

/** `prospect engine quotas`: ceilings set by hand, which hold across changes of the plan. */
export function quotasCommand(shell: Shell): Command {
  const quotas = asGroup(shell.command('quotas', 'Daily and monthly quotas of the workspace'))
  return quotas.addCommand(setQuotas(shell))
}

const ceilings = ['dailyProfiles', 'dailyCompanies', 'monthlyCompanies'] as const

function setQuotas(shell: Shell): Command {
  const command = shell
    .command('set', 'Set ceilings, one or several at once. What was used stays used.')
    .option('--daily-profiles <n>', 'people a day', whole)
    .option('--daily-companies <n>', 'companies a day', whole)
    .option('--monthly-companies <n>', 'companies a month', whole)
  guide(
    command,
    ['engine quotas set --daily-profiles 10'],
    'A ceiling holds until it is set again, whatever the plan.',
  )
  return adminAction(
    shell,
    command,
    async (admin, { options }) => {
      const given = ceilings.filter((name) => options[name] !== undefined)
      if (given.length === 0)
        throw new UsageError(
          'No ceiling was given.',
          'Add --daily-profiles, --daily-companies or --monthly-companies.',
        )
      return reported(
        await admin.setQuotas(Object.fromEntries(given.map((name) => [name, Number(options[name])]))),
      )
    },
    { layout: (body, look) => quotaTable(body as object, look) },
  )
}

const reported = (report: QuotaReport) =>
  Object.fromEntries(
    Object.entries(report).map(([name, { limit, used, remaining, resetsAt }]) => [
      name,
      { limit, used, remaining, resets_at: isoTime(resetsAt) },
    ]),
  )
