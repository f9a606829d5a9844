import { describe, expect, it } from 'vitest'
import { answering, ends, machine } from '../support/command.js'
import { perFile } from '../support/each.js'
import { workbookOf } from '../support/workbooks.js'

const here = perFile(machine)

/** Returns what is sent for each cell of a column: the value of a field, or nothing where no lookup is made. */
async function sent(line: string, header: string, field: string, cells: readonly string[]) {
  const file = `${field}.csv`
  here.write(file, [header, ...cells.map((cell) => `"${cell.replaceAll('"', '""')}"`)].join('\n'))
  const target = answering({ status: 404, body: { error: 'not_found', message: 'Nothing' } })
  await here.run(`${line} --csv ${file} -o ${field}-out.csv --fail-on none`, { caller: target })
  return target.asked.map(({ input }) => input[field])
}

const first = '+33612345678'

describe('cells of phone numbers', () => {
  const numbers = (...cells: string[]) => sent('messenger validate', 'Phone', 'phone_numbers', cells)

  it.each(['tel:+33-6-12-34-56-78;ext=5', 'p:+33612345678', 'whatsapp:+33 6 12 34 56 78', '+33/612345678'])(
    'that are written as %j are that number',
    async (cell) => expect(await numbers(cell)).toEqual([[first]]),
  )

  it('that list several as Google does are all of them', async () =>
    expect(await numbers('+33612345678 ::: +33612345677')).toEqual([[first, '+33612345677']]))

  it('that may be two numbers are not joined to one', async () =>
    expect(await numbers('+33612345678 / 79', '+33 6 12 34 56 78-79', '+33612345678/79')).toEqual([]))

  it('with an extension of the length that its country has are sent', async () =>
    expect(await numbers('+49 511 1000-0')).toEqual([['+4951110000']]))
})

describe('cells of email addresses', () => {
  const addresses = (...cells: string[]) => sent('contacts reverse-lookup', 'Email', 'email', cells)

  it.each(['SMTP:jo@acme.example', 'jo@acme.example ::: bo@acme.example', '"Do, Jo" <jo@acme.example>'])(
    'that are written as %j are that address',
    async (cell) => expect(await addresses(cell)).toEqual(['jo@acme.example']),
  )

  it('that only stand for an address, or name two people, are not looked up', async () =>
    expect(
      await addresses(
        'email_not_unlocked@domain.com',
        'xxxx@acme.example',
        'j***@acme.example',
        'noemail@acme.example',
        'test@test.com',
        'example@example.com',
        'Jo <jo@acme.example>; Bo <bo@acme.example>',
        '(No value)',
      ),
    ).toEqual([]))
})

