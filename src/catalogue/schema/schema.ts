import type { Schema } from '../../storage/database/migrate.js'

/** What the databases spell differently in the tables of the catalogue. */
interface CatalogueTypes {
  readonly int: string
  readonly text: string
  readonly real: string
  /** A growth in percent. */
  readonly percent: string
  /** A key that the database assigns. */
  readonly identity: string
  /** The column of the record, in SQLite among the others. */
  readonly record: string
  /** The last columns in PostgreSQL: the words that a row is found by, and its record. */
  readonly lastColumns: string
  /** Follows a table. */
  readonly strict: string
  /** Follows a table that SQLite stores in the order of its primary key. */
  readonly clustered: string
  /** Follows a text that no other row may have. In PostgreSQL a constraint for long texts is added to the table. */
  readonly sole: string
}

// A record is stored as JSON without its absent keys, beside the columns that it is found or filtered by.
const tables = ({
  int,
  text,
  real,
  percent,
  identity,
  record,
  lastColumns,
  strict,
  clustered,
  sole,
}: CatalogueTypes) => `
CREATE TABLE companies (
  key ${int} PRIMARY KEY,
  domain ${text} UNIQUE,
  network_id ${text},
  slug ${text},
  name ${text},
  country ${text},
  industry ${text},
  size ${int},
  headcount ${int},${record}
  id ${text},
  city ${text},
  region ${text},
  industry_name ${text},
  company_type ${text},
  revenue ${real},
  revenue_currency ${text}${lastColumns}
)${strict};
CREATE TABLE technologies (
  key ${identity},
  slug ${text} NOT NULL${sole},
  name ${text} NOT NULL,
  category ${text}
)${strict};
CREATE TABLE company_technologies (
  technology ${int} NOT NULL REFERENCES technologies (key),
  company ${int} NOT NULL REFERENCES companies (key),
  confidence ${real} NOT NULL,
  mentions ${int} NOT NULL,
  PRIMARY KEY (technology, company)
)${clustered};
CREATE INDEX company_technologies_by_company ON company_technologies (company);
CREATE TABLE headcount_history (
  company ${int} NOT NULL REFERENCES companies (key),
  department ${text} NOT NULL,
  date ${text} NOT NULL,
  headcount ${int} NOT NULL,
  PRIMARY KEY (company, department, date)
)${clustered};
CREATE TABLE headcount_growth (
  company ${int} NOT NULL REFERENCES companies (key),
  department ${text} NOT NULL,
  headcount ${int} NOT NULL,
  growth ${percent},
  PRIMARY KEY (company, department)
)${clustered};
CREATE INDEX headcount_growth_by_growth ON headcount_growth (department, growth DESC, company);
CREATE INDEX headcount_growth_by_headcount ON headcount_growth (department, headcount DESC, company);
CREATE TABLE people (
  key ${int} PRIMARY KEY,
  company ${int} REFERENCES companies (key),
  network_id ${text} NOT NULL${sole},
  slug ${text},
  email ${text},
  personal_email ${text},
  name ${text} NOT NULL,
  country ${text},
  seniority ${int},
  function ${int},${record}
  city ${text},
  region ${text},
  employer ${text},
  first_name ${text},
  last_name ${text},
  years_of_experience ${int},
  position_since ${int},
  months_in_position ${int},
  months_in_company ${int}${lastColumns}
)${strict};
CREATE TABLE phones (
  number ${text} NOT NULL,
  person ${int} NOT NULL REFERENCES people (key),
  messenger ${int},
  PRIMARY KEY (number, person)
)${clustered};
CREATE TABLE jobs (
  key ${int} PRIMARY KEY,
  company ${int} NOT NULL REFERENCES companies (key),
  identity ${text} NOT NULL${sole},
  posted_at ${int},
  country ${text},${record}
  region ${text},
  city ${text},
  statuses ${text}${lastColumns}
)${strict};
CREATE TABLE posts (
  key ${int} PRIMARY KEY,
  identity ${text} NOT NULL${sole},
  author ${text},
  published_at ${int},
  record TEXT NOT NULL
)${strict};
CREATE TABLE engagers (
  post ${int} NOT NULL REFERENCES posts (key),
  profile ${text} NOT NULL,
  engagement ${text} NOT NULL,
  url ${text} NOT NULL,
  PRIMARY KEY (post, profile, engagement)
)${clustered};
`

const sqliteTypes: CatalogueTypes = {
  ...{ int: 'INTEGER', text: 'TEXT', real: 'REAL', percent: 'INTEGER', identity: 'INTEGER PRIMARY KEY' },
  ...{ record: '\n  record TEXT NOT NULL,', lastColumns: '' },
  ...{ strict: ' STRICT', clustered: ' STRICT, WITHOUT ROWID', sole: ' UNIQUE' },
}

/** A full-text table, without a second copy of the texts. */
const fullText = (table: string, columns: string) => `
CREATE VIRTUAL TABLE ${table}_text USING fts5 (
  ${columns}, content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 2'
);`

