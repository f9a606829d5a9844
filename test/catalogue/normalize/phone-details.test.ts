import { describe, expect, it } from 'vitest'
import { describePhone, isMobile } from '../../../src/catalogue/normalize/phone.js'
import { countries } from '../../../src/catalogue/sample/countries.js'

describe('a phone number', () => {
  // One row for each kind and many countries, by the numbering plans of their regulators.
  it.each([
    ['+33612345678', 'mobile', 'FR'],
    ['+33142685300', 'fixed_line', 'FR'],
    ['+33756123456', 'mobile', 'FR'],
    ['+33974123456', 'voip', 'FR'],
    ['+33800123456', 'toll_free', 'FR'],
    ['+33899123456', 'premium_rate', 'FR'],
    ['+12125550101', 'fixed_or_mobile', 'US'],
    ['+18005550199', 'toll_free', 'US'],
    ['+14165550123', 'fixed_or_mobile', 'CA'],
    ['+442079460123', 'fixed_line', 'GB'],
    ['+447400123456', 'mobile', 'GB'],
    ['+445512345678', 'uan', 'GB'],
    ['+447640123456', 'pager', 'GB'],
    ['+447012345678', 'personal_number', 'GB'],
    ['+447781123456', 'mobile', 'GG'],
    ['+447624123456', 'mobile', 'IM'],
    ['+491713920012', 'mobile', 'DE'],
    ['+493023125123', 'fixed_line', 'DE'],
    ['+4918012345678', 'shared_cost', 'DE'],
    ['+46701740612', 'mobile', 'SE'],
    ['+34612345678', 'mobile', 'ES'],
    ['+34912345678', 'fixed_line', 'ES'],
    ['+31612345678', 'mobile', 'NL'],
    ['+390612345678', 'fixed_line', 'IT'],
    ['+393491234567', 'mobile', 'IT'],
    ['+5511912345678', 'mobile', 'BR'],
    ['+551131234567', 'fixed_line', 'BR'],
    ['+525512345678', 'fixed_or_mobile', 'MX'],
    ['+61491570156', 'mobile', 'AU'],
    ['+819012345678', 'mobile', 'JP'],
    ['+919812345678', 'mobile', 'IN'],
    ['+38344123456', 'mobile', 'XK'],
    ['+2250123456789', 'mobile', 'CI'],
    ['+41860123456789', 'voicemail', 'CH'],
    ['+80012345678', 'toll_free', null],
    ['+2908123', 'fixed_or_mobile', 'SH'],
  ])('%s is %s of %s', (number, type, country_code) => {
    expect(describePhone(number)).toEqual({ number, type, country_code })
  })

  it.each([
    ['+33639980001', 'FR'],
    ['+447700900123', 'GB'],
    ['+353209101234', 'IE'],
  ])('%s is a mobile number for fiction of %s', (number, country_code) => {
    expect(describePhone(number)).toEqual({ number, type: 'mobile', country_code })
  })

  it.each([
    ['+33299', 'FR'],
    ['+5215512345678', 'MX'],
    ['+999123456789', null],
  ])('%s, which no plan has, is kept as unknown', (number, country_code) => {
    expect(describePhone(number)).toEqual({ number, type: 'unknown', country_code })
  })

  it.each([
    ['+33639980001', true],
    ['+33199001234', false],
    ['+12125550101', false],
  ])('is certainly mobile: %s %s', (number, mobile) => {
    expect(isMobile(number)).toBe(mobile)
  })

  it('of the sample has a kind and the country that it is for', () => {
    for (const { code, phones } of countries)
      for (const range of phones) {
        const detail = describePhone(range.replaceAll('x', '1'))
        expect(detail).toMatchObject({ country_code: code })
        expect(['mobile', 'fixed_line', 'fixed_or_mobile']).toContain(detail.type)
      }
  })
})
