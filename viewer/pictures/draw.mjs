/**
 * Draws the page with a record as a vector SVG. Needs Chromium and pdftocairo (Debian: poppler-utils).
 *
 *     node pictures/draw.mjs REPORT PLACE FILE
 *
 * REPORT: a file written by `headway report`. PLACE: the part of the address after `#`.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [report, place, file] = process.argv.slice(2);
const [width, height] = [1280, 720];
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu"],
});
const page = await browser.newPage({ viewport: { width, height } });
page.on("pageerror", (error) => console.error(error));
await page.addInitScript({ path: fileURLToPath(new URL("record-canvas.js", import.meta.url)) });
await page.goto(`${pathToFileURL(report)}#${place}`);
await page.locator("[data-chart]").first().waitFor();
await page.locator("[data-motion]").filter({ hasText: "dropped" }).waitFor();
await page.locator("main").filter({ hasNotText: "Reading" }).waitFor();
await page.evaluate(() => document.fonts.ready);
await page.evaluate((height) => {
  for (const canvas of document.querySelectorAll("canvas")) {
    const holder = document.createElement("template");
    holder.innerHTML = window.svgOf(canvas);
    const svg = holder.content.firstElementChild;
    const { width, height } = canvas.getBoundingClientRect();
    const style = getComputedStyle(canvas);
    for (const name of ["position", "top", "left", "display"]) svg.style[name] = style[name];
    Object.assign(svg.style, { width: `${width}px`, height: `${height}px` });
    canvas.replaceWith(svg);
  }
  for (const element of document.querySelectorAll("main *")) {
    // Hide content outside the window to keep the file small.
    if (element.getBoundingClientRect().top >= height) element.style.visibility = "hidden";
    // A PDF has gradients as images.
    if (getComputedStyle(element).backgroundImage !== "none") element.style.backgroundImage = "none";
  }
  // Cut the page off at the height of the window.
  Object.assign(document.getElementById("page").style, {
    contain: "strict",
    position: "relative",
    height: `${height}px`,
    overflow: "hidden",
  });
  const bar = document.querySelector("[aria-label=Playback]");
  Object.assign(bar.style, { position: "absolute", left: 0, right: 0, bottom: 0 });
}, height);
await page.emulateMedia({ media: "screen" });

const scratch = mkdtempSync(join(tmpdir(), "headway-picture-"));
const [pdf, svg] = [join(scratch, "page.pdf"), join(scratch, "page.svg")];
await page.pdf({ path: pdf, width: `${width}px`, height: `${height}px`, printBackground: true, pageRanges: "1" });
execFileSync("pdftocairo", ["-svg", pdf, svg]);
const exact = readFileSync(svg, "utf8");
if (exact.includes("<image")) throw new Error("the SVG contains an image");
// Round outlines and positions to 0.01 pt, but not matrices, and remove attributes with default values.
const short = exact
  .replace(/ (?:d|x|y|width|height)="[^"]*"/g, (words) =>
    words.replace(/-?\d+\.\d+/g, (n) => String(Number(Number(n).toFixed(2)))),
  )
  .replace(
    / clip-rule="nonzero"| ?(?:stroke:none|fill-rule:nonzero|(?:fill|stroke)-opacity:1|stroke-linecap:butt);/g,
    "",
  )
  .replaceAll(' style=""', "");
writeFileSync(file, short);
rmSync(scratch, { recursive: true });
await browser.close();
