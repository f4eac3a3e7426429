import { readFileSync, mkdtempSync, rmSync, writeFileSync, mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { quantity, rate } from "../../src/lib/format.ts";
import { packetsFile } from "../arrow-file.ts";
import { makeDumbbell, type Dumbbell } from "../dumbbell.ts";
import { serve } from "../serve.mjs";
import { drawn, launch, open, time } from "./harness.ts";

const EVIL = `<img src=x onerror="window.ran=1">`;
/** How long a drop is in sight, in seconds of watching; as in the panel. */
const FALL_S = 0.8;

let browser: Browser;
let folder: string;
let one: Dumbbell;
let two: Dumbbell;
let server: Awaited<ReturnType<typeof serve>>;

beforeAll(async () => {
  browser = await launch();
  folder = mkdtempSync(join(tmpdir(), "headway-viewer-"));
  one = makeDumbbell(join(folder, "one"));
  two = makeDumbbell(join(folder, "two"), { gap: 9e6 });
  server = await serve([one.folder, two.folder]);
}, 60_000);

afterAll(async () => {
  await browser?.close();
  await server?.close();
  rmSync(folder, { recursive: true, force: true });
});

const sample = (record: Dumbbell, entity: string, metric: string, at: number) =>
  record.samples.findLast(([t, e, m]) => e === entity && m === metric && t <= at)![3];

/** What the hops say, counted one by one. */
function expected(record: Dumbbell, seconds: number, speed: number) {
  const now = seconds * 1e9;
  const fall = FALL_S * speed * 1e9;
  const counts = { flying: 0, waiting: 0, falling: 0 };
  for (const hop of record.hops) {
    const delay = record.meta.links[hop.link].delay_ns;
    const start = hop.offered + hop.wait;
    if (hop.offered > now) continue;
    if (now < start) counts.waiting++;
    else if (hop.fate === 0 && now < start + hop.transmission + delay) counts.flying++;
    else if (hop.fate !== 0 && now - start < fall) counts.falling++;
  }
  return counts;
}

describe("the page", () => {
  it("opens a record and asks for nothing elsewhere", async () => {
    const { page, complaints, close } = await open(browser, server.url);
    await page.locator('[data-chart="throughput_bps of flows"]').waitFor();
    expect(await page.title()).toBe("one – Headway");
    for (const panel of ["Findings", "In motion", "Flows", "Over time", "Send queue", "Frames"])
      expect(await page.getByRole("heading", { name: panel, exact: true }).count(), panel).toBe(1);
    expect(complaints).toEqual([]);
    await close();
  });

  it("shows each flow's numbers as the summary has them", async () => {
    const { page, close } = await open(browser, server.url);
    for (const flow of one.summary.flows)
      expect(await page.locator(`[data-flow="${flow.name}"] [data-column=throughput_bps]`).textContent()).toBe(
        rate(flow.throughput_bps),
      );
    expect(await page.locator("[data-frames-of=media] td").allTextContents()).toEqual(
      expect.arrayContaining(["100", "90", "7", "3"]),
    );
    expect(await page.locator("[data-queue-of=media] td").allTextContents()).toEqual(
      expect.arrayContaining(["520", "500", "6"]),
    );
    await close();
  });

  it("leads with findings, each a link into time", async () => {
    const { page, complaints, close } = await open(browser, server.url);
    expect(await page.locator("main h2").first().textContent()).toBe("Findings");
    await page.getByRole("link", { name: /Problem at 1.5 s/ }).click();
    await expect.poll(() => time(page)).toBe(1.5);
    expect(page.url()).toMatch(/#.*t=1\.5/);
    expect(page.url()).toContain("flow=media");
    expect(await page.locator("tr.chosen").getAttribute("data-flow")).toBe("media");
    expect(complaints).toEqual([]);
    await close();
  });

  it("opens where an address says, and its address says where it is", async () => {
    const { page, close } = await open(browser, `${server.url}#t=2.25&flow=ftp-1&record=1&zoom=2~3`);
    expect(await time(page)).toBe(2.25);
    expect(await page.title()).toBe("two – Headway");
    expect(await page.locator("tr.chosen").getAttribute("data-flow")).toBe("ftp-1");
    await page.keyboard.press("End");
    await expect.poll(() => page.url()).toMatch(/t=4(&|$)/);
    await close();
  });

  it("draws the samples of the record", async () => {
    const { page, close } = await open(browser, `${server.url}#t=1.234`);
    for (const flow of ["media", "ftp-1"]) {
      const shown = page.locator(`[data-chart="throughput_bps of flows"] [data-value="${flow}"]`);
      await expect.poll(() => shown.textContent()).toBe(quantity(sample(one, flow, "throughput_bps", 1.234), "bit/s"));
    }
    const queue = page.locator(`[data-chart="queue_packets of links"] [data-value="west->east"]`);
    expect(await queue.textContent()).toBe(String(sample(one, "west->east", "queue_packets", 1.234)));
    await close();
  });

  it("draws every packet where the record has it", async () => {
    const { page, close } = await open(browser, `${server.url}#t=0.5&speed=0.02`);
    for (const at of [0.5, 1.0001, 2.345678, 3.9]) {
      await page.evaluate((t) => (location.hash = `#t=${t}`), at);
      await expect.poll(() => drawn(page), { message: `at ${at} s` }).toEqual(expected(one, at, 0.02));
    }
    // Whether anything is on the canvas at all.
    const coloured = await page
      .locator("#topology canvas")
      .nth(1)
      .evaluate((canvas: HTMLCanvasElement) => {
        const { data } = canvas.getContext("2d")!.getImageData(0, 0, canvas.width, canvas.height);
        return data.some((value, i) => i % 4 === 3 && value > 0);
      });
    expect(coloured).toBe(true);
    await close();
  });

  it("colours packets by their flow, and fades those of others", async () => {
    const { page, close } = await open(browser, `${server.url}#t=1.0001`);
    await drawn(page);
    // How many px have exactly this colour, and are not faded.
    const full = (red: number, green: number, blue: number) =>
      page
        .locator("#topology canvas")
        .nth(1)
        .evaluate(
          (canvas: HTMLCanvasElement, [r, g, b]) => {
            const { data } = canvas.getContext("2d")!.getImageData(0, 0, canvas.width, canvas.height);
            let found = 0;
            for (let i = 0; i < data.length; i += 4)
              if (data[i] === r && data[i + 1] === g && data[i + 2] === b && data[i + 3] === 255) found++;
            return found;
          },
          [red, green, blue],
        );
    const media = () => full(0x00, 0x72, 0xb2);
    const ftp = () => full(0xe6, 0x9f, 0x00);
    expect(await media()).toBeGreaterThan(20);
    expect(await ftp()).toBeGreaterThan(20);
    await page.getByRole("button", { name: "ftp-1" }).first().click();
    await expect.poll(media).toBe(0);
    expect(await ftp()).toBeGreaterThan(20);
    await close();
  });

  it("goes to the next packet", async () => {
    const { page, close } = await open(browser, `${server.url}#t=1`);
    await drawn(page);
    await page.getByRole("button", { name: "Next packet" }).click();
    const next = one.hops.find((hop) => hop.offered >= 1e9 + 1000)!.offered / 1e9;
    await expect.poll(() => time(page)).toBeCloseTo(next, 3);
    await close();
  });

  it("plays in slow motion, pauses, scrubs and changes its speed", async () => {
    const { page, complaints, close } = await open(browser, `${server.url}#t=1`);
    await drawn(page);
    await page.keyboard.press("Space");
    await page.waitForTimeout(1500);
    await page.keyboard.press("Space");
    const paused = await time(page);
    // A hop of 10 ms takes most of a second: 1.5 s of watching are some 20 ms.
    expect(paused).toBeGreaterThan(1.005);
    expect(paused).toBeLessThan(1.05);
    await page.waitForTimeout(300);
    expect(await time(page)).toBe(paused);
    await page.getByRole("slider", { name: "Time" }).fill("2.5");
    expect(await time(page)).toBe(2.5);
    await page.getByRole("combobox", { name: "Speed" }).selectOption("1");
    await page.getByRole("button", { name: "Play" }).click();
    await page.waitForTimeout(700);
    await page.getByRole("button", { name: "Pause" }).click();
    expect(await time(page)).toBeGreaterThan(2.9);
    expect(complaints).toEqual([]);
    await close();
  });

  it("stops at the end, and starts again from there", async () => {
    const { page, close } = await open(browser, `${server.url}#t=3.9&speed=1`);
    await page.keyboard.press("Space");
    await expect.poll(() => page.getByRole("button", { name: "Play" }).count()).toBe(1);
    expect(await time(page)).toBe(4);
    await page.keyboard.press("Space");
    await page.waitForTimeout(200);
    expect(await time(page)).toBeLessThan(2);
    await close();
  });

  it("zooms all curves together", async () => {
    const { page, close } = await open(browser, server.url);
    const chart = page.locator('[data-chart="throughput_bps of flows"] .u-over');
    const { x, y, width, height } = (await chart.boundingBox())!;
    await page.mouse.move(x + width * 0.25, y + height / 2);
    await page.mouse.down();
    await page.mouse.move(x + width * 0.5, y + height / 2, { steps: 4 });
    await page.mouse.up();
    await expect.poll(() => decodeURIComponent(page.url())).toMatch(/zoom=(0\.9\d*|1(\.0\d*)?)~(1\.9\d*|2(\.0\d*)?)/);
    await page.getByRole("button", { name: "Show all" }).click();
    await expect.poll(() => page.url()).not.toContain("zoom");
    await page.mouse.click(x + width * 0.75, y + height / 2);
    await expect.poll(() => time(page)).toBeCloseTo(3, 1);
    await close();
  });

  it("lays two runs over one another", async () => {
    const { page, complaints, close } = await open(browser, `${server.url}#t=2&record=0&record=1`);
    expect(await page.locator("[data-flow=media]").count()).toBe(2);
    const values = page.locator('[data-chart="throughput_bps of flows"] [data-value]');
    await expect.poll(() => values.count()).toBe(4);
    expect(await page.locator('[data-value="media in two"]').first().textContent()).toBe(
      quantity(sample(two, "media", "throughput_bps", 2), "bit/s"),
    );
    const speed = Number(await page.getByRole("combobox", { name: "Speed" }).inputValue());
    await expect.poll(() => drawn(page, "0")).toEqual(expected(one, 2, speed));
    await expect.poll(() => drawn(page, "1")).toEqual(expected(two, 2, speed));
    await page.locator(".runs summary").click();
    await page.getByRole("checkbox", { name: "one" }).uncheck();
    await expect.poll(() => page.title()).toBe("two – Headway");
    expect(complaints).toEqual([]);
    await close();
  });

  it("tells two runs of one name apart", async () => {
    const other = await serve([one.folder, makeDumbbell(join(folder, "again", "one")).folder]);
    const { page, complaints, close } = await open(browser, `${other.url}#record=0&record=1`);
    await page.locator(`[data-value="media in one (2)"]`).first().waitFor();
    expect(await page.title()).toBe("one (1), one (2) – Headway");
    expect(complaints).toEqual([]);
    await close();
    await other.close();
  });

  it("hands out numbers and pictures", async () => {
    const { page, close } = await open(browser, server.url);
    const chart = page.locator('[data-chart="throughput_bps of flows"]');
    const [numbers] = await Promise.all([
      page.waitForEvent("download"),
      chart.getByRole("button", { name: /CSV/ }).click(),
    ]);
    const rows = readFileSync(await numbers.path(), "utf8")
      .trim()
      .split("\n");
    expect(rows[0]).toBe("time_s,media,ftp-1");
    expect(rows).toHaveLength(41);
    expect(rows[12]).toBe(
      `1.2,${sample(one, "media", "throughput_bps", 1.2)},${sample(one, "ftp-1", "throughput_bps", 1.2)}`,
    );
    const [picture] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Save picture" }).click(),
    ]);
    expect(picture.suggestedFilename()).toBe("one-network.png");
    expect(
      readFileSync(await picture.path())
        .subarray(1, 4)
        .toString(),
    ).toBe("PNG");
    await close();
  });

  it("tells what was thrown away unsent, and why", async () => {
    const { page, close } = await open(browser, `${server.url}#t=0.75`);
    const said = page.locator("#send-queue li");
    await expect
      .poll(() => said.allTextContents())
      .toEqual([
        "0.700 s: media audio, 160 B: expired, 20 ms late",
        "0.600 s: media audio, 160 B: pushed out, 10 ms late",
        "0.500 s: media audio, 160 B: refused",
      ]);
    await page.evaluate(() => (location.hash = "#flow=ftp-1"));
    await page.getByText("Nothing of ftp-1 was thrown away").waitFor();
    await close();
  });

  it("never runs what a record says", async () => {
    const evil = makeDumbbell(join(folder, "evil"), { names: [EVIL, "${window.ran=1}"] });
    const other = await serve([evil.folder]);
    const { page, complaints, close } = await open(browser, `${other.url}#t=1&flow=${encodeURIComponent(EVIL)}`);
    await drawn(page);
    expect(await page.getByRole("button", { name: EVIL }).count()).toBeGreaterThan(0);
    expect(await page.evaluate(() => "ran" in window)).toBe(false);
    // And if it got into the page all the same: the policy lets no other script run.
    const stopped = await page.evaluate(
      () =>
        new Promise((done) => {
          document.addEventListener("securitypolicyviolation", (event) => done(event.violatedDirective));
          const script = document.createElement("script");
          script.textContent = "window.ran = 1";
          document.body.append(script);
        }),
    );
    expect(stopped).toMatch(/^script-src/);
    expect(await page.evaluate(() => "ran" in window)).toBe(false);
    expect(complaints.filter((complaint) => !complaint.includes("Content Security Policy"))).toEqual([]);
    await close();
    await other.close();
  });
});

