import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { AxeBuilder } from '@axe-core/playwright';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import type { Checks } from '../support/checks.ts';

/** As root, on a machine without a graphics card or a way out. */
const FLAGS = [
  ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-sync'],
  ...['--disable-background-networking', '--disable-component-update'],
];
const WIDE = { width: 1440, height: 900 };
const NARROW = { width: 390, height: 844 };
const COLOR_RULES = ['color-contrast', 'link-in-text-block'];
const THEMES = ['dark', 'light'] as const;

/** Chromium from the system's packages; `CHROMIUM` names another. */
export async function startBrowser(): Promise<Browser & AsyncDisposable> {
  const executablePath = process.env['CHROMIUM'] ?? '/usr/bin/chromium';
  return chromium.launch({ executablePath, args: FLAGS });
}

/** A page on a dashboard, with whatever it complained about. */
export interface Visit extends AsyncDisposable {
  readonly page: Page;
  readonly complaints: readonly string[];
}

export async function visit(browser: Browser, url: string): Promise<Visit> {
  const context: BrowserContext = await browser.newContext({
    viewport: WIDE,
    colorScheme: 'dark',
    permissions: ['clipboard-read', 'clipboard-write'],
  });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('pageerror', ({ message }) => complaints.push(message));
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text());
  });
  await page.goto(url);
  return { page, complaints, [Symbol.asyncDispose]: () => context.close() };
}

/** Looks at a state as people do: both themes, wide and narrow, and as axe does. */
export class Looker {
  readonly #checks: Checks;
  readonly #folder: string | undefined;

  constructor(checks: Checks, folder: string | undefined) {
    this.#checks = checks;
    this.#folder = folder;
  }

  async look(page: Page, name: string): Promise<void> {
    for (const theme of THEMES) {
      await page.emulateMedia({ colorScheme: theme });
      for (const [size, viewport] of [
        ['wide', WIDE],
        ['narrow', NARROW],
      ] as const) {
        await page.setViewportSize(viewport);
        // A frame with the new size and colours.
        await page.evaluate(
          'new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))',
        );
        if (this.#folder !== undefined) {
          await mkdir(this.#folder, { recursive: true });
          const path = join(this.#folder, `${name}-${theme}-${size}.png`);
          await page.screenshot({ path, fullPage: size === 'narrow' });
        }
        const sideways = await page.evaluate<number>(
          'document.documentElement.scrollWidth - document.documentElement.clientWidth',
        );
        this.#checks.check(`${name}, ${theme}, ${size}: nothing sticks out`, sideways <= 0, sideways);
      }
      await page.setViewportSize(WIDE);
      const axe = new AxeBuilder({ page });
      // Themes differ in nothing but colours.
      if (theme === 'light') axe.withRules(COLOR_RULES);
      const { violations } = await axe.analyze();
      const grave = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
      this.#checks.check(
        `${name}, ${theme}: axe finds nothing serious`,
        grave.length === 0,
        grave.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' ')}`),
      );
    }
    await page.emulateMedia({ colorScheme: 'dark' });
  }
}

/** Waits until the headline says this. */
export async function untilTitle(page: Page, title: string, timeoutMs = 30_000): Promise<boolean> {
  return page
    .locator('.banner h1', { hasText: title })
    .waitFor({ timeout: timeoutMs })
    .then(
      () => true,
      () => false,
    );
}
