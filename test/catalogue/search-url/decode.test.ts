import { describe, expect, it } from 'vitest'
import { decodeSearchUrl } from '../../../src/catalogue/search-url/decode.js'
import { companies, filter, host, people, plainCompanies, plainPeople } from '../search-urls.js'

type Case = readonly [what: string, url: string, filters: Readonly<Record<string, unknown>>]

const france = { included_locations: ['105015875'] }

const peopleCases: Case[] = [
  [
    'a search as the address bar shows it',
    `${host}/sales/search/people?query=(recentSearchParam%3A(id%3A3977226225%2CdoLogHistory%3Atrue)%2Cfilters%3AList((type%3AREGION%2Cvalues%3AList((id%3A105015875%2Ctext%3AFrance%2CselectionType%3AINCLUDED)))%2C(type%3ACURRENT_TITLE%2Cvalues%3AList((id%3A8%2Ctext%3AChief%2520Executive%2520Officer%2CselectionType%3AINCLUDED)%2C(text%3ACEO%2CselectionType%3AINCLUDED)))%2C(type%3AFUNCTION%2Cvalues%3AList((id%3A25%2Ctext%3ASales%2CselectionType%3AINCLUDED)))%2C(type%3ASENIORITY_LEVEL%2Cvalues%3AList((id%3A310%2Ctext%3ACXO%2CselectionType%3AINCLUDED))))%2Ckeywords%3A%2522digital%2520marketing%2522%2520OR%2520branding)&sessionId=49xjygLERW%2B8gwX92thMFQ%3D%3D&viewAllFilters=true`,
    {
      keyword: '"digital marketing" OR branding',
      included_locations: ['105015875'],
      job_titles: ['Chief Executive Officer', 'CEO'],
      functions: ['25'],
      seniority_levels: ['310'],
    },
  ],
  [
    'the same host without www, over http and with a page',
    'http://linkedin.com/sales/search/people?page=2&query=(keywords%3Arobots)&sessionId=x%3D%3D',
    { keyword: 'robots' },
  ],
  [
    'another host of the network',
    'https://fr.network.example/sales/search/people/?query=(keywords:ada)',
    { keyword: 'ada' },
  ],
  [
    'a query behind the hash',
    `${host}/sales/search/people#query=(keywords%3Arobots)&sessionId=x`,
    { keyword: 'robots' },
  ],
  [
    'capitals in the host and the path',
    'HTTPS://WWW.LINKEDIN.COM/SALES/Search/People?query=(keywords:ada)',
    { keyword: 'ada' },
  ],
  [
    'a query that is not encoded at all',
    `${host}/sales/search/people?query=(spellCorrectionEnabled:true,recentSearchParam:(id:123,doLogHistory:true),filters:List((type:REGION,values:List((id:105015875,text:France,selectionType:INCLUDED)))),keywords:solar energy)&viewAllFilters=true`,
    { keyword: 'solar energy', ...france },
  ],
  [
    'a query that is encoded whole, with its parentheses',
    `${host}/sales/search/people?query=%28filters%3AList%28%28type%3AREGION%2Cvalues%3AList%28%28id%3A105015875%2Ctext%3AFrance%2CselectionType%3AINCLUDED%29%29%29%29%29`,
    france,
  ],
  [
    'a query that a form encoded',
    `${host}/sales/search/people?${new URLSearchParams({ query: '(keywords:c++ developer)' })}`,
    { keyword: 'c++ developer' },
  ],
  [
    'a query encoded twice',
    `${host}/sales/search/people?query=${encodeURIComponent(encodeURIComponent('(filters:List((type:CURRENT_TITLE,values:List((text:Head%20of%20Sales,selectionType:INCLUDED)))))'))}`,
    { job_titles: ['Head of Sales'] },
  ],
  [
    'a query encoded in parts',
    `${host}/sales/search/people?query=(filters:List((type:CURRENT_TITLE,values:List((text%3Aowner%2CselectionType%3AINCLUDED),(text%3Afounder%2CselectionType%3AINCLUDED)))))&viewAllFilters=true`,
    { job_titles: ['owner', 'founder'] },
  ],
  [
    'keywords beside the query',
    `${people('(filters:List())')}&keywords=d%C3%A9veloppeur+web`,
    { keyword: 'développeur web' },
  ],
  ['a premium url with keywords alone', `${host}/sales/search/people?keywords=solar`, { keyword: 'solar' }],
  [
    'an address with the entities of a document',
    `${host}/sales/search/people?page=1&amp;query=(keywords:ada)&amp;viewAllFilters=true`,
    { keyword: 'ada' },
  ],
  [
    'titles to include and to exclude',
    people(
      filter('CURRENT_TITLE', 'text:CTO,selectionType:INCLUDED', 'text:Assistant,selectionType:EXCLUDED'),
    ),
    { job_titles: ['CTO'], excluded_job_titles: ['Assistant'] },
  ],
  [
    'titles joined by OR',
    people(filter('CURRENT_TITLE', 'text:VP%20OR%20%22Head%20of%20Sales%22%20OR%20CRO')),
    { job_titles: ['VP', 'Head of Sales', 'CRO'] },
  ],
  [
    'a quoted title',
    people(filter('CURRENT_TITLE', 'text:%22Search%20AND%20Rescue%22')),
    { job_titles: ['"Search AND Rescue"'] },
  ],
  [
    'older titles with a sub-filter',
    people(
      '(filters:List((type:TITLE,values:List((text:owner,selectionType:INCLUDED)),selectedSubFilter:CURRENT),(type:TITLE,values:List((id:5,text:Director)),selectedSubFilter:PAST)))',
    ),
    { job_titles: ['owner'], past_titles: ['Director'] },
  ],
  [
    'one filter under two names',
    people(
      '(filters:List((type:TITLE,values:List((text:owner),(text:ceo)),selectedSubFilter:CURRENT),(type:CURRENT_TITLE,values:List((text:ceo),(text:owner)))))',
    ),
    { job_titles: ['owner', 'ceo'] },
  ],
  [
    'past titles',
    people(filter('PAST_TITLE', 'text:CEO,selectionType:INCLUDED', 'text:Intern,selectionType:EXCLUDED')),
    { past_titles: ['CEO'], excluded_past_titles: ['Intern'] },
  ],
  [
    'a title with a comma and parentheses, encoded',
    people(filter('CURRENT_TITLE', 'text:VP%2C%20Sales%20%28EMEA%29,selectionType:INCLUDED')),
    { job_titles: ['VP, Sales (EMEA)'] },
  ],
  [
    'a title with a comma and parentheses, bare',
    people(filter('CURRENT_TITLE', 'text:VP, Sales (EMEA),selectionType:INCLUDED')),
    { job_titles: ['VP, Sales (EMEA)'] },
  ],
  [
    'a title with a colon and per cent, bare',
    people(filter('CURRENT_TITLE', 'text:Lead: growth 100%,selectionType:INCLUDED')),
    { job_titles: ['Lead: growth 100%'] },
  ],
  [
    'a title with per cent, encoded',
    people(filter('CURRENT_TITLE', 'text:50%25%20partner')),
    { job_titles: ['50% partner'] },
  ],
  [
    'a title with accents',
    people(filter('CURRENT_TITLE', `text:${encodeURIComponent('Directeur général')}`)),
    { job_titles: ['Directeur général'] },
  ],
  [
    'a title in another script',
    people(filter('CURRENT_TITLE', `text:${encodeURIComponent('مدير التجارة')}`)),
    { job_titles: ['مدير التجارة'] },
  ],
  [
    'functions by text',
    people(filter('FUNCTION', 'text:Human%20Resources', 'id:18')),
    { functions: ['12', '18'] },
  ],
  [
    'seniorities by text',
    people(filter('SENIORITY_LEVEL', 'text:Owner%20%2F%20Partner', 'id:220,text:Director')),
    { seniority_levels: ['320', '220'] },
  ],
  [
    'places by id without a text, by text, and excluded',
    people(filter('REGION', 'id:104305776', 'id:1,text:Germany', 'text:Belgium,selectionType:EXCLUDED')),
    { included_locations: ['104305776', 'Germany'], excluded_locations: ['Belgium'] },
  ],
  [
    'places under their other name',
    people(filter('GEOGRAPHY', 'id:105015875,selectionType:INCLUDED')),
    france,
  ],
  [
    'headquarters',
    people(filter('COMPANY_HEADQUARTERS', 'id:103644278,text:United%20States')),
    { company_headquarters: ['103644278'] },
  ],
  [
    'industries by an id known here, by one that is not, and by text',
    people(
      filter(
        'INDUSTRY',
        'id:43,text:Financial%20Services',
        'id:3132',
        'id:2934,text:Landscaping%20Services',
        'text:Banking,selectionType:EXCLUDED',
      ),
    ),
    { included_industries: ['43', '3132', 'Landscaping Services'], excluded_industries: ['Banking'] },
  ],
  [
    'an industry whose id is called otherwise here',
    people(filter('INDUSTRY', 'id:4,text:Software%20Development')),
    { included_industries: ['Software Development'] },
  ],
  [
    'companies by their number, in a urn or bare, and by name',
    people(
      filter(
        'CURRENT_COMPANY',
        'id:urn%3Ali%3Aorganization%3A14383281,text:Acme%20%C2%AE,selectionType:EXCLUDED,parent:(id:0)',
        'id:1035,text:Other',
        'text:Procter%20%26%20Gamble',
      ),
    ),
    { excluded_companies: ['14383281'], included_companies: ['1035', 'Procter & Gamble'] },
  ],
  [
    'past companies',
    people(
      filter(
        'PAST_COMPANY',
        'id:urn%3Ali%3Aorganization%3A828370,text:Graphs,selectionType:INCLUDED,parent:(id:0)',
      ),
    ),
    { past_companies: ['828370'] },
  ],
  [
    'company sizes by letter, whatever stands beside it, and by text',
    people(
      filter('COMPANY_HEADCOUNT', 'id:A,text:Self-employed', 'id:I,text:10%2C000%2B', 'text:1%2C001-5%2C000'),
    ),
    { company_size: ['Self-employed', '10001+', '1001-5000'] },
  ],
  [
    'company types by letter and by text',
    people(
      filter('COMPANY_TYPE', 'id:P,text:Privately%20Held', 'text:Public%20Company', 'text:Non%20Profit'),
    ),
    { company_type: ['P', 'C', 'N'] },
  ],
  [
    'years',
    people(
      '(filters:List((type:YEARS_OF_EXPERIENCE,values:List((id:4,text:6%20to%2010%20years))),(type:YEARS_AT_CURRENT_COMPANY,values:List((text:Less%20than%201%20year))),(type:YEARS_IN_CURRENT_POSITION,values:List((text:More%20than%2010%20years),(text:3%20to%205%20years)))))',
    ),
    { years_of_experience: ['4'], years_at_current_company: ['1'], years_in_current_position: ['5', '3'] },
  ],
  [
    'a first and a last name',
    people(
      '(filters:List((type:FIRST_NAME,values:List((text:Ada,selectionType:INCLUDED))),(type:LAST_NAME,values:List((text:O%27Hara)))))',
    ),
    { first_name: 'Ada', last_name: "O'Hara" },
  ],
  [
    'lists of accounts',
    people(
      filter(
        'ACCOUNT_LIST',
        'id:7429960948314021890,text:Wave%201,selectionType:INCLUDED,icon:list',
        'id:12,selectionType:EXCLUDED',
      ),
    ),
    { included_account_lists: ['7429960948314021890'], excluded_account_lists: ['12'] },
  ],
  [
    'one type twice',
    people(
      '(filters:List((type:FUNCTION,values:List((id:25))),(type:FUNCTION,values:List((id:15),(id:25)))))',
    ),
    { functions: ['25', '15'] },
  ],
  [
    'keywords with groups, bare',
    people('(keywords:(CEO OR CFO) AND "seed, early" NOT intern,filters:List())'),
    { keyword: '(CEO OR CFO) AND "seed, early" NOT intern' },
  ],
  ['a plain search', plainPeople('keywords=cto&origin=GLOBAL_SEARCH_HEADER'), { keyword: 'cto' }],
  [
    'a plain search with filters',
    plainPeople(
      'geoUrn=%5B%22105015875%22%2C%22103644278%22%5D&industry=%5B%2243%22%2C%221594%22%5D&keywords=%22lead%20generation%22&origin=FACETED_SEARCH&page=50&sid=h.n&titleFreeText=Founder',
    ),
    {
      keyword: '"lead generation"',
      included_locations: ['105015875', '103644278'],
      included_industries: ['43', '1594'],
      job_titles: ['Founder'],
    },
  ],
  [
    'a plain search for somebody',
    plainPeople(
      'company=Acme&firstName=Alex&keywords=hello+my+name&lastName=de%20la%20Cruz&origin=GLOBAL_SEARCH_HEADER&sid=o%2Cj&title=CEO%20OR%20CFO',
    ),
    {
      keyword: 'hello my name',
      included_companies: ['Acme'],
      first_name: 'Alex',
      last_name: 'de la Cruz',
      job_titles: ['CEO', 'CFO'],
    },
  ],
  [
    'a plain search for colleagues, with bare numbers and quotes',
    plainPeople(
      'currentCompany=["1035","1441"]&pastCompany=%5B1586%5D&network=%5B%5D&utm_source=mail&_trk=x&spellCorrectionEnabled=true',
    ),
    { included_companies: ['1035', '1441'], past_companies: ['1586'] },
  ],
  [
    'a plain search encoded twice',
    plainPeople('keywords=software%2520engineer&geoUrn=%255B%2522105015875%2522%255D'),
    { keyword: 'software engineer', ...france },
  ],
  ['a bare ampersand in plain keywords', plainPeople('keywords=R&D&origin=X'), { keyword: 'R&D' }],
]