describe("a page that cannot show everything", () => {
  it("says how to make a record if there is none", async () => {
    const none = await serve([]);
    const { page, complaints, close } = await open(browser, none.url, { wait: false });
    await page.getByText("There is no record here").waitFor();
    expect(await page.getByText("headway run scenarios/demo.toml").count()).toBe(1);
    expect(complaints).toEqual([]);
    await close();
    await none.close();
  });

  it("says which address to open if its token is not the server's", async () => {
    const guarded = await serve([one.folder], { token: "c0ffee" });
    const { page, close } = await open(browser, guarded.url.replace("c0ffee", "bad"), { wait: false });
    await page.getByText("Open the address that `headway view` printed").waitFor();
    await close();
    const right = await open(browser, guarded.url);
    expect(right.complaints).toEqual([]);
    await drawn(right.page);
    await right.close();
    await guarded.close();
  });

  it("shows what an older record has, and how to get the rest", async () => {
    const old = join(folder, "old");
    mkdirSync(old);
    for (const file of ["summary.json", "series.arrow"])
      writeFileSync(join(old, file), readFileSync(join(one.folder, file)));
    const other = await serve([old]);
    const { page, complaints, close } = await open(browser, `${other.url}#t=1.2`);
    await page.getByText("--trace packets").waitFor();
    expect(await drawn(page)).toEqual({
      flying: 0,
      waiting: sample(one, "west->east", "queue_packets", 1.2),
      falling: 0,
    });
    expect(await page.getByText("This record does not say when").count()).toBe(1);
    expect(complaints).toEqual([]);
    await close();
    await other.close();
  });

  it("names a file that is damaged, and shows the rest", async () => {
    const damaged = join(folder, "damaged");
    mkdirSync(damaged);
    writeFileSync(join(damaged, "summary.json"), readFileSync(join(one.folder, "summary.json")));
    writeFileSync(join(damaged, "series.arrow"), "no arrow");
    const broken = join(folder, "broken");
    mkdirSync(broken);
    writeFileSync(join(broken, "summary.json"), "{");
    const other = await serve([damaged, broken]);
    const { page, close } = await open(browser, `${other.url}#record=0&record=1`);
    await page
      .getByText(/series.arrow of damaged cannot be read/)
      .first()
      .waitFor();
    await page.getByText("summary.json of broken is no JSON").waitFor();
    expect(await page.locator("[data-flow=media]").count()).toBe(1);
    await close();
    await other.close();
  });
});

