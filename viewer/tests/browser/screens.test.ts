/**
 * Compares the look of the page with stored, reviewed screens. Machines draw letters differently, so the tests
 * compare coarse grids in `screens/`, which `viewer/check --screens` writes.
 */
import { readFileSync, writeFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { serveTwo } from "./fixture.ts";
import { differences, look, read, written, type Block } from "./grid.ts";
import { drawn, open } from "./harness.ts";

/** Maximum share of ink or color that may differ. Other fonts move a fifth; a chart without curves lacks half. */
const MAX_DIFFERENCE = 0.28;

/** Window sizes that contain the whole page. */
const SCREENS = {
  "desktop-light": { width: 1280, height: 1900 },
  "desktop-dark": { width: 1280, height: 1900, dark: true },
  phone: { width: 360, height: 3600 },
};

const served = serveTwo();

const place = (name: string) => new URL(`screens/${name}.txt`, import.meta.url);
const stored = (name: string) => read(readFileSync(place(name), "utf8"));

/** Opens a paused page and waits until its look does not change. */
async function openStill(options: { width: number; height: number; dark?: boolean }) {
  const opened = await open(served.browser, `${served.url}&t=2.345678&speed=0.02`, options);
  await drawn(opened.page);
  let [before, now] = ["", written(await look(opened.page))];
  while (now !== before) [before, now] = [now, written(await look(opened.page))];
  return opened;
}

/** Returns the panels and charts that look different. */
const changedBlocks = async (page: Page, screen: Block[]): Promise<string[]> =>
  [...differences(screen, await look(page))].flatMap(([name, part]) => (part > MAX_DIFFERENCE ? [name] : []));

const otherTheme = (page: Page) => page.getByRole("button", { name: /^(Dark|Light)$/ }).click();

/** Changes the font and the letter spacing, also on canvases. */
async function useOtherFont(page: Page): Promise<void> {
  await page.evaluate(() => {
    const [family, spacing] = ["serif", "-0.04em"];
    // The policy of the page allows only styles that scripts create.
    const style = new CSSStyleSheet();
    style.replaceSync(`* { font-family: ${family} !important; letter-spacing: ${spacing} !important }`);
    document.adoptedStyleSheets = [style];
    const { prototype } = CanvasRenderingContext2D;
    const { get, set } = Object.getOwnPropertyDescriptor(prototype, "font")!;
    Object.defineProperty(prototype, "font", {
      get,
      set(text: string) {
        set!.call(this, text.replace(/px .*/, `px ${family}`));
        this.letterSpacing = spacing;
      },
    });
  });
  // Switching the theme twice redraws the canvases.
  await otherTheme(page);
  await otherTheme(page);
}

/** Erases curves and packets from a canvas, but not axes and labels. */
const erase = (canvas: HTMLCanvasElement): void => {
  const to = canvas.getContext("2d")!;
  const picture = to.getImageData(0, 0, canvas.width, canvas.height);
  const { data } = picture;
  for (let at = 0; at < data.length; at += 4)
    if (Math.max(data[at], data[at + 1], data[at + 2]) - Math.min(data[at], data[at + 1], data[at + 2]) > 60)
      data[at + 3] = 0;
  to.putImageData(picture, 0, 0);
};

describe("the look of the page is unchanged:", () => {
  for (const [name, options] of Object.entries(SCREENS)) {
    it(name, async () => {
      const { page, complaints, close } = await openStill(options);
      expect(await page.evaluate(() => document.documentElement.scrollHeight - innerHeight)).toBe(0);
      if (process.env.SCREENS === "store") writeFileSync(place(name), written(await look(page)));
      expect(await changedBlocks(page, stored(name))).toEqual([]);
      expect(complaints).toEqual([]);
      await close();
    });

    it(`${name}, with another font`, async () => {
      const { page, close } = await openStill(options);
      const before = written(await look(page));
      await useOtherFont(page);
      expect(await changedBlocks(page, stored(name))).toEqual([]);
      expect(written(await look(page))).not.toBe(before);
      await close();
    });

    it(`${name}: missing panels, missing curves and the other theme are detected`, async () => {
      const { page, close } = await openStill(options);
      const screen = stored(name);
      for (const panel of await page.locator(".panel").all()) {
        await panel.evaluate((panel) => (panel.style.display = "none"));
        const charts = await panel
          .locator("[data-chart]")
          .evaluateAll((all) => all.map((chart) => chart.dataset.chart));
        const missing = charts.length > 0 ? charts : [await panel.getAttribute("id")];
        expect(await changedBlocks(page, screen)).toEqual(expect.arrayContaining(missing));
        await panel.evaluate((panel) => (panel.style.display = ""));
      }
      expect(await changedBlocks(page, screen), "all panels are visible again").toEqual([]);

      const drawn = screen.map(({ name }) => name).filter((name) => / of | by |, /.test(name));
      const canvases = page.locator(".stage canvas, .marks canvas, .chart canvas");
      for (const canvas of await canvases.all()) await canvas.evaluate(erase);
      expect(await changedBlocks(page, screen), "without curves, marks and packets").toEqual(
        expect.arrayContaining(drawn),
      );
      await otherTheme(page);
      expect(await changedBlocks(page, screen), "in the other theme").toEqual(screen.map(({ name }) => name));
      await close();
    });
  }
});
