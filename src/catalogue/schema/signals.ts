// What signals are found by, in indexes that hold every column a search asks of: it reads nothing else.

/** The step of the schema behind the signals; `fill-signals.ts` fills its table and columns. */
export const signals = `
CREATE INDEX company_technologies_by_company ON company_technologies (company);

CREATE TABLE headcount_growth (
  company INTEGER NOT NULL REFERENCES companies (key),
  department TEXT NOT NULL,
  headcount INTEGER NOT NULL,
  growth INTEGER,
  PRIMARY KEY (company, department)
) STRICT, WITHOUT ROWID;
CREATE INDEX headcount_growth_by_growth ON headcount_growth (department, growth DESC, company);
CREATE INDEX headcount_growth_by_headcount ON headcount_growth (department, headcount DESC, company);

ALTER TABLE jobs ADD COLUMN region TEXT;
ALTER TABLE jobs ADD COLUMN city TEXT;
ALTER TABLE jobs ADD COLUMN statuses TEXT;
DROP INDEX jobs_by_company;
CREATE INDEX jobs_by_company ON jobs (company, posted_at DESC, key DESC, country, region, city, statuses);
CREATE INDEX jobs_by_date ON jobs (posted_at DESC, key DESC, company, country, region, city, statuses);
`
