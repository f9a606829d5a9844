import type { Identity } from '../../api/operations/facts.js'

/**
 * Column names for an input field, separated by commas: `sure` ones mean it, `likely` ones are taken when nothing
 * better is there, those of `lastResort` when a row could not be looked up at all without them.
 */
interface Synonyms {
  readonly sure: string
  readonly likely?: string
  readonly lastResort?: string
}

type FieldSynonyms = Readonly<Record<string, Synonyms>>

const companyName: Synonyms = {
  sure: `company, company name, company legal name, legal name, account, account name, organization,
    organization name, organisation, organisation name, employer, business name, firm, societe,
    nom societe, nom de la societe, raison sociale, nom entreprise, nom de l'entreprise, entreprise,
    firma, firmenname, unternehmen, unternehmensname, empresa, nombre de la empresa, razon social,
    azienda, ragione sociale, bedrijf, bedrijfsnaam`,
}

const domain: Synonyms = {
  sure: `domain, domain name, company domain, company domain name, email domain, website, website url,
    company website, company url, web site, web, web address, homepage, home page, homepage url, url,
    site, site web, site internet, url du site, adresse web, webseite, internetseite, sitio web,
    pagina web, sito, sito web, dominio, domaine, nom de domaine, webadresse`,
  lastResort: 'email, email address, work email, business email, contact email, mail, courriel',
}

const companyUrl: Synonyms = {
  sure: `company linkedin, company linkedin url, company linkedin profile, linkedin company url,
    linkedin company page, linkedin company profile, company profile url, company network url,
    linkedin entreprise, linkedin unternehmen, sales navigator company url, account linkedin url`,
}

const ownUrl = `linkedin, linkedin url, linkedin profile, linkedin profile url, linkedin link, profil linkedin,
    network url, network profile, network profile url, profile url, profile link, profile,
    url linkedin, sales navigator url, premium profile url`

const country: Synonyms = {
  sure: `country, country code, country name, country iso, iso country, company country, hq country,
    headquarters country, pays, code pays, land, staat, landercode, pais, codigo de pais, paese,
    nazione`,
  likely: 'billing country, shipping country, location country',
}

const firstName: Synonyms = {
  sure: 'first name, firstname, given name, forename, prenom, vorname, nombre, nome, voornaam',
  likely: 'first',
}

const lastName: Synonyms = {
  sure: `last name, lastname, surname, family name, nom de famille, nachname, familienname, apellido,
    apellidos, cognome, achternaam`,
  likely: 'last, nom',
}

const email: Synonyms = {
  sure: `email, e-mail, email address, e-mail address, mail, work email, business email,
    professional email, contact email, courriel, adresse email, adresse e-mail, adresse mail, correo,
    correo electronico, indirizzo email`,
  likely: 'personal email, private email',
}

const phone: Synonyms = {
  sure: `phone, phone number, telephone, telephone number, tel, mobile, mobile phone, mobile number, cell,
    cell phone, number, numero, numero de telephone, portable, telefon, telefonnummer, handy,
    telefono, movil, cellulare, phones, phone numbers, mobiles`,
  likely: 'direct phone, work phone, company phone',
}

const profileUrl: Synonyms = {
  sure: `person linkedin url, contact linkedin url, lead linkedin url, linkedin profile link, ${ownUrl}`,
}

const people: FieldSynonyms = {
  network_url: profileUrl,
  network_profile_url: profileUrl,
  linkedin_url: profileUrl,
  first_name: firstName,
  firstname: firstName,
  last_name: lastName,
  lastname: lastName,
  company_name: companyName,
  domain: { sure: domain.sure },
  company_domain: { sure: domain.sure },
  email,
  phone_number: phone,
  phone_numbers: phone,
  country,
}

const companies: FieldSynonyms = {
  company_network_url: { ...companyUrl, likely: ownUrl },
  network_url: { ...companyUrl, likely: ownUrl },
  company_network_id: {
    sure: 'company id, company linkedin id, linkedin company id, linkedin id, network id, organization id',
  },
  name: { sure: `name, ${companyName.sure}`, likely: 'nom, nombre, nome' },
  company_name: { sure: `name, ${companyName.sure}`, likely: 'nom, nombre, nome' },
  domain,
  company_domain: domain,
  country,
  country_code: country,
}

/** What columns are commonly called, by what a row is about and by the field they fill. */
export const synonyms: Readonly<Record<Identity, FieldSynonyms>> = {
  company: companies,
  person: people,
  contact: people,
  email: people,
  number: people,
}
