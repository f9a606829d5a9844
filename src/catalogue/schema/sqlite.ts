import type { Migration } from '../../storage/database/migrate.js'
import { postgresSchema } from './postgres.js'
import { signals } from './signals.js'

// A record is kept as JSON without its absent keys, ready to be answered; beside it stand only the columns that
// something is found or filtered by. Texts for keyword search keep no second copy of the record.
const first = `
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
  record TEXT NOT NULL
) STRICT;
CREATE INDEX companies_by_network_id ON companies (network_id) WHERE network_id IS NOT NULL;
CREATE INDEX companies_by_slug ON companies (slug) WHERE slug IS NOT NULL;
CREATE INDEX companies_by_name ON companies (name);
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

CREATE TABLE headcount_history (
  company INTEGER NOT NULL REFERENCES companies (key),
  department TEXT NOT NULL,
  date TEXT NOT NULL,
  headcount INTEGER NOT NULL,
  PRIMARY KEY (company, department, date)
) STRICT, WITHOUT ROWID;

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
  record TEXT NOT NULL
) STRICT;
CREATE INDEX people_by_slug ON people (slug) WHERE slug IS NOT NULL;
CREATE INDEX people_by_email ON people (email) WHERE email IS NOT NULL;
CREATE INDEX people_by_personal_email ON people (personal_email) WHERE personal_email IS NOT NULL;
CREATE INDEX people_by_company ON people (company, name);
CREATE VIRTUAL TABLE people_text USING fts5 (
  name, title, about, content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 2'
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
  record TEXT NOT NULL
) STRICT;
CREATE INDEX jobs_by_company ON jobs (company, posted_at);
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

// What searches filter by. The two indexes of facts hold every such column behind the key: a search reads them alone,
// in the order of the keys, and one that is added goes to their end. Searches name them, so that they must always be
// there. The column next to the key is one that is never asked to equal one of many values: SQLite would look each of
// them up. Texts of people have their past posts as well.
const second = `
ALTER TABLE companies ADD COLUMN id TEXT;
ALTER TABLE companies ADD COLUMN city TEXT;
ALTER TABLE companies ADD COLUMN region TEXT;
ALTER TABLE companies ADD COLUMN industry_name TEXT;
ALTER TABLE companies ADD COLUMN company_type TEXT;
ALTER TABLE companies ADD COLUMN revenue REAL;
ALTER TABLE companies ADD COLUMN revenue_currency TEXT;
CREATE INDEX companies_by_id ON companies (id);
CREATE INDEX companies_facts ON companies
  (key, revenue, size, industry, country, company_type, headcount, region, city, industry_name, revenue_currency);

ALTER TABLE people ADD COLUMN city TEXT;
ALTER TABLE people ADD COLUMN region TEXT;
ALTER TABLE people ADD COLUMN employer TEXT;
ALTER TABLE people ADD COLUMN first_name TEXT;
ALTER TABLE people ADD COLUMN last_name TEXT;
ALTER TABLE people ADD COLUMN years_of_experience INTEGER;
ALTER TABLE people ADD COLUMN position_since INTEGER;
ALTER TABLE people ADD COLUMN months_in_position INTEGER;
ALTER TABLE people ADD COLUMN months_in_company INTEGER;
CREATE INDEX people_facts ON people
  (key, position_since, company, function, seniority, country, region, city, years_of_experience,
   months_in_position, months_in_company, employer, first_name, last_name);
DROP TABLE people_text;
CREATE VIRTUAL TABLE people_text USING fts5 (
  name, title, about, past_titles, past_employers,
  content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 2'
);
`

/** The steps from an empty database to the catalogue's schema. In PostgreSQL the first three are one. */
export const migrations: readonly Migration[] = [
  { sqlite: first, postgres: postgresSchema },
  // Needed once, and loaded then.
  {
    sqlite: second,
    postgres: '',
    work: async (connection) => (await import('./fill-columns.js')).fillColumns(connection),
  },
  {
    sqlite: signals,
    postgres: '',
    work: async (connection) => (await import('./fill-signals.js')).fillSignals(connection),
  },
]
