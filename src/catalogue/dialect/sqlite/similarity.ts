interface Scale {
  readonly leastScore: number
  readonly scoreUnits: number
  readonly sizeFactor: number
  readonly growthPoints: number
  readonly usualHeadcounts: readonly number[]
}

const sameIndustry = '(industry = of_industry OR industry_name = of_industry_name) IS TRUE'
const sameCountry = '(country = of_country) IS TRUE'
const base = 'for_industry * same_industry + for_size * alike_size + for_country * same_country'

/**
 * Returns a query for the companies that fulfil a condition and resemble one of the examples, which are its first value as
 * JSON. Each company comes once, as `key`, `score` in whole units and its parts from 0 to 1, for the example it resembles most.
 *
 * Only companies that are near by industry, size and country, read from one index, are compared by technologies and growth.
 * A technology weighs more the rarer it is.
 */
export function selectSimilar(condition: string, scale: Scale): string {
  const { leastScore, scoreUnits, sizeFactor, growthPoints, usualHeadcounts } = scale
  const headcount = `max(1, coalesce(headcount, '${JSON.stringify(usualHeadcounts)}' ->> size))`
  const alikeSize = `coalesce(max(0, 1 - abs(ln(${headcount}) - ln(max(1, of_headcount))) / ln(${sizeFactor})), 0)`
  const alikeGrowth = `coalesce(max(0, 1 - abs(growth - of_growth) / ${growthPoints}.0), 0)`
  return `
  WITH example AS MATERIALIZED (
    SELECT value ->> 'key' AS of_key, value ->> 'industry' AS of_industry,
      value ->> 'industry_name' AS of_industry_name, value ->> 'headcount' AS of_headcount,
      value ->> 'country' AS of_country, value ->> 'growth' AS of_growth, value ->> 'leastBase' AS least_base,
      value ->> '$.weights.industry' AS for_industry, value ->> '$.weights.size' AS for_size,
      value ->> '$.weights.country' AS for_country, value ->> '$.weights.technologies' AS for_technologies,
      value ->> '$.weights.growth' AS for_growth
    FROM json_each(?)
  ), near AS MATERIALIZED (
    SELECT companies.key AS near_key, example.*,
      ${sameIndustry} AS same_industry, ${alikeSize} AS alike_size, ${sameCountry} AS same_country
    FROM example CROSS JOIN companies INDEXED BY companies_facts
    WHERE companies.key NOT IN (SELECT of_key FROM example) AND ${base} >= least_base AND ${condition}
  ), rarity AS MATERIALIZED (
    SELECT technology, ln(1 + (SELECT count(*) FROM companies) * 1.0 / count(*)) AS weight
    FROM company_technologies GROUP BY technology
  ), used AS MATERIALIZED (
    SELECT of_key AS user, technology AS used_technology, weight AS used_weight
    FROM example JOIN company_technologies ON company = of_key JOIN rarity USING (technology)
  ), compared AS (
    SELECT *, ${alikeGrowth} AS alike_growth, coalesce((
      SELECT total(weight) FILTER (WHERE used_technology IS NOT NULL)
        / (total(weight) FILTER (WHERE used_technology IS NULL) + (SELECT total(used_weight) FROM used WHERE user = of_key))
      FROM company_technologies JOIN rarity USING (technology)
      LEFT JOIN used ON user = of_key AND used_technology = technology
      WHERE company = near_key
    ), 0) AS alike_technologies
    FROM near LEFT JOIN headcount_growth ON company = near_key AND department = 'all'
  ), scored AS (
    SELECT *, CAST(round(${scoreUnits} * (
      ${base} + for_technologies * alike_technologies + for_growth * alike_growth
    )) AS INTEGER) AS score FROM compared
  )
  SELECT near_key AS key, max(score) AS score, same_industry AS industry, alike_size AS size,
    same_country AS country, alike_technologies AS technologies, alike_growth AS growth
  FROM scored WHERE score >= ${Math.round(leastScore * scoreUnits)} GROUP BY near_key`
}
