/** Opens pages in a browser and collects errors and requests to other servers. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { chromium, type Browser, type Page } from "playwright-core";

/** Launches the browser with software rendering. */
export const launch = (): Promise<Browser> =>
  chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu"],
  });

export interface Opened {
  page: Page;
  /** Errors, policy violations, and requests to other servers. */
  complaints: string[];
  close: () => Promise<void>;
}

export async function open(
  browser: Browser,
  url: string,
  /** `built`: use `dist/index.html` in place of the page of the server. */
  { width = 1280, height = 720, dark = false, wait = true, built = false } = {},
): Promise<Opened> {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: dark ? "dark" : "light",
    acceptDownloads: true,
  });
  if (built)
    await context.route(
      (requested) => requested.pathname === "/",
      (route) => route.fulfill({ path: "dist/index.html", contentType: "text/html" }),
    );
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(`error: ${error.message}`));
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") complaints.push(`console: ${message.text()}`);
  });
  page.on("request", (request) => {
    const requested = new URL(request.url());
    if (requested.protocol !== "blob:" && requested.protocol !== "data:" && requested.origin !== new URL(url).origin)
      complaints.push(`request: ${request.url()}`);
  });
  await page.goto(url);
  if (wait) await page.locator("#flows table").waitFor();
  return { page, complaints, close: () => context.close() };
}

export const time = async (page: Page): Promise<number> =>
  parseFloat((await page.locator("[data-time]").textContent()) ?? "");

/** Returns the counts of the animation after all packets at the current time are loaded. */
export async function drawn(page: Page, record = ""): Promise<{ flying: number; waiting: number; falling: number }> {
  const status = page.locator(record === "" ? "[data-motion]" : `[data-motion="${record}"]`).first();
  await status.filter({ hasText: "dropped" }).waitFor();
  return JSON.parse((await status.getAttribute("data-counts")) ?? "{}");
}

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Returns the violations of accessibility rules that axe finds. */
export async function violations(page: Page): Promise<string[]> {
  await page.evaluate(axe);
  return page.evaluate(async () => {
    const { axe } = window as unknown as {
      axe: { run: () => Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> };
    };
    return (await axe.run()).violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`);
  });
}
