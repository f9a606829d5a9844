import type { Schema } from '../../storage/database/migrate.js'
import { postgresSchema } from './postgres.js'

// A record is stored as JSON without its absent keys, beside the columns that it is found or filtered by. The full-text
// tables contain no second copy of the texts.
//
// The indexes `*_facts` contain every column that searches filter by, after the key, so that a search reads only them, in
// key order. Searches name them, so they must always exist. The column after the key is never compared with a list of
// values: SQLite would look up each of them.
const tables = `
CREATE TABLE companies (
  key INTEGER PRIMARY KEY,
  domain TEXT UNIQUE,
  network_id TEXT,
  slug TEXT,
  name TEXT,
  country TEXT,
  industry TEXT,
  size INTEGER,
  headcount INTEGER,
  record TEXT NOT NULL,
  id TEXT,
  city TEXT,
  region TEXT,
  industry_name TEXT,
  company_type TEXT,
  revenue REAL,
  revenue_currency TEXT
) STRICT;
CREATE INDEX companies_by_network_id ON companies (network_id) WHERE network_id IS NOT NULL;
CREATE INDEX companies_by_slug ON companies (slug) WHERE slug IS NOT NULL;
CREATE INDEX companies_by_name ON companies (name);
CREATE INDEX companies_by_id ON companies (id);
CREATE INDEX companies_facts ON companies
  (key, revenue, size, industry, country, company_type, headcount, region, city, industry_name, revenue_currency);
CREATE VIRTUAL TABLE companies_text USING fts5 (
  name, about, content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 2'
);

CREATE TABLE technologies (
  key INTEGER PRIMARY KEY,
  slug TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  category TEXT
) STRICT;
CREATE TABLE company_technologies (
  technology INTEGER NOT NULL REFERENCES technologies (key),
  company INTEGER NOT NULL REFERENCES companies (key),
  confidence REAL NOT NULL,
  mentions INTEGER NOT NULL,
  PRIMARY KEY (technology, company)
) STRICT, WITHOUT ROWID;
CREATE INDEX company_technologies_by_company ON company_technologies (company);

CREATE TABLE headcount_history (
  company INTEGER NOT NULL REFERENCES companies (key),
  department TEXT NOT NULL,
  date TEXT NOT NULL,
  headcount INTEGER NOT NULL,
  PRIMARY KEY (company, department, date)
) STRICT, WITHOUT ROWID;
CREATE TABLE headcount_growth (
  company INTEGER NOT NULL REFERENCES companies (key),
  department TEXT NOT NULL,
  headcount INTEGER NOT NULL,
  growth INTEGER,
  PRIMARY KEY (company, department)
) STRICT, WITHOUT ROWID;
CREATE INDEX headcount_growth_by_growth ON headcount_growth (department, growth DESC, company);
CREATE INDEX headcount_growth_by_headcount ON headcount_growth (department, headcount DESC, company);

CREATE TABLE people (
  key INTEGER PRIMARY KEY,
  company INTEGER REFERENCES companies (key),
  network_id TEXT NOT NULL UNIQUE,
  slug TEXT,
  email TEXT,
  personal_email TEXT,
  name TEXT NOT NULL,
  country TEXT,
  seniority INTEGER,
  function INTEGER,
  record TEXT NOT NULL,
  city TEXT,
  region TEXT,
  employer TEXT,
  first_name TEXT,
  last_name TEXT,
  years_of_experience INTEGER,
  position_since INTEGER,
  months_in_position INTEGER,
  months_in_company INTEGER
) STRICT;
CREATE INDEX people_by_slug ON people (slug) WHERE slug IS NOT NULL;
CREATE INDEX people_by_email ON people (email) WHERE email IS NOT NULL;
CREATE INDEX people_by_personal_email ON people (personal_email) WHERE personal_email IS NOT NULL;
CREATE INDEX people_by_company ON people (company, name);
CREATE INDEX people_facts ON people
  (key, position_since, company, function, seniority, country, region, city, years_of_experience,
   months_in_position, months_in_company, employer, first_name, last_name);
CREATE VIRTUAL TABLE people_text USING fts5 (
  name, title, about, past_titles, past_employers,
  content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 2'
);
CREATE TABLE phones (
  number TEXT NOT NULL,
  person INTEGER NOT NULL REFERENCES people (key),
  messenger INTEGER,
  PRIMARY KEY (number, person)
) STRICT, WITHOUT ROWID;

CREATE TABLE jobs (
  key INTEGER PRIMARY KEY,
  company INTEGER NOT NULL REFERENCES companies (key),
  identity TEXT NOT NULL UNIQUE,
  posted_at INTEGER,
  country TEXT,
  record TEXT NOT NULL,
  region TEXT,
  city TEXT,
  statuses TEXT
) STRICT;
CREATE INDEX jobs_by_company ON jobs (company, posted_at DESC, key DESC, country, region, city, statuses);
CREATE INDEX jobs_by_date ON jobs (posted_at DESC, key DESC, company, country, region, city, statuses);
CREATE VIRTUAL TABLE jobs_text USING fts5 (
  title, description, content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 2'
);

CREATE TABLE posts (
  key INTEGER PRIMARY KEY,
  identity TEXT NOT NULL UNIQUE,
  author TEXT,
  published_at INTEGER,
  record TEXT NOT NULL
) STRICT;
CREATE TABLE engagers (
  post INTEGER NOT NULL REFERENCES posts (key),
  profile TEXT NOT NULL,
  engagement TEXT NOT NULL,
  url TEXT NOT NULL,
  PRIMARY KEY (post, profile, engagement)
) STRICT, WITHOUT ROWID;
`

/** The schema of the catalogue. */
export const catalogueSchema: Schema = {
  first: { sqlite: tables, postgres: postgresSchema },
  steps: [],
  unreleased: 3,
  // Because the engine has a table of that name.
  privateTables: ['jobs'],
}