describe('cells of websites', () => {
  const sites = (...cells: string[]) => sent('accounts enrich', 'Website', 'domain', cells)

  it('that are pages about a company at a directory, a shop or a library of programs name none', async () =>
    expect(
      await sites(
        'https://www.yelp.com/biz/acme',
        'https://en.wikipedia.org/wiki/Acme',
        'https://www.crunchbase.com/organization/acme',
        'https://www.gelbeseiten.de/gsbiz/1',
        'https://www.pagesjaunes.fr/pros/1',
        'https://apps.apple.com/app/acme/id1',
        'https://www.amazon.de/stores/acme',
        'https://github.com/acme',
        'https://acme.notion.so/Home',
        'email_not_unlocked@domain.com',
      ),
    ).toEqual([]))

  it('of the companies that own such hosts are theirs', async () =>
    expect(await sites('https://www.yelp.com/', 'github.com', 'https://www.apple.com/mac/')).toHaveLength(3))

  it.each([
    ['a mailbox provider', ['gmail.com', 'https://www.gmx.de/', 'WEB.DE', 'protonmail.com', 'jo@gmail.com']],
    [
      'a machine or a network of one’s own',
      [
        '192.168.1.10',
        'http://8.8.8.8/index.html',
        '10.0.0.1:8080/x',
        'http://[2001:db8::1]/',
        '[::1]',
        '::1',
        'fe80::1%eth0',
        '2001:db8::1',
        '::ffff:10.0.0.1',
        'localhost',
        'http://localhost:3000',
        'http://intranet/',
        'fileserver.local',
        'crm.corp',
        'srv01.internal',
        'printer.lan',
        'nas.home.arpa',
        'jo@mail.local',
      ],
    ],
    [
      'a file share, a meeting or a form',
      [
        'https://acme.sharepoint.com/sites/x',
        'https://wetransfer.com/downloads/x',
        'https://we.tl/t-abc',
        'https://1drv.ms/u/s!x',
        'https://mega.nz/file/x',
        'https://acme.app.box.com/s/x',
        'https://us02web.zoom.us/j/1',
        'https://forms.gle/x',
      ],
    ],
    [
      'a shop, a profile or a page that is rented',
      [
        'https://acme.en.alibaba.com',
        'https://www.amazon.com/shops/x',
        'https://shop.app/m/acme',
        'https://www.booking.com/hotel/de/acme.html',
        'https://open.spotify.com/artist/x',
        'https://www.malt.de/profile/jo',
        'https://acme.zendesk.com',
        'https://acme.atlassian.net/wiki',
        'https://acme.my.salesforce.com',
      ],
    ],
    [
      'a link that is shortened',
      ['https://amzn.to/x', 'https://aka.ms/x', 'https://adf.ly/x', 'https://j.mp/x'],
    ],
  ])('that are those of %s name no company', async (_, cells) => expect(await sites(...cells)).toEqual([]))

  it('are left out where the row has a name, unless it is that of the owner, and counted', async () => {
    const rows = [
      'Acme,gmail.com',
      'Yahoo,yahoo.com',
      'Birch,10.0.0.1',
      'Cedar,cedar.example',
      'Slack,www.slack.com',
    ]
    here.write('named.csv', ['Company,Website', ...rows].join('\n'))
    const target = answering({ status: 404, body: { error: 'not_found', message: 'Nothing' } })
    const { stderr } = await here.run('accounts enrich --csv named.csv -o named-out.csv --fail-on none', {
      caller: target,
    })
    expect(target.asked.map(({ input }) => input)).toEqual([
      { name: 'Acme' },
      { name: 'Yahoo', domain: 'yahoo.com' },
      { name: 'Birch' },
      { name: 'Cedar', domain: 'cedar.example' },
      { name: 'Slack', domain: 'www.slack.com' },
    ])
    expect(stderr).toContain('Not understood: domain: 2 values, such as "gmail.com"')
  })

  it('that lead to what search engines, maps, translators and web archives show name none', async () =>
    expect(
      await sites(
        'https://www.ecosia.org/search?q=acme',
        'startpage.com/do/search?q=acme',
        'https://www.qwant.com/?q=acme',
        'search.brave.com/search?q=acme',
        'https://www.openstreetmap.org/node/1',
        'waze.com/live-map',
        'https://wego.here.com/acme',
        'share.google/abc',
        'https://www.deepl.com/translator#de/en/acme',
        'www.microsofttranslator.com/bv.aspx?a=acme.example',
        'translated.turbopages.org/proxy/acme.example',
        'timetravel.mementoweb.org/list/2020/acme.example',
        'cachedview.nl',
        'cc.bingj.com/cache.aspx?q=acme',
        'acme-example.webpkgcache.com/doc',
      ),
    ).toEqual([]))

  it('that lead to pages of search engines, maps, dictionaries and archives, known ones and others, name none', async () =>
    expect(
      await sites(
        'https://www.ask.com/web?q=acme',
        'https://yep.com/web?q=acme',
        'https://www.dogpile.com/serp?q=acme',
        'https://www.sogou.com/web?query=acme',
        'https://www.so.com/s?q=acme',
        'https://search.lycos.com/web/?q=acme',
        'https://search.lilo.org/?q=acme',
        'https://www.gigablast.com/search?q=acme',
        'https://map.baidu.com/poi/acme',
        'https://www.viamichelin.de/karten-stadtplan/acme',
        'https://www.openstreetmap.de/karte.html?q=acme',
        'https://osm.org/node/1',
        'https://www.reverso.net/translation/acme',
        'https://papago.naver.net/website?url=acme.com',
        'https://archive.org/details/acme',
        'https://perma.cc/AB12-CD34',
        'https://ghostarchive.org/archive/abc',
        'https://www.webarchive.org.uk/wayback/archive/2019/http://acme.com',
        'https://arquivo.pt/wayback/2019/http://acme.com',
        'https://www.webcitation.org/query?url=acme.com',
        'https://megalodon.jp/2019-0101/acme.com/',
        'https://cn.bing.com/search?q=acme',
        'https://coccoc.com/search?query=acme',
        'https://fireball.de/search?q=acme',
        'https://searx.be/search?q=acme',
        'https://searx.me/?q=acme',
        'https://www.exalead.com/search/web/results/?q=acme',
        'https://petalsearch.com/search?query=acme',
        'https://fanyi.baidu.com/translate?query=acme',
        'https://www.systran.net/translate/?q=acme',
        'https://www.translate.ru/site/acme.com',
        'https://www.bing.com/translator?to=de&text=acme',
        'https://www.linguee.com/english-german/search?query=acme',
        'https://map.kakao.com/?q=acme',
        'https://www.falk.de/karte/acme',
        'https://www.map24.com/?q=acme',
        'https://www.komoot.com/tour/123',
        'https://www.freezepage.com/123',
        'https://wayback.webarchiv.cz/wayback/2019/http://acme.cz',
        'https://index.commoncrawl.org/CC-MAIN-2019-01-index?url=acme.com',
        'https://www.webcrawler.com/serp?q=acme',
        'https://results.excite.com/serp?q=acme',
        'https://www.info.com/serp?q=acme',
        'https://www.hotbot.com/search?q=acme',
        'https://www.wolframalpha.com/input?i=acme',
        'https://www.alltheinternet.com/?q=acme',
        'https://www.entireweb.com/search?q=acme',
        'https://search.carrot2.org/#/search/web/acme',
        'https://wego.here.com/?map=1,2',
        'https://www.here.com/directions/acme',
        'https://www.dict.cc/?s=acme',
        'https://dict.leo.org/englisch-deutsch/acme',
        'https://archive.fo/abc',
        'https://archive.md/abc',
        'https://wayback.com/2019/acme.com',
        'https://search.unknown-engine.com/?q=acme',
        'https://www.findstuff.io/search?query=acme',
        'https://maps.somewhere.org/maps/place/Acme',
        'https://translate.foo.net/translate?u=https://acme.com',
        'https://old.archive-it.org/123/20190101000000/http://acme.com/',
        'https://www.ask.com/?q=acme',
        'https://anything.example/search?q=acme',
        'https://anything.example/de/suche?suche=acme',
        'https://anything.example/?url=https://www.acme.example',
        'https://anything.example/web/20190101/http://acme.example',
        'https://anything.example/maps/place/Acme',
      ),
    ).toEqual([]))

  it('that lead to shared files, short links, pages of social networks and of markets name none', async () =>
    expect(
      await sites(
        'https://web.archive.bibalex.org/web/2009/http://acme.com',
        'https://docs.google.com/document/d/abc',
        'https://drive.google.com/file/d/abc',
        'https://1drv.ms/x/abc',
        'https://we.tl/t-abc',
        'https://tinyurl.com/abc',
        'https://wa.me/4917',
        'https://t.me/acme',
        'https://www.threads.net/@acme',
        'https://www.mixcloud.com/acme',
        'https://bandcamp.com/acme',
        'https://www.box.com/s/abc',
        'https://app.box.com/s/abc',
        'https://workupload.com/file/abc',
        'https://www.file.io/abc',
        'https://pastebin.com/abc',
        'https://shorturl.at/abc',
        'https://lmy.de/abc',
        'https://qrco.de/abc',
        'https://www.pixiv.net/users/1',
        'https://line.me/ti/p/abc',
        'https://www.yelp.it/biz/acme',
        'https://www.tripadvisor.it/Restaurant',
        'https://www.gumtree.com/p/acme',
        'https://www.olx.pl/oferta/acme',
        'https://panoramafirm.pl/acme',
        'https://www.leboncoin.fr/ad/1',
        'https://www.vinted.de/member/1',
        'https://www.allegro.pl/uzytkownik/acme',
        'https://www.aliexpress.com/store/1',
        'https://www.temu.com/acme',
        'https://www.wish.com/merchant/1',
      ),
    ).toEqual([]))

  it('that lead to the first page of such a company, or to one about itself, name it, and so do any pages of others', async () => {
    const own = [
      'https://www.linguee.com/',
      'ask.com',
      'https://www.komoot.com/de-de',
      'https://www.here.com/about',
      'https://www.wolframalpha.com/?utm_source=x',
      'https://www.acme.example/de/produkte?variant=12&lang=de',
      'https://www.bolt.example/?q=node/12',
      'https://www.ceta.example/en/search-and-rescue',
      'https://maps.delta.example/',
      'https://www.echo.example/?ref=https://news.example/x',
      'https://www.foxtrot.example/contact?subject=hello',
    ]
    expect(await sites(...own)).toEqual(own)
  })

  it('that lead to a search at its own site name the company that the row has', async () => {
    here.write('named.csv', 'Company,Website\nAcme GmbH,https://www.acme.example/search?q=pumps\n')
    const target = answering({ status: 404, body: { error: 'not_found', message: 'Nothing' } })
    await here.run('accounts enrich --csv named.csv -o named-out.csv --fail-on none', { caller: target })
    expect(target.asked.map(({ input }) => input)).toEqual([
      { name: 'Acme GmbH', domain: 'https://www.acme.example/search?q=pumps' },
    ])
  })

  it('that may be its own or those of a search engine say what to give instead', async () => {
    here.write(
      'own.csv',
      'Website\nhttps://www.acme.example/search?q=pumps\nhttps://maps.acme.example/place/1?x=y\n',
    )
    const target = answering({ status: 404, body: { error: 'No company found' } })
    await here.run('accounts enrich --csv own.csv -o own-out.csv --fail-on none', { caller: target })
    expect(target.asked).toEqual([])
    const why = /give the company's first page, or its name in another column/g
    expect(here.read('own-out.csv').match(why)).toHaveLength(2)
  })

  it('that lead to a shop at a market, a tunnel, a site builder, a reserved name or a number in any spelling name none', async () =>
    expect(
      await sites(
        'https://www.alibaba.com/acme',
        'amazon.de/acme',
        'shopee.sg/acme',
        'rakuten.co.jp/acme',
        'acme.ngrok.io',
        'https://acme.loca.lt/x',
        'acme.duckdns.org',
        'info@acme.ngrok.io',
        'acme.wordpress.com',
        'acme.squarespace.com',
        'acme.business.site',
        'test.test',
        'acme.invalid',
        'acme.localhost',
        '0x7f.1',
        'http://0x7f000001/',
        '0177.0.0.1',
      ),
    ).toEqual([]))

  it('of markets, site builders and what has a reserved word in it are sent', async () => {
    const own = [
      'alibaba.com',
      'ngrok.com',
      'qwant.com',
      'deepl.com',
      'wordpress.com',
      'test.example',
      'invalid.de',
      '0x.org',
    ]
    expect(await sites(...own, 'https://www.walmart.com/about-us/', 'jo@squarespace.com')).toEqual([
      ...own,
      'https://www.walmart.com/about-us/',
      'squarespace.com',
    ])
  })

  it('of companies that have such hosts are theirs', async () =>
    expect(
      await sites(
        'https://www.alibaba.com/',
        'https://www.zendesk.com/pricing/',
        'zoom.us',
        'https://www.paypal.com/de/home',
        'acme.myshopify.com',
        'local.example',
        'corp.example',
      ),
    ).toHaveLength(7))

  it('that are text are left out where a name is there, and counted', async () => {
    here.write('text.csv', 'Company,Website\nAcme,see below\nBirch,Loading...\nCedar,cedar.example\n')
    const target = answering({ status: 404, body: { error: 'not_found', message: 'Nothing' } })
    const { stderr } = await here.run('accounts enrich --csv text.csv -o text-out.csv --fail-on none', {
      caller: target,
    })
    expect(target.asked.map(({ input }) => input)).toEqual([
      { name: 'Acme' },
      { name: 'Birch' },
      { name: 'Cedar', domain: 'cedar.example' },
    ])
    expect(stderr).toContain('Not understood: domain: 1 value, such as "see below"')
  })

  it('that nobody completed are blank', async () =>
    expect(await sites('http://', 'https://www.', 'www', 'http://www.')).toEqual([]))
})

