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

-- Lists in one placeholder, and functions of SQLite that statements use. PostgreSQL refuses NUL and lone surrogates in JSON;
-- `json_extract` replaces them by U+FFFD.
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
  RETURN CAST(regexp_replace(record, '\\u(0000|[dD][89a-fA-F][0-9a-fA-F]{2})', '\\ufffd', 'g') AS JSON) ->> substr(path, 3);
END $$;