const companyCases: Case[] = [
  [
    'a search as the address bar shows it',
    `${host}/sales/search/company?query=(filters%3AList((type%3AANNUAL_REVENUE%2CrangeValue%3A(min%3A1%2Cmax%3A5)%2CselectedSubFilter%3AUSD)%2C(type%3ACOMPANY_HEADCOUNT%2Cvalues%3AList((id%3AC%2Ctext%3A11-50%2CselectionType%3AINCLUDED)%2C(id%3AF%2Ctext%3A501-1%252C000%2CselectionType%3AINCLUDED)))%2C(type%3AREGION%2Cvalues%3AList((id%3A103644278%2Ctext%3AUnited%2520States%2CselectionType%3AINCLUDED)))%2C(type%3AINDUSTRY%2Cvalues%3AList((id%3A43%2Ctext%3AFinancial%2520Services%2CselectionType%3AEXCLUDED)))))&sessionId=LFGMh86aSfic4RnHsrulRQ%3D%3D&viewAllFilters=true`,
    {
      min_revenue: 1,
      max_revenue: 5,
      revenue_currency: 'USD',
      company_size: ['11-50', '501-1000'],
      included_locations: ['103644278'],
      excluded_industries: ['43'],
    },
  ],
  [
    'a revenue without an upper end',
    companies('(filters:List((type:ANNUAL_REVENUE,rangeValue:(min:1000,max:1001),selectedSubFilter:EUR)))'),
    { min_revenue: 1000, revenue_currency: 'EUR' },
  ],
  [
    'a revenue without a lower end',
    companies('(filters:List((type:ANNUAL_REVENUE,rangeValue:(max:2.5))))'),
    { max_revenue: 2.5 },
  ],
  [
    'headquarters to include and to exclude',
    companies(
      filter('COMPANY_HEADQUARTERS', 'id:105015875,text:France', 'text:Germany,selectionType:EXCLUDED'),
    ),
    { included_locations: ['105015875'], excluded_locations: ['Germany'] },
  ],
  [
    'keywords',
    companies('(spellCorrectionEnabled:true,keywords:fintech%20companies)'),
    { keyword: 'fintech companies' },
  ],
  [
    'a plain search',
    plainCompanies(
      'companyHqGeo=%5B%22105015875%22%2C%22101165590%22%5D&companySize=%5B%22B%22%2C%22I%22%5D&industryCompanyVertical=%5B%2296%22%5D&keywords=cloud+native&origin=FACETED_SEARCH&sid=-f-',
    ),
    {
      keyword: 'cloud native',
      included_locations: ['105015875', '101165590'],
      company_size: ['1-10', '10001+'],
      included_industries: ['96'],
    },
  ],
  [
    'a plain search in bare JSON',
    'https://network.example/search/results/companies?companySize=["D"]',
    { company_size: ['51-200'] },
  ],
]

describe('a people search at a url', () => {
  it.each(peopleCases)('is decoded: %s', (_, url, filters) => {
    expect(decodeSearchUrl(url, 'people')).toEqual({ kind: 'people', filters })
  })
})

describe('a company search at a url', () => {
  it.each(companyCases)('is decoded: %s', (_, url, filters) => {
    expect(decodeSearchUrl(url, 'companies')).toEqual({ kind: 'companies', filters })
  })
})