it('blank are the errors of spreadsheets in every language, and what exports write in brackets', async () => {
  const cells = [
    ...'#¡REF! #¿NOMBRE? #N/D #N/B #NV #I/T #Name? #Error ######## Err:502 nan NAN <NA> (none) [null] ? . k.A.'.split(
      ' ',
    ),
    '[no value]',
    '(No value)',
    '(leer)',
    '(non renseigné)',
  ]
  expect(await sent('accounts enrich', 'Company', 'name', cells)).toEqual([])
  expect(await sent('accounts enrich', 'Company', 'name', ['Nan', 'Null', '# Sharp'])).toHaveLength(3)
})

it('countries have the names of official lists, in any order of words, and may have their code beside them', async () => {
  const names: readonly (readonly [name: string, code: string])[] = [
    ['Netherlands (Kingdom of the)', 'NL'],
    ['Tanzania, the United Republic of', 'TZ'],
    ['Moldova (the Republic of)', 'MD'],
    ['Congo (the Democratic Republic of the)', 'CD'],
    ['Congo (the)', 'CG'],
    ["Korea (the Democratic People's Republic of)", 'KP'],
    ['Falkland Islands (the) [Malvinas]', 'FK'],
    ['Taiwan (Province of China)', 'TW'],
    ['United Kingdom of Great Britain and Northern Ireland (the)', 'GB'],
    ['Germany, Federal Republic of', 'DE'],
    ['DE - Deutschland', 'DE'],
    ['Germany (DE)', 'DE'],
    ['FRA/France', 'FR'],
    ['Germany, DE', 'DE'],
    ['D-Germany', 'DE'],
    ['Deutschland / Germany', 'DE'],
    ['🇩🇪', 'DE'],
    ['Viet Nam', 'VN'],
    ['Korea, Republic of', 'KR'],
    ['VR China', 'CN'],
    ['Rép. tchèque', 'CZ'],
    ['Demokratische Republik Kongo', 'CD'],
    ['Weißrussland', 'BY'],
    ['Países Bajos', 'NL'],
    ['Stati Uniti', 'US'],
    ['GER', 'DE'],
    ['EL', 'GR'],
    ['D', 'DE'],
    ['A', 'AT'],
    ['F', 'FR'],
    ['I', 'IT'],
    ['E', 'ES'],
    ['UK', 'GB'],
    ['276', 'DE'],
    ['040', 'AT'],
    ['004', 'AF'],
  ]
  here.write(
    'countries.csv',
    ['Company,Country', ...names.map(([name], at) => `C${at},"${name}"`)].join('\n'),
  )
  const target = answering({ status: 404, body: { error: 'not_found', message: 'Nothing' } })
  await here.run('accounts enrich --csv countries.csv -o countries-out.csv', { caller: target })
  const codes = new Map(target.asked.map(({ input }) => [input.name, input.country]))
  expect(names.map((_, at) => codes.get(`C${at}`))).toEqual(names.map(([, code]) => code))
})

