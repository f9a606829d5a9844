-- Companies that fulfil a condition and resemble one of the examples, which come first among the values, as JSON. Each comes
-- once, for the example that it resembles most; of equal ones the first. Only companies that are near by industry, size and
-- country are compared by technologies and growth. A technology weighs more the rarer it is.
WITH example AS MATERIALIZED (
  SELECT CAST(value ->> 'place' AS BIGINT) AS place, CAST(value ->> 'key' AS BIGINT) AS of_key, value ->> 'industry' AS of_industry,
    value ->> 'industry_name' AS of_industry_name, value ->> 'country' AS of_country,
    CAST(value ->> 'logarithm' AS DOUBLE PRECISION) AS of_logarithm,
    CAST(value ->> 'growth' AS DOUBLE PRECISION) AS of_growth,
    CAST(value ->> 'least_base' AS DOUBLE PRECISION) AS least_base,
    CAST(value ->> 'for_industry' AS DOUBLE PRECISION) AS for_industry,
    CAST(value ->> 'for_size' AS DOUBLE PRECISION) AS for_size,
    CAST(value ->> 'for_country' AS DOUBLE PRECISION) AS for_country,
    CAST(value ->> 'for_technologies' AS DOUBLE PRECISION) AS for_technologies,
    CAST(value ->> 'for_growth' AS DOUBLE PRECISION) AS for_growth
  FROM json_each(?)
), near AS MATERIALIZED (
  SELECT * FROM (
    SELECT companies.key AS near_key, example.*,
      CAST((industry = of_industry OR industry_name = of_industry_name) IS TRUE AS INTEGER) AS same_industry,
      {alikeSize} AS alike_size,
      CAST((country = of_country) IS TRUE AS INTEGER) AS same_country
    FROM example CROSS JOIN companies INDEXED BY companies_facts ON TRUE
    WHERE companies.key NOT IN (SELECT of_key FROM example) AND {condition}
  ) AS compared WHERE {base} >= least_base
), rarity AS MATERIALIZED (
  SELECT technology, ln(1 + CAST((SELECT count(*) FROM companies) AS DOUBLE PRECISION) / count(*)) AS weight
  FROM company_technologies GROUP BY technology
), used AS MATERIALIZED (
  SELECT of_key AS used_by, technology AS used_technology, weight AS used_weight
  FROM example JOIN company_technologies ON company = of_key JOIN rarity USING (technology)
), compared AS (
  SELECT *, {alikeGrowth} AS alike_growth, coalesce((
    SELECT coalesce(sum(weight) FILTER (WHERE used_technology IS NOT NULL), 0)
      / nullif(coalesce(sum(weight) FILTER (WHERE used_technology IS NULL), 0)
        + (SELECT coalesce(sum(used_weight), 0) FROM used WHERE used_by = of_key), 0)
    FROM company_technologies JOIN rarity USING (technology)
    LEFT JOIN used ON used_by = of_key AND used_technology = technology
    WHERE company = near_key
  ), 0) AS alike_technologies
  FROM near LEFT JOIN headcount_growth ON company = near_key AND department = 'all'
), scored AS (
  SELECT *, CAST(floor({scoreUnits} * ({base} + for_technologies * alike_technologies + for_growth * alike_growth) + 0.5)
    AS BIGINT) AS score FROM compared
)
SELECT near_key AS key, score, same_industry AS industry, alike_size AS size, same_country AS country,
  alike_technologies AS technologies, alike_growth AS growth
FROM (
  SELECT *, row_number() OVER (PARTITION BY near_key ORDER BY score DESC, place) AS turn FROM scored WHERE score >= {minUnits}
) AS ranked WHERE turn = 1
