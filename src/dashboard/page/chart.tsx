import { count, formatNumber } from './elements.js'

/** A sum of a chart. */
export interface Sum {
  readonly by: string
  readonly credits: number
}

const height = 120
const step = 14

/** One bar for each day, drawn without a library: SVG with attributes only, which the security policy permits. */
export function DayChart({ days }: { readonly days: readonly Sum[] }) {
  const most = Math.max(1, ...days.map(({ credits }) => credits))
  const width = days.length * step
  const total = days.reduce((sum, { credits }) => sum + credits, 0)
  const label = `Credits by day: ${count(total, 'credit')} in ${count(days.length, 'day')}, at most ${formatNumber(most)} a day`
  return (
    <figure>
      <svg
        class="chart"
        viewBox={`0 0 ${width} ${height}`}
        role="img"
        aria-label={label}
        preserveAspectRatio="none"
      >
        {days.map(({ by, credits }, at) => {
          const tall = credits === 0 ? 1 : Math.max(2, (credits / most) * (height - 4))
          return (
            <rect
              class={credits === 0 ? 'zero' : ''}
              x={at * step + 2}
              y={height - tall}
              width={step - 4}
              height={tall}
              rx={1}
            >
              <title>
                {by}: {count(credits, 'credit')}
              </title>
            </rect>
          )
        })}
      </svg>
      <figcaption>
        <span>{days[0]?.by}</span>
        <span>
          {count(total, 'credit')}, at most {formatNumber(most)} a day
        </span>
        <span>{days.at(-1)?.by}</span>
      </figcaption>
    </figure>
  )
}
