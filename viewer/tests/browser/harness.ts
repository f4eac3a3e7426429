/** A browser, and pages that must neither fail nor ask for anything elsewhere. */
import { chromium, type Browser, type Page } from "playwright-core";

/** Software rendering: what a page must be quick enough for. */
export const launch = (): Promise<Browser> =>
  chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu"],
  });

export interface Opened {
  page: Page;
  /** Errors, violations of the policy, and requests that left the page's own server. */
  complaints: string[];
  close: () => Promise<void>;
}

export async function open(
  browser: Browser,
  url: string,
  /** `ours`: the page as it was just built in place of the server's. */
  { width = 1280, height = 720, dark = false, wait = true, ours = false } = {},
): Promise<Opened> {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: dark ? "dark" : "light",
    acceptDownloads: true,
  });
  if (ours)
    await context.route(
      (asked) => asked.pathname === "/",
      (route) => route.fulfill({ path: "dist/index.html", contentType: "text/html" }),
    );
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(`error: ${error.message}`));
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") complaints.push(`console: ${message.text()}`);
  });
  page.on("request", (request) => {
    const asked = new URL(request.url());
    if (asked.protocol !== "blob:" && asked.protocol !== "data:" && asked.origin !== new URL(url).origin)
      complaints.push(`asked ${request.url()}`);
  });
  await page.goto(url);
  if (wait) await page.locator("#flows table").waitFor();
  return { page, complaints, close: () => context.close() };
}

export const time = async (page: Page): Promise<number> =>
  parseFloat((await page.locator("[data-time]").textContent()) ?? "");

/** What the animation draws, as it says itself, once all packets of the instant have come. */
export async function drawn(page: Page, record = ""): Promise<{ flying: number; waiting: number; falling: number }> {
  const said = page.locator(record === "" ? "[data-motion]" : `[data-motion="${record}"]`).first();
  await said.filter({ hasText: "falling" }).waitFor();
  return JSON.parse((await said.getAttribute("data-counts")) ?? "{}");
}