// The indexes `*_facts` contain every column that searches filter by, after the key, so that a search reads only them, in
// key order. Searches name them, so they must always exist. The column after the key is never compared with a list of
// values: SQLite would look up each of them.
const sqliteIndexes = `
CREATE INDEX companies_by_network_id ON companies (network_id) WHERE network_id IS NOT NULL;
CREATE INDEX companies_by_slug ON companies (slug) WHERE slug IS NOT NULL;
CREATE INDEX companies_by_name ON companies (name);
CREATE INDEX companies_by_id ON companies (id);
CREATE INDEX companies_facts ON companies
  (key, revenue, size, industry, country, company_type, headcount, region, city, industry_name, revenue_currency);
CREATE INDEX people_by_slug ON people (slug) WHERE slug IS NOT NULL;
CREATE INDEX people_by_email ON people (email) WHERE email IS NOT NULL;
CREATE INDEX people_by_personal_email ON people (personal_email) WHERE personal_email IS NOT NULL;
CREATE INDEX people_by_company ON people (company, name);
CREATE INDEX people_facts ON people
  (key, position_since, company, function, seniority, country, region, city, years_of_experience,
   months_in_position, months_in_company, employer, first_name, last_name);
CREATE INDEX jobs_by_company ON jobs (company, posted_at DESC, key DESC, country, region, city, statuses);
CREATE INDEX jobs_by_date ON jobs (posted_at DESC, key DESC, company, country, region, city, statuses);
${fullText('companies', 'name, about')}${fullText('people', 'name, title, about, past_titles, past_employers')}${fullText('jobs', 'title, description')}
`

// Long texts are looked up by hash indexes, because B-tree indexes refuse them.
const postgresTypes: CatalogueTypes = {
  ...{ int: 'BIGINT', text: 'TEXT COLLATE "C"', real: 'DOUBLE PRECISION', percent: 'DOUBLE PRECISION' },
  identity: 'BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY',
  ...{ record: '', lastColumns: ',\n  words TSVECTOR NOT NULL,\n  record TEXT NOT NULL' },
  ...{ strict: '', clustered: '', sole: '' },
}

const postgresIndexes = `
ALTER TABLE technologies ADD EXCLUDE USING hash (slug WITH =);
ALTER TABLE people ADD EXCLUDE USING hash (network_id WITH =);
ALTER TABLE jobs ADD EXCLUDE USING hash (identity WITH =);
ALTER TABLE posts ADD EXCLUDE USING hash (identity WITH =);
CREATE INDEX companies_by_network_id ON companies USING hash (network_id);
CREATE INDEX companies_by_slug ON companies USING hash (slug);
CREATE INDEX companies_by_name ON companies USING hash (name);
CREATE INDEX companies_by_id ON companies (id);
CREATE INDEX companies_by_headcount ON companies ((-coalesce(headcount, -1)), key);
CREATE INDEX companies_by_words ON companies USING gin (words);
CREATE INDEX companies_facts ON companies (key)
  INCLUDE (size, industry, industry_name, country, company_type, headcount);
CREATE INDEX people_by_slug ON people USING hash (slug);
CREATE INDEX people_by_email ON people USING hash (email);
CREATE INDEX people_by_personal_email ON people USING hash (personal_email);
CREATE INDEX people_by_company ON people (company);
CREATE INDEX people_by_name ON people USING hash (name);
CREATE INDEX people_by_words ON people USING gin (words);
CREATE INDEX jobs_by_company ON jobs (company, posted_at DESC NULLS LAST, key DESC);
CREATE INDEX jobs_by_date ON jobs (posted_at DESC NULLS LAST, key DESC);
CREATE INDEX jobs_by_words ON jobs USING gin (words);
`

/**
 * Lists in one placeholder, and functions of SQLite that statements use. PostgreSQL refuses NUL and lone surrogates in JSON;
 * `json_extract` replaces them by U+FFFD.
 */
const functions = `
CREATE FUNCTION texts_in(list TEXT) RETURNS TEXT[] LANGUAGE sql IMMUTABLE AS
  'SELECT ARRAY(SELECT jsonb_array_elements_text(CAST(list AS JSONB)))';
CREATE FUNCTION numbers_in(list TEXT) RETURNS BIGINT[] LANGUAGE sql IMMUTABLE AS
  'SELECT ARRAY(SELECT CAST(jsonb_array_elements_text(CAST(list AS JSONB)) AS BIGINT))';
CREATE FUNCTION instr(whole TEXT, part TEXT) RETURNS INTEGER LANGUAGE sql IMMUTABLE AS
  'SELECT strpos(whole, part)';
CREATE FUNCTION json_extract(record TEXT, path TEXT) RETURNS TEXT LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN CAST(record AS JSON) ->> substr(path, 3);
EXCEPTION WHEN data_exception THEN
  RETURN CAST(regexp_replace(record, '\\\\u(0000|[dD][89a-fA-F][0-9a-fA-F]{2})', '\\\\ufffd', 'g') AS JSON) ->> substr(path, 3);
END $$;
`

/** Each transaction that writes takes a number, so that an import notices writes of others. */
const turns = 'CREATE SEQUENCE turns;'

/** The schema of the catalogue. */
export const catalogueSchema: Schema = {
  first: {
    sqlite: tables(sqliteTypes) + sqliteIndexes,
    postgres: tables(postgresTypes) + postgresIndexes + functions + turns,
  },
  steps: [],
  unreleased: 3,
  // Because the engine has a table of that name.
  privateTables: ['jobs'],
}
