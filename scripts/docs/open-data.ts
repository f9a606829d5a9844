import { openSets } from '../../src/catalogue/open-data/sets.js'

/** Returns the sets of open data as a table. */
export const openDataTable = (): string =>
  [
    '| Name | Set | As published | Rows | Licence | Has | Does not have |',
    '| --- | --- | --- | --- | --- | --- | --- |',
    ...openSets.map(
      ({ name, title, address, format, rows, licence, licence_url, has, lacks }) =>
        `| \`${name}\` | [${title}](${address}) | ${format} | ${rows} | [${licence}](${licence_url}) | ${has.join(', ')} | ${lacks.join(', ')} |`,
    ),
  ].join('\n')
