/**
 * The page as it looks beside how it looked when somebody looked at it. No two machines draw a letter alike: so what is compared are coarse grids, in
 * `screens/`, which `viewer/check --screens` writes anew.
 */
import { readFileSync, writeFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { serveTwo } from "./fixture.ts";
import { differences, look, read, written, type Block } from "./grid.ts";
import { drawn, open } from "./harness.ts";

/** So large a part of the ink or of the colour of a panel may be elsewhere. Other fonts move a fifth, and a chart without its curves lacks half. */
const BOUND = 0.28;

/** High enough for all of the page. */
const SCREENS = {
  "desktop-light": { width: 1280, height: 1900 },
  "desktop-dark": { width: 1280, height: 1900, dark: true },
  phone: { width: 360, height: 3600 },
};

const served = serveTwo();

const place = (name: string) => new URL(`screens/${name}.txt`, import.meta.url);
const stored = (name: string) => read(readFileSync(place(name), "utf8"));

/** A page in which time stands still, once all has come. */
async function openStill(options: { width: number; height: number; dark?: boolean }) {
  const opened = await open(served.browser, `${served.url}&t=2.345678&speed=0.02`, options);
  await drawn(opened.page);
  let [before, now] = ["", written(await look(opened.page))];
  while (now !== before) [before, now] = [now, written(await look(opened.page))];
  return opened;
}

/** The panels and charts that look otherwise. */
const others = async (page: Page, screen: Block[]): Promise<string[]> =>
  [...differences(screen, await look(page))].flatMap(([name, part]) => (part > BOUND ? [name] : []));

const otherTheme = (page: Page) => page.getByRole("button", { name: /^(Dark|Light)$/ }).click();

/** Draws all letters in another shape and narrower, on canvases, too. */
async function useOtherLetters(page: Page): Promise<void> {
  await page.evaluate(() => {
    const [family, spacing] = ["serif", "-0.04em"];
    // The page's policy lets in no style, but what scripts make.
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
  // Whatever is on a canvas is drawn anew.
  await otherTheme(page);
  await otherTheme(page);
}

/** Erases what is coloured on a canvas, curves and packets, and leaves axes and labels. */
const erase = (canvas: HTMLCanvasElement): void => {
  const to = canvas.getContext("2d")!;
  const picture = to.getImageData(0, 0, canvas.width, canvas.height);
  const { data } = picture;
  for (let at = 0; at < data.length; at += 4)
    if (Math.max(data[at], data[at + 1], data[at + 2]) - Math.min(data[at], data[at + 1], data[at + 2]) > 60)
      data[at + 3] = 0;
  to.putImageData(picture, 0, 0);
};

describe("the page looks as it did:", () => {
  for (const [name, options] of Object.entries(SCREENS)) {
    it(name, async () => {
      const { page, complaints, close } = await openStill(options);
      expect(await page.evaluate(() => document.documentElement.scrollHeight - innerHeight)).toBe(0);
      if (process.env.SCREENS === "store") writeFileSync(place(name), written(await look(page)));
      expect(await others(page, stored(name))).toEqual([]);
      expect(complaints).toEqual([]);
      await close();
    });

    it(`${name}, with other letters, too`, async () => {
      const { page, close } = await openStill(options);
      const before = written(await look(page));
      await useOtherLetters(page);
      expect(await others(page, stored(name))).toEqual([]);
      expect(written(await look(page))).not.toBe(before);
      await close();
    });

    it(`${name}, and not without a panel, without what is drawn, or in the other theme`, async () => {
      const { page, close } = await openStill(options);
      const screen = stored(name);
      for (const panel of await page.locator(".panel").all()) {
        await panel.evaluate((panel) => (panel.style.display = "none"));
        const charts = await panel
          .locator("[data-chart]")
          .evaluateAll((all) => all.map((chart) => chart.dataset.chart));
        const missing = charts.length > 0 ? charts : [await panel.getAttribute("id")];
        expect(await others(page, screen)).toEqual(expect.arrayContaining(missing));
        await panel.evaluate((panel) => (panel.style.display = ""));
      }
      expect(await others(page, screen), "all are there again").toEqual([]);

      const drawn = screen.map(({ name }) => name).filter((name) => / of |, /.test(name));
      const canvases = page.locator(".stage canvas, .marks canvas, .chart canvas");
      for (const canvas of await canvases.all()) await canvas.evaluate(erase);
      expect(await others(page, screen), "without curves, marks and packets").toEqual(expect.arrayContaining(drawn));
      await otherTheme(page);
      expect(await others(page, screen), "in the other theme").toEqual(screen.map(({ name }) => name));
      await close();
    });
  }
});
