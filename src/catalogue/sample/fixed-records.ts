import type { RawRecord } from '../kinds/kind.js'
import { getCountry } from './countries.js'

type FixedCompany = readonly [
  name: string,
  domain: string,
  country: string,
  city: string,
  industry: readonly [id: string, name: string],
  headcount: number,
  founded: number,
  technologies: readonly string[],
  description: string,
]

const software = ['96', 'Software Development'] as const
const finance = ['43', 'Financial Services'] as const
const machines = ['135', 'Industrial Machinery Manufacturing'] as const
const consulting = ['11', 'Business Consulting and Services'] as const
const food = ['23', 'Food and Beverage Manufacturing'] as const
const transport = ['116', 'Transportation, Logistics, Supply Chain and Storage'] as const
const cars = ['4', 'Automotive'] as const
const education = ['12', 'Education'] as const
const health = ['14', 'Hospitals and Health Care'] as const

// Written by hand, so that examples can rely on it.
// biome-ignore format: a table
const companies: readonly FixedCompany[] = [
  ['Acme Robotics GmbH', 'acme-robotics.example', 'DE', 'München', machines, 420, 1998, ['c++', 'kubernetes', 'sap'], 'Robot arms for small factories.'],
  ['Atelier Lumière SARL', 'atelier-lumiere.example', 'FR', 'Lyon', ['80', 'Advertising Services'], 38, 2009, ['figma', 'wordpress'], 'Light and stage design for brands.'],
  ['Birchwood & Sons Ltd', 'birchwood.example', 'GB', 'Manchester', ['27', 'Retail'], 1250, 1921, ['shopify', 'salesforce'], 'Furniture for homes and offices.'],
  ['Blåhav AB', 'blahav.example', 'SE', 'Göteborg', transport, 610, 1987, ['azure', 'power-bi'], 'Short-sea shipping around the Baltic.'],
  ['Brightwater Analytics, Inc.', 'brightwater.example', 'US', 'Boston', software, 185, 2014, ['python', 'snowflake', 'aws', 'react'], 'Demand forecasts for retailers.'],
  ['Café Méridien S.A.', 'cafe-meridien.example', 'FR', 'Paris', food, 2300, 1976, ['sap', 'google-analytics'], 'Coffee roaster with shops in nine countries.'],
  ['Cedar Point Health', 'cedarpoint.example', 'US', 'Denver', health, 5400, 1969, ['workday', 'tableau'], 'Regional hospital group.'],
  ['Delta Vega S.L.', 'deltavega.example', 'ES', 'Madrid', software, 72, 2016, ['go', 'postgresql', 'aws'], 'Payroll for shift work.'],
  ['Fjordkraft Systems AS', 'fjordkraft-systems.example', 'NO', 'Bergen', ['59', 'Utilities'], 240, 2003, ['java', 'kafka'], 'Control rooms for hydro power.'],
  ['Grünwald Logistik GmbH & Co. KG', 'gruenwald-logistik.example', 'DE', 'Hamburg', transport, 980, 1954, ['sap', 'azure'], 'Contract logistics for food and pharma.'],
  ['Harbour Lane Partners LLP', 'harbourlane.example', 'GB', 'London', finance, 96, 2007, ['salesforce', 'power-bi'], 'Growth funding for family firms.'],
  ['Kastanje B.V.', 'kastanje.example', 'NL', 'Utrecht', software, 54, 2018, ['typescript', 'vue', 'google-cloud'], 'Planning software for foresters.'],
  ['Kinoshita Motors 株式会社', 'kinoshita.example', 'JP', 'Nagoya', cars, 12800, 1948, ['c++', 'sap', 'aws'], 'Drive trains for light trucks.'],
  ['Lumen Conseil', 'lumen-conseil.example', 'FR', 'Nantes', consulting, 64, 2011, ['hubspot'], 'Energy audits for public buildings.'],
  ['Lumen Conseil SRL', 'lumenconseil.example', 'BE', 'Bruxelles', consulting, 19, 2015, ['odoo'], 'Tax advice for self-employed people.'],
  ['Mapleton Foods Ltée', 'mapleton.example', 'CA', 'Montréal', food, 730, 1983, ['dotnet', 'sap'], 'Maple syrup and breakfast cereals.'],
  ['Münchner Kaffeewerk', 'bücher-kaffee.example', 'DE', 'München', food, 27, 2013, ['shopify'], 'Coffee and second-hand books.'],
  ['Northgate Learning', 'northgate.example', 'GB', 'Edinburgh', education, 310, 2001, ['ruby-on-rails', 'react', 'intercom'], 'Evening courses for trades.'],
  ['Océane Biotech SAS', 'oceane-biotech.example', 'FR', 'Saint-Étienne', health, 145, 2012, ['python', 'databricks'], 'Enzymes from seaweed.'],
  ['Paloma Pagos S.A. de C.V.', 'palomapagos.example', 'MX', 'Monterrey', finance, 205, 2017, ['node-js', 'kafka', 'aws'], 'Card payments for market traders.'],
  ['Quartz & Pine Oy', 'quartzpine.example', 'FI', 'Tampere', machines, 88, 1995, ['c#', 'azure'], 'Saws and sensors for timber mills.'],
  ['Société Horizon', 'horizon.example', 'FR', 'Toulouse', ['53', 'Aviation and Aerospace'], 3900, 1962, ['java', 'python', 'docker'], 'Cabin parts for regional aircraft.'],
  ['Silverline Motors Corp.', 'silverline.example', 'US', 'Austin', cars, 16400, 1938, ['sap', 'tableau', 'aws'], 'Buses and delivery vans.'],
  ['Tidewater Pty Ltd', 'tidewater.example', 'AU', 'Perth', ['48', 'Construction'], 460, 1990, ['odoo', 'power-bi'], 'Harbour walls and jetties.'],
  ['Zephyr Cloud', 'zephyr.example', 'US', 'New York', software, 640, 2012, ['go', 'kubernetes', 'react', 'postgresql', 'terraform'], 'Backups that restore themselves.'],
]

/** Returns the companies that every sample begins with, regardless of its size and seed. */
export function fixedCompanies(): RawRecord[] {
  return companies.map(
    (
      [name, domain, country, city, [industryId, industry], headcount, founded, technologies, description],
      at,
    ) => ({
      id: `00000000-0000-4000-8000-${String(at + 1).padStart(12, '0')}`,
      name,
      domain,
      website: `https://www.${domain}/`,
      description,
      industry,
      industry_id: industryId,
      company_type: headcount > 3_000 ? 'Public' : 'Private',
      headcount,
      headquarters: `${city}, ${getCountry(country).name}`,
      location: `${city}, ${getCountry(country).name}`,
      city,
      country,
      founded_year: founded,
      revenue: headcount * 150_000,
      revenue_currency: getCountry(country).currency,
      network_id: String(900_001 + at),
      network_url: `https://www.network.example/company/${domain.replace('.example', '')}`,
      technologies,
    }),
  )
}