describe("a page whose packets make no sense", () => {
  it("says so, and shows the rest", async () => {
    const odd = makeDumbbell(join(folder, "odd"));
    const { arrow, index } = packetsFile(odd.hops, { ...odd.meta, links: odd.meta.links.slice(0, 1) });
    writeFileSync(join(odd.folder, "packets.arrow"), arrow);
    writeFileSync(join(odd.folder, "packets.index.json"), index);
    const other = await serve([odd.folder]);
    const { page, close } = await open(browser, `${other.url}#t=1`);
    await page.getByText("packets.arrow of odd cannot be read (a packet is at a link that has no name)").waitFor();
    await page.locator('[data-chart="throughput_bps of flows"]').waitFor();
    await close();
    await other.close();
  });
});

describe("a report", () => {
  it("is the same page with its records in it, opened from the disk", async () => {
    const names = [
      "summary.json",
      "series.arrow",
      "events.arrow",
      "packets.arrow",
      "packets.index.json",
      "findings.json",
    ];
    const files = Object.fromEntries(
      names.map((name) => [name, readFileSync(join(one.folder, name)).toString("base64")]),
    );
    const data = `<script type="application/json" id="headway-data">${JSON.stringify({ records: [{ id: "0", name: "one", files }] })}</script>`;
    const report = join(folder, "report.html");
    const [head, tail, ...more] = readFileSync("dist/index.html", "utf8").split("<!--headway-data-->");
    expect(more, "the place for the records is one").toEqual([]);
    writeFileSync(report, head + data + tail);
    const { page, complaints, close } = await open(browser, `file://${report}#t=2&speed=0.02`);
    await expect.poll(() => drawn(page)).toEqual(expected(one, 2, 0.02));
    await page.locator('[data-chart="throughput_bps of flows"]').waitFor();
    expect(complaints).toEqual([]);
    await close();
  });
});