it('countries that may be two, and what is none, are left out and counted', async () => {
  const names = [
    'Korea',
    'Congo',
    'Kongo',
    '40',
    '49',
    '999',
    'S',
    'N',
    'd',
    'FL',
    'DE, AT',
    'Germany; Austria',
    'EMEA',
    'Bayern',
  ]
  here.write('two.csv', ['Company,Country', ...names.map((name, at) => `C${at},"${name}"`)].join('\n'))
  const target = answering({ status: 404, body: { error: 'not_found', message: 'Nothing' } })
  const { stderr } = await here.run('accounts enrich --csv two.csv -o two-out.csv', { caller: target })
  expect(target.asked.filter(({ input }) => input.country !== undefined)).toEqual([])
  expect(stderr).toContain(`Not understood: country: ${names.length} values, such as "Korea"`)
})

it('a file that ends with many marks of its end has no row of them', async () => {
  here.write('ended.csv', `Company,Domain\r\nAcme,acme.example\r\n${'\x1a'.repeat(100)}`)
  const target = answering({ status: 404, body: { error: 'not_found', message: 'Nothing' } })
  await ends(here.run('accounts enrich --csv ended.csv -o ended-out.csv', { caller: target }), 0)
  expect(target.asked).toHaveLength(1)
})

it('names are in one line, without what a web page writes for a letter', async () =>
  expect(
    await sent('accounts enrich', 'Company', 'name', [
      'Acme\r\nGmbH',
      'Birch &amp; Co',
      'D&#39;Or',
      'A & B',
      'X&Y;',
    ]),
  ).toEqual(['Acme GmbH', 'Birch & Co', "D'Or", 'A & B', 'X&Y;']))

