/** What each area of the API is about, in the order help shows them. */
export const areas: Readonly<Record<string, string>> = {
  accounts: 'Companies: enrich, search, headcount, jobs, technologies',
  leads: 'People: extract, search, enrich',
  contacts: 'E-mail addresses and phones of people',
  intents: 'Buying signals: hiring, technologies, growth, lookalikes, posts',
  messenger: 'Phone numbers on a messaging app',
  searches: 'Saved searches and their leads',
  lists: 'Lists of companies',
  personas: 'Saved descriptions of the people you look for',
  titles: 'Job title suggestions',
  locations: 'Location ids by name',
  credits: 'Credit balance and quotas; what was consumed',
  account: 'The account behind the key',
}
