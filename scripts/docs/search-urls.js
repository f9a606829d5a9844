/** What the parts of a search url mean, as Markdown, made from the tables of the decoder. */

const code = (text) => (text ? `\`${text}\`` : '')

/** The types of filters in premium search urls, with the filters they stand for. */
export function filterTypeTable({ filterTypes, revenueType }) {
  const targets = (names) => names?.filter(Boolean).map(code).join(', ') ?? ''
  const rows = filterTypes.map(({ type, people, companies }) => [
    code(type),
    targets(people),
    targets(companies),
  ])
  const revenue = [code(revenueType), '', targets(['min_revenue', 'max_revenue', 'revenue_currency'])]
  return table(['Type', 'Filters of people', 'Filters of companies'], [...rows, revenue])
}

/** The parameters of plain search urls, with the type of filter they are. */
export function plainParameterTable({ plainParameters }) {
  const rows = Object.entries(plainParameters).flatMap(([of, parameters]) =>
    Object.entries(parameters).map(([name, { type }]) => [code(name), of, code(type)]),
  )
  return table(['Parameter', 'Search of', 'The same as'], rows)
}

function table(heads, rows) {
  const line = (cells) => `| ${cells.join(' | ')} |`
  return [line(heads), line(heads.map(() => '---')), ...rows.map(line)].join('\n')
}