it('names with their domain in brackets behind them are both', async () => {
  here.write(
    'hubspot.csv',
    [
      'Associated Company',
      'Acme Robotics GmbH (acme-robotics.example)',
      'Birch (birch.example )',
      'Acme (formerly Node.js)',
      'Cedar (Munich)',
      'Dogwood (linkedin.com)',
    ].join('\n'),
  )
  here.write('sites.csv', 'Company,Website\nAcme GmbH (acme.example),other.example\n')
  const target = answering({ status: 404, body: { error: 'not_found', message: 'Nothing' } })
  for (const file of ['hubspot', 'sites'])
    await here.run(`accounts enrich --csv ${file}.csv -o ${file}-out.csv --fail-on none`, { caller: target })
  expect(target.asked.map(({ input }) => [input.name, input.domain])).toEqual([
    ['Acme Robotics GmbH', 'acme-robotics.example'],
    ['Birch', 'birch.example'],
    ['Acme (formerly Node.js)', undefined],
    ['Cedar (Munich)', undefined],
    ['Dogwood (linkedin.com)', undefined],
    ['Acme GmbH', 'other.example'],
  ])
})

it('addresses that cells of a workbook lead to are read where their column is for addresses', async () => {
  const rels = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships'
  const links = [
    'https://acme.example/?a=1&amp;b=2',
    'https://elsewhere.example',
    'https://birch.example',
    'mailto:jo@cedar.example',
  ]
  const refs = ['B2', 'A2', 'B3', 'B5']
  const text = (value: string) => `<c t="inlineStr"><is><t>${value}</t></is></c>`
  const row = (...cells: string[]) => `<row>${cells.join('')}</row>`
  const rows = [
    row(text('Company'), text('Website')),
    row(text('Acme'), text('Website')),
    row(text('Birch'), text('own.example')),
    row(text('Fir'), '<c t="str"><f>HYPERLINK("https://fir.example/de","Visit")</f><v>Visit</v></c>'),
    row(text('Cedar'), text('Mail us')),
  ].join('')
  const main = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
  here.write(
    'links.xlsx',
    workbookOf({
      sheets: { Sheet1: '' },
      parts: {
        'xl/worksheets/sheet1.xml': `<worksheet ${main} xmlns:r="${rels}"><sheetData>${rows}</sheetData><hyperlinks>${refs
          .map((ref, at) => `<hyperlink ref="${ref}" r:id="rId${at + 1}"/>`)
          .join('')}</hyperlinks></worksheet>`,
        'xl/worksheets/_rels/sheet1.xml.rels': `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">${links
          .map(
            (link, at) =>
              `<Relationship Id="rId${at + 1}" Type="${rels}/hyperlink" Target="${link}" TargetMode="External"/>`,
          )
          .join('')}</Relationships>`,
      },
    }),
  )
  const target = answering({ status: 404, body: { error: 'not_found', message: 'Nothing' } })
  await here.run('accounts enrich --csv links.xlsx -o links-out.csv --fail-on none', { caller: target })
  expect(target.asked.map(({ input }) => [input.name, input.domain])).toEqual([
    ['Acme', 'https://acme.example/?a=1&b=2'],
    ['Birch', 'own.example'],
    ['Fir', 'https://fir.example/de'],
    ['Cedar', undefined],
  ])
})

describe('cells of names of people', () => {
  it('are sent without pronouns and degrees, and as the same person', async () => {
    here.write(
      'people.csv',
      [
        'First name,Last name,Company domain',
        'Jane (she/her),"Doe, PhD",acme.example',
        'Jane,Doe,acme.example',
        'Jane [She/Her],"Doe, MBA, Ph.D.",acme.example',
        'Kim (they),Sørensen,acme.example',
        'Jo | he/him,"Smith, Jr.",acme.example',
        'Ann,Mba,acme.example',
        'Shea (Hera),"Li, Ma",acme.example',
      ].join('\n'),
    )
    const target = answering({ status: 404, body: { error: 'not_found', message: 'Nothing' } })
    await here.run('leads enrich --csv people.csv -o people-out.csv --fail-on none', { caller: target })
    const asked = target.asked.map(
      ({ input }) => `${input.firstname ?? input.first_name}|${input.lastname ?? input.last_name}`,
    )
    expect(asked.sort()).toEqual(
      ['Jane|Doe', 'Kim|Sørensen', 'Jo|Smith, Jr.', 'Ann|Mba', 'Shea (Hera)|Li, Ma'].sort(),
    )
  })
})
