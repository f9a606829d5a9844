-- A record is stored as JSON without its absent keys, beside the columns that it is found or filtered by.
CREATE TABLE companies (
  key {int} PRIMARY KEY,
  domain {text}{single},
  network_id {text},
  slug {text},
  name {text},
  country {text},
  industry {text},
  size {int},
  headcount {int},{record}
  id {text},
  city {text},
  region {text},
  industry_name {text},
  company_type {text},
  revenue {real},
  revenue_currency {text},
  source {int}{lastColumns}
){strict};
CREATE TABLE technologies (
  key {identity},
  slug {text} NOT NULL{sole},
  name {text} NOT NULL,
  category {text}
){strict};
CREATE TABLE company_technologies (
  technology {int} NOT NULL REFERENCES technologies (key),
  company {int} NOT NULL REFERENCES companies (key),
  confidence {real} NOT NULL,
  mentions {int} NOT NULL,
  PRIMARY KEY (technology, company)
){clustered};
CREATE INDEX company_technologies_by_company ON company_technologies (company);
CREATE TABLE headcount_history (
  company {int} NOT NULL REFERENCES companies (key),
  department {text} NOT NULL,
  date {text} NOT NULL,
  headcount {int} NOT NULL,
  PRIMARY KEY (company, department, date)
){clustered};
CREATE TABLE headcount_growth (
  company {int} NOT NULL REFERENCES companies (key),
  department {text} NOT NULL,
  headcount {int} NOT NULL,
  growth {percent},
  PRIMARY KEY (company, department)
){clustered};
CREATE INDEX headcount_growth_by_growth ON headcount_growth (department, growth DESC, company);
CREATE INDEX headcount_growth_by_headcount ON headcount_growth (department, headcount DESC, company);
CREATE TABLE people (
  key {int} PRIMARY KEY,
  company {int} REFERENCES companies (key),
  network_id {text} NOT NULL{sole},
  slug {text},
  email {text},
  personal_email {text},
  name {text} NOT NULL,
  country {text},
  seniority {int},
  function {int},{record}
  city {text},
  region {text},
  employer {text},
  first_name {text},
  last_name {text},
  years_of_experience {int},
  position_since {int},
  months_in_position {int},
  months_in_company {int}{lastColumns}
){strict};
CREATE TABLE phones (
  number {text} NOT NULL,
  person {int} NOT NULL REFERENCES people (key),
  messenger {int},
  PRIMARY KEY (number, person)
){clustered};
CREATE TABLE jobs (
  key {int} PRIMARY KEY,
  company {int} NOT NULL REFERENCES companies (key),
  identity {text} NOT NULL{sole},
  posted_at {int},
  country {text},{record}
  region {text},
  city {text},
  statuses {text}{lastColumns}
){strict};
CREATE TABLE posts (
  key {int} PRIMARY KEY,
  identity {text} NOT NULL{sole},
  author {text},
  published_at {int},
  record TEXT NOT NULL
){strict};
CREATE TABLE engagers (
  post {int} NOT NULL REFERENCES posts (key),
  profile {text} NOT NULL,
  engagement {text} NOT NULL,
  url {text} NOT NULL,
  PRIMARY KEY (post, profile, engagement)
){clustered};

-- Where the companies and people of the catalogue came from: `sample` data, or the user's `own`.
CREATE TABLE origins (
  origin {text} PRIMARY KEY,
  companies {int} NOT NULL,
  has_people {int} NOT NULL,
  imported_at {int}
){clustered};
-- Open data that companies were imported from: their `source` is the first that they were in. `companies` counts those that
-- it says something about.
CREATE TABLE sources (
  key {identity},
  name {text} NOT NULL,
  snapshot {text} NOT NULL,
  title {text} NOT NULL,
  licence {text} NOT NULL,
  companies {int} NOT NULL,
  imported_at {int} NOT NULL,
  UNIQUE (name, snapshot)
){strict};
-- What several say of one company, in the order in which they said it: pairs of a source, or null for own data, and what it
-- says in the format of an import.
CREATE TABLE company_statements (
  company {int} PRIMARY KEY REFERENCES companies (key),
  said {text} NOT NULL
){strict};
-- Which records the sample wrote. `own` is what own data says of one, in the format of an import; null where it says nothing.
CREATE TABLE sample_records (
  kind {text} NOT NULL,
  key {int} NOT NULL,
  own {text},
  PRIMARY KEY (kind, key)
){clustered};
-- Whom an erasure is about, until it is done: one that was killed goes on with all that was known of them.
CREATE TABLE erasures (
  key {identity},
  person {text} NOT NULL
){strict};
