-- The indexes `*_facts` contain every column that searches filter by, after the key, so that a search reads only them, in
-- key order. Searches name them, so they must always exist. The column after the key is never compared with a list of
-- values: SQLite would look up each of them.
CREATE UNIQUE INDEX companies_by_domain ON companies (domain);
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

-- Full-text tables, without a second copy of the texts.
CREATE VIRTUAL TABLE companies_text USING fts5 (
  name, about, content = '', contentless_delete = 1, tokenize = 'ascii'
);
CREATE VIRTUAL TABLE people_text USING fts5 (
  name, title, about, past_titles, past_employers, content = '', contentless_delete = 1, tokenize = 'ascii'
);
CREATE VIRTUAL TABLE jobs_text USING fts5 (
  title, description, content = '', contentless_delete = 1, tokenize = 'ascii'
);
-- Segments of an index are merged sixteen at a time, not four: words are rewritten half as often, and found as fast.
INSERT INTO companies_text (companies_text, rank) VALUES ('automerge', 16);
INSERT INTO people_text (people_text, rank) VALUES ('automerge', 16);
INSERT INTO jobs_text (jobs_text, rank) VALUES ('automerge', 16);
