import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import axe from 'axe-core'
import { execa } from 'execa'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { expect } from 'vitest'
import { isLong } from './effort.js'

/** Whether the tests of pages are left out, on a machine where no browser can be had. */
export const hasNoBrowser = process.env.PROSPECT_NO_BROWSER === '1'

/** Where Chromium or Chrome is installed usually. */
const usualPaths = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/usr/bin/google-chrome-stable',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe',
  'C:\\Program Files (x86)\\Google\\Chrome\\Application\\chrome.exe',
]

let shared: Promise<Browser> | undefined

/** Returns the browser that the test files of a process share, for which `rebound.example` is here. It ends with the process. */
export const sharedBrowser = (): Promise<Browser> => (shared ??= launchBrowser())

/** Starts an installed Chromium, or the one that ships through npm. Throws a sentence where neither starts. */
async function launchBrowser(): Promise<Browser> {
  const named = process.env.PROSPECT_BROWSER
  const installed = named ? [named] : usualPaths.filter((path) => existsSync(path))
  const problems: string[] = []
  for (const open of [...installed.map((path) => () => start(path)), ...(named ? [] : [startPackaged])]) {
    try {
      return await open()
    } catch (error) {
      problems.push((error as Error).message.split('\n')[0] ?? '')
    }
  }
  throw new Error(
    'The tests of the dashboard need Chromium, and none starts on this machine. Install it, name one in PROSPECT_BROWSER, ' +
      `or leave these tests out with PROSPECT_NO_BROWSER=1. (${problems.join('; ')})`,
  )
}

const start = (executablePath: string, env: Record<string, string> = {}): Promise<Browser> =>
  chromium.launch({
    executablePath,
    args: [
      // Chromium has no sandbox for root, as whom containers run.
      ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
      '--host-resolver-rules=MAP rebound.example 127.0.0.1',
    ],
    env: { ...(process.env as Record<string, string>), ...env },
  })

/** Starts the Chromium of npm; on a bare machine with the libraries and fonts that come with it. */
async function startPackaged(): Promise<Browser> {
  const folder = await unpackChromium()
  const path = join(folder, 'chromium')
  const env = existsSync('/etc/fonts') ? {} : { FONTCONFIG_PATH: join(folder, 'fonts') }
  try {
    return await start(path, env)
  } catch (error) {
    if (!/shared librar/.test((error as Error).message)) throw error
    return start(path, { ...env, LD_LIBRARY_PATH: join(folder, 'al2023', 'lib') })
  }
}

/** Unpacks what the package has compressed into the temporary folder. */
const unpack = `import packaged, { inflate } from '@sparticuz/chromium'
await packaged.executablePath()
await inflate(process.argv[1])`

/**
 * Unpacks Chromium for all tests, once. It is done beside and renamed, because a file that is being written cannot be
 * started, and several tests may come here together.
 */
async function unpackChromium(): Promise<string> {
  const main = fileURLToPath(import.meta.resolve('@sparticuz/chromium'))
  const above = join(dirname(main), '..')
  const { version } = JSON.parse(readFileSync(join(above, 'package.json'), 'utf8')) as { version: string }
  const folder = join(above, '..', '..', '.cache', 'prospect-tests', `chromium-${version}`)
  if (existsSync(folder)) return folder
  const partial = `${folder}-${process.pid}.partial`
  mkdirSync(partial, { recursive: true })
  const argv = ['--input-type=module', '--eval', unpack, join(above, 'bin', 'al2023.tar.br')]
  await execa(process.execPath, argv, { cwd: above, env: { TMPDIR: partial } })
  try {
    renameSync(partial, folder)
  } catch {
    // Another test was first.
    rmSync(partial, { recursive: true, force: true })
  }
  return folder
}

/** Opens a page in a profile of its own, and keeps what goes wrong in it: errors of its script, and what the security policy refuses. */
export async function openPage(url: string, options: BrowserContextOptions = {}) {
  const browser = await sharedBrowser()
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options })
  const page = await context.newPage()
  const problems: string[] = []
  page.on('pageerror', (error) => problems.push(error.message))
  page.on('console', (message) => {
    if (message.type() === 'error') problems.push(message.text())
  })
  page.on('request', (request) => {
    if (new URL(request.url()).origin !== new URL(url).origin) problems.push(`asked ${request.url()}`)
  })
  await page.goto(url)
  await ready(page)
  return { page, problems, close: () => context.close() }
}

/** Resolves when the page shows its view. */
export const ready = (page: Page) => page.locator('main:not([aria-busy]) h1').waitFor()

/** Asserts that axe finds nothing serious, and that nothing is wider than the screen. */
export async function expectAccessible(page: Page): Promise<void> {
  if (!(await page.evaluate("'axe' in window"))) await page.evaluate(axe.source)
  const serious = await page.evaluate(`axe.run({ resultTypes: ['violations'] }).then(({ violations }) =>
    violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]))`)
  expect(serious).toEqual([])
  expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0)
}

/** How a page can look. */
const looks = {
  light: { colorScheme: null, width: 1280 },
  dark: { colorScheme: 'dark', width: 1280 },
  narrow: { colorScheme: 'light', width: 360 },
  'dark-narrow': { colorScheme: 'dark', width: 360 },
} as const

/**
 * Asserts that a page is accessible in both colours and on a narrow screen, and takes screenshots of each. Without
 * `--long` only the dark and narrow one is checked: most pages with less data are checked as they look usually.
 */
export async function expectAccessibleInEveryLook(page: Page, name: string): Promise<void> {
  for (const [look, { colorScheme, width }] of Object.entries(looks)) {
    if (look !== 'dark-narrow' && !isLong) continue
    await page.emulateMedia({ colorScheme })
    await page.setViewportSize({ width, height: look === 'light' ? 900 : 740 })
    await expectAccessible(page)
    await takeScreenshot(page, `${name}-${look}`)
  }
  await page.emulateMedia({ colorScheme: null })
  await page.setViewportSize({ width: 1280, height: 900 })
}

/** Presses Tab until an element has the focus. Throws when it cannot be reached. */
export async function tabTo(page: Page, name: string): Promise<void> {
  for (let presses = 0; presses < 200; presses++) {
    await page.keyboard.press('Tab')
    const text = await page.evaluate(
      "document.activeElement?.getAttribute('aria-label') ?? document.activeElement?.textContent?.trim() ?? ''",
    )
    if (text === name) return
  }
  throw new Error(`"${name}" cannot be reached with the keyboard`)
}

/** Writes a picture of the page to the folder that PROSPECT_SCREENSHOTS names, for people to look at. */
export async function takeScreenshot(page: Page, name: string): Promise<void> {
  const folder = process.env.PROSPECT_SCREENSHOTS
  if (folder) await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true })
}