describe("everybody can use it:", () => {
  const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
  for (const [name, options] of Object.entries({
    "light, 1280x720": {},
    "dark, 1280x720": { dark: true },
    "a phone": { width: 360, height: 740 },
    "a dark phone": { width: 360, height: 740, dark: true },
  })) {
    it(name, async () => {
      const { page, close } = await open(browser, `${server.url}#t=2&record=0&record=1`, options);
      await drawn(page);
      await page.locator('[data-chart="throughput_bps of flows"]').waitFor();
      await page.evaluate(axe);
      const found = await page.evaluate(async () => {
        const { axe } = window as unknown as {
          axe: { run: () => Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> };
        };
        return (await axe.run()).violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`);
      });
      expect(found).toEqual([]);
      // The page itself never scrolls sideways.
      expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
      await close();
    });
  }

  it("keys have a list, and controls keep theirs", async () => {
    const { page, close } = await open(browser, `${server.url}#t=1`);
    await page.keyboard.press("?");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.press("Escape");
    await page.locator("[data-flow=media] button").focus();
    await page.keyboard.press("Space");
    expect(await page.locator("tr.chosen").count()).toBe(1);
    expect(await page.getByRole("button", { name: "Play" }).count()).toBe(1);
    await page.keyboard.press("Escape");
    expect(await page.locator("tr.chosen").count()).toBe(0);
    await page.keyboard.press("n");
    expect(await time(page)).toBe(1.5);
    await page.keyboard.press("p");
    expect(await time(page)).toBe(0);
    await page.keyboard.press("+");
    await expect.poll(() => page.url()).toMatch(/speed=0\.05(&|$)/);
    await close();
  });
});
