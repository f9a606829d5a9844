interface Scale {
  readonly leastScore: number
  readonly scoreUnits: number
  readonly sizeFactor: number
  readonly growthPoints: number
  readonly usualHeadcounts: readonly number[]
}

/** At least one, where it is known. */
const atLeastOne = (headcount: string): string =>
  `CASE WHEN ${headcount} IS NOT NULL THEN greatest(1, ${headcount}) END`
const logarithm = (headcount: string): string => `ln(CAST(${atLeastOne(headcount)} AS DOUBLE PRECISION))`

const sameIndustry = 'CAST((industry = of_industry OR industry_name = of_industry_name) IS TRUE AS INTEGER)'
const sameCountry = 'CAST((country = of_country) IS TRUE AS INTEGER)'
const base = (industry: string, size: string, country: string): string =>
  `for_industry * ${industry} + for_size * ${size} + for_country * ${country}`

const number = (path: string): string => `CAST(value #>> '{${path}}' AS DOUBLE PRECISION)`

/** Returns the query of the same name for SQLite. Of examples that are equally alike the first one counts. */
export function selectSimilar(condition: string, scale: Scale): string {
  const { leastScore, scoreUnits, sizeFactor, growthPoints, usualHeadcounts } = scale
  const headcount = `coalesce(headcount, (ARRAY[${usualHeadcounts.join(', ')}])[CAST(size AS INTEGER) + 1])`
  const alikeSize = `coalesce(greatest(0, 1 - abs(${logarithm(headcount)} - ${logarithm('of_headcount')})
  / ln(CAST(${sizeFactor} AS DOUBLE PRECISION))), 0)`
  const alikeGrowth = `coalesce(greatest(0, 1 - abs(growth - of_growth) / ${growthPoints}), 0)`
  return `
  WITH example AS MATERIALIZED (
    SELECT place, CAST(value ->> 'key' AS BIGINT) AS of_key, value ->> 'industry' AS of_industry,
      value ->> 'industry_name' AS of_industry_name, ${number('headcount')} AS of_headcount,
      value ->> 'country' AS of_country, ${number('growth')} AS of_growth, ${number('leastBase')} AS least_base,
      ${number('weights,industry')} AS for_industry, ${number('weights,size')} AS for_size,
      ${number('weights,country')} AS for_country, ${number('weights,technologies')} AS for_technologies,
      ${number('weights,growth')} AS for_growth
    FROM jsonb_array_elements(CAST(? AS JSONB)) WITH ORDINALITY AS examples (value, place)
  ), near AS MATERIALIZED (
    SELECT * FROM (
      SELECT companies.key AS near_key, example.*,
        ${sameIndustry} AS same_industry, ${alikeSize} AS alike_size, ${sameCountry} AS same_country
      FROM example, companies
      WHERE companies.key NOT IN (SELECT of_key FROM example) AND ${condition}
    ) AS all_of_them WHERE ${base('same_industry', 'alike_size', 'same_country')} >= least_base
  ), rarity AS MATERIALIZED (
    SELECT technology, ln(1 + CAST((SELECT count(*) FROM companies) AS DOUBLE PRECISION) / count(*)) AS weight
    FROM company_technologies GROUP BY technology
  ), used AS MATERIALIZED (
    SELECT of_key AS used_by, technology AS used_technology, weight AS used_weight
    FROM example JOIN company_technologies ON company = of_key JOIN rarity USING (technology)
  ), compared AS (
    SELECT *, ${alikeGrowth} AS alike_growth, coalesce((
      SELECT coalesce(sum(weight) FILTER (WHERE used_technology IS NOT NULL), 0)
        / nullif(coalesce(sum(weight) FILTER (WHERE used_technology IS NULL), 0)
          + (SELECT coalesce(sum(used_weight), 0) FROM used WHERE used_by = of_key), 0)
      FROM company_technologies JOIN rarity USING (technology)
      LEFT JOIN used ON used_by = of_key AND used_technology = technology
      WHERE company = near_key
    ), 0) AS alike_technologies
    FROM near LEFT JOIN headcount_growth ON company = near_key AND department = 'all'
  ), scored AS (
    SELECT *, CAST(floor(${scoreUnits} * (
      ${base('same_industry', 'alike_size', 'same_country')}
        + for_technologies * alike_technologies + for_growth * alike_growth
    ) + 0.5) AS BIGINT) AS score FROM compared
  )
  SELECT DISTINCT ON (near_key) near_key AS key, score, same_industry AS industry, alike_size AS size,
    same_country AS country, alike_technologies AS technologies, alike_growth AS growth
  FROM scored WHERE score >= ${Math.round(leastScore * scoreUnits)} ORDER BY near_key, score DESC, place`
}
