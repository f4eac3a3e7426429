/** Tests of missing and damaged data, of reports, and of accessibility. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { packetsFile, seriesFile } from "../arrow-file.ts";
import { makeDumbbell } from "../dumbbell.ts";
import { serve, KILLED, RUNNING } from "../serve.mjs";
import { expected, sample, serveTwo } from "./fixture.ts";
import { drawn, open, time, violations } from "./harness.ts";

const served = serveTwo();

describe("a page with missing data", () => {
  it("explains how to create a record if there is none", async () => {
    const none = await serve([]);
    const { page, complaints, close } = await open(served.browser, none.url, { wait: false });
    await page.getByText("No record found").waitFor();
    expect(await page.getByText("headway run scenarios/demo.toml").count()).toBe(1);
    expect(complaints).toEqual([]);
    await close();
    await none.close();
  });

  it("explains which address to open if the token is wrong", async () => {
    const guarded = await serve([served.one.folder], { token: "c0ffee" });
    const { page, close } = await open(served.browser, guarded.url.replace("c0ffee", "bad"), { wait: false });
    await page.getByText("Open the address that `headway view` printed").waitFor();
    await close();
    const right = await open(served.browser, guarded.url);
    expect(right.complaints).toEqual([]);
    await drawn(right.page);
    await right.close();
    await guarded.close();
  });

  it("shows the data of an older record and how to get the rest", async () => {
    const old = join(served.folder, "old");
    mkdirSync(old);
    for (const file of ["summary.json", "series.arrow"])
      writeFileSync(join(old, file), readFileSync(join(served.one.folder, file)));
    const other = await serve([old]);
    const { page, complaints, close } = await open(served.browser, `${other.url}#t=1.2`);
    await page.getByText("--trace packets").waitFor();
    await expect
      .poll(() => drawn(page))
      .toEqual({
        flying: 0,
        waiting: sample(served.one, "west->east", "queue_packets", 1.2),
        falling: 0,
      });
    expect(await page.getByText("This record has no times of discarded packets").count()).toBe(1);
    await page.getByText("No findings.").waitFor();
    expect(complaints).toEqual([]);
    await close();
    await other.close();
  });

  it("waits for a run in progress, then goes to the place in the address", async () => {
    const late = makeDumbbell(join(served.folder, "late"));
    const summary = join(late.folder, "summary.json");
    const text = readFileSync(summary);
    rmSync(summary);
    const other = await serve([late.folder, served.one.folder]);
    const { page, complaints, close } = await open(served.browser, `${other.url}#record=0&t=2.5&flow=media`, {
      wait: false,
    });
    await page.getByText("The run of late has not finished.").waitFor();
    writeFileSync(summary, text);
    await page.locator("#flows table").waitFor();
    expect(await page.getByText("has not finished").count()).toBe(0);
    await expect.poll(() => time(page)).toBe(2.5);
    expect(await page.locator("#flows tr.chosen").getAttribute("data-flow")).toBe("media");
    expect(await page.title()).toBe("late – Headway");
    expect(complaints).toEqual([]);
    await close();
    await other.close();
  });

  it("shows the data of a run in progress, follows it, and stays at an earlier time", async () => {
    const growing = join(served.folder, "growing");
    mkdirSync(growing);
    writeFileSync(join(growing, RUNNING), "");
    const writeUntil = (until: number, format: "file" | "stream") => {
      const samples = served.one.samples.filter(([at]) => at <= until);
      writeFileSync(join(growing, "series.arrow"), seriesFile(samples, format));
      const interval = { from: 0, to: until };
      writeFileSync(join(growing, "summary.json"), JSON.stringify({ ...served.one.summary, interval }));
    };
    writeUntil(1, "stream");
    const other = await serve([growing]);
    const { page, complaints, close } = await open(served.browser, other.url);
    await page.getByText("growing is still running").waitFor();
    await expect.poll(() => time(page)).toBe(1);
    const shown = async () => (await page.locator("#series").textContent()) ?? "";
    const atFirst = await shown();
    expect(await page.getByText("Findings are available when the run ends.").count()).toBe(1);
    // The page follows the end of the run.
    writeUntil(2, "stream");
    await expect.poll(() => time(page)).toBe(2);
    await expect.poll(shown).not.toBe(atFirst);
    // At an earlier time, the page does not move.
    await page.keyboard.press("Home");
    rmSync(join(growing, RUNNING));
    writeUntil(4, "file");
    await expect.poll(() => page.getByText("is still running").count()).toBe(0);
    expect(await time(page)).toBe(0);
    await page.getByText("No findings.").waitFor();
    expect(complaints).toEqual([]);
    await close();
    await other.close();
  });

  it("shows the data of a killed run, and the whole record after the run is repeated", async () => {
    const folder = makeDumbbell(join(served.folder, "cut")).folder;
    for (const marker of [RUNNING, KILLED]) writeFileSync(join(folder, marker), "");
    const other = await serve([folder]);
    const { page, complaints, close } = await open(served.browser, other.url);
    await page.getByText("The run of cut was killed. The page shows the data that it left.").waitFor();
    expect(await page.locator("#flows tr[data-flow=media]").count()).toBe(1);
    for (const marker of [RUNNING, KILLED]) rmSync(join(folder, marker));
    await expect.poll(() => page.getByText("was killed").count()).toBe(0);
    expect(complaints).toEqual([]);
    await close();
    await other.close();
  });

  it("reloads a record after its run is repeated", async () => {
    const folder = makeDumbbell(join(served.folder, "again")).folder;
    const other = await serve([folder]);
    const { page, complaints, close } = await open(served.browser, other.url);
    expect(await page.locator("#flows tr[data-flow]").count()).toBe(2);
    makeDumbbell(folder, { flows: 3 });
    await expect.poll(() => page.locator("#flows tr[data-flow]").count(), { timeout: 10_000 }).toBe(3);
    expect(complaints).toEqual([]);
    await close();
    await other.close();
  });

  it("keeps the data of a run in progress after its command has ended", async () => {
    const folder = makeDumbbell(join(served.folder, "gone")).folder;
    writeFileSync(join(folder, RUNNING), "");
    const other = await serve([folder]);
    const { page, close } = await open(served.browser, other.url);
    await page.getByText("gone is still running").waitFor();
    await other.close();
    await page.getByText("The server does not answer").waitFor();
    expect(await page.locator("#flows tr[data-flow=media]").count()).toBe(1);
    await close();
  });

  it("shows other records while a run is in progress", async () => {
    const late = join(served.folder, "never");
    mkdirSync(late);
    const other = await serve([late, served.one.folder]);
    const { page, complaints, close } = await open(served.browser, `${other.url}#record=0&record=1`);
    await page.getByText("The run of never has not finished.").waitFor();
    expect(await page.title()).toBe("one – Headway");
    await page.locator(".runs summary").click();
    await page.getByRole("checkbox", { name: "never" }).uncheck();
    await expect.poll(() => page.getByText("has not finished").count()).toBe(0);
    expect(complaints).toEqual([]);
    await close();
    await other.close();
  });

  it("names damaged files and shows the rest", async () => {
    const damaged = join(served.folder, "damaged");
    mkdirSync(damaged);
    writeFileSync(join(damaged, "summary.json"), readFileSync(join(served.one.folder, "summary.json")));
    writeFileSync(join(damaged, "series.arrow"), "no arrow");
    const broken = join(served.folder, "broken");
    mkdirSync(broken);
    writeFileSync(join(broken, "summary.json"), "{");
    const other = await serve([damaged, broken]);
    const { page, close } = await open(served.browser, `${other.url}#record=0&record=1`);
    await page
      .getByText("series.arrow of damaged cannot be read (it is damaged or not an Arrow file). Run the scenario again.")
      .first()
      .waitFor();
    await page.getByText("summary.json of broken is not valid JSON").waitFor();
    expect(await page.locator("#flows [data-flow=media]").count()).toBe(1);
    await close();
    await other.close();
  });
});

describe("a page with inconsistent packets", () => {
  it("shows an error and the rest of the record", async () => {
    const odd = makeDumbbell(join(served.folder, "odd"));
    const { arrow, index } = packetsFile(odd.hops, { ...odd.meta, links: odd.meta.links.slice(0, 1) });
    writeFileSync(join(odd.folder, "packets.arrow"), arrow);
    writeFileSync(join(odd.folder, "packets.index.json"), index);
    const other = await serve([odd.folder]);
    const { page, close } = await open(served.browser, `${other.url}#t=1`);
    await page.getByText("packets.arrow of odd cannot be read (a packet refers to an unknown link)").waitFor();
    await page.locator('[data-chart="throughput_bps of flows"]').waitFor();
    await close();
    await other.close();
  });
});

describe("a report", () => {
  const NAMES = ["summary.json", "series.arrow", "events.arrow", "packets.arrow", "packets.index.json"];

  function report(names: string[], between?: object): string {
    const records = [served.one, served.two].map(({ folder }, i) => {
      const files = names.map((name) => [name, readFileSync(join(folder, name)).toString("base64")]);
      return { id: String(i), name: ["one", "two"][i], files: Object.fromEntries(files) };
    });
    const data = `<script type="application/json" id="headway-data">${JSON.stringify({ records, between })}</script>`;
    const [head, tail, ...more] = readFileSync("dist/index.html", "utf8").split("<!--headway-data-->");
    expect(more, "one placeholder for the records").toEqual([]);
    const file = join(served.folder, "report.html");
    writeFileSync(file, head + data + tail);
    return `file://${file}`;
  }

  it("is the page with embedded records, opened from the disk", async () => {
    const { page, complaints, close } = await open(
      served.browser,
      `${report([...NAMES, "findings.json"])}#t=2&speed=0.02&record=0`,
    );
    await expect.poll(() => drawn(page)).toEqual(expected(served.one, 2, 0.02));
    await page.locator('[data-chart="throughput_bps of flows"]').waitFor();
    await page.getByRole("link", { name: "Problem, 1.5 to 2.0 s, media" }).click();
    await expect.poll(() => time(page)).toBe(1.5);
    expect(complaints).toEqual([]);
    await close();
  });

  it("shows findings between several runs", async () => {
    const found = { time_from_s: 0, time_to_s: 4, severity: "note", subject: "media", text: "two was smoother" };
    const address = report([...NAMES, "findings.json"], { "0,1": [found] });
    const { page, complaints, close } = await open(served.browser, `${address}#record=0&record=1`);
    await page.getByRole("list", { name: "Findings between these runs" }).getByText(found.text).waitFor();
    expect(complaints).toEqual([]);
    await close();
  });

  it("of an older version has no findings", async () => {
    const { page, complaints, close } = await open(served.browser, `${report(NAMES)}#record=0&record=1`);
    await expect.poll(() => page.getByText("Findings were not computed for this record.").count()).toBe(2);
    expect(await page.getByText("Between these runs").count()).toBe(0);
    expect(complaints).toEqual([]);
    await close();
  });
});

describe("accessibility:", () => {
  for (const [name, options] of Object.entries({
    "light, 1280x720": {},
    "dark, 1280x720": { dark: true },
    "a phone": { width: 360, height: 740 },
    "a dark phone": { width: 360, height: 740, dark: true },
  })) {
    it(name, async () => {
      const { page, close } = await open(served.browser, `${served.both}#t=2&record=0&record=1`, options);
      await drawn(page);
      await page.locator('[data-chart="throughput_bps of flows"]').waitFor();
      expect(await violations(page)).toEqual([]);
      // The page does not scroll sideways.
      expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
      await close();
    });
  }

  it("keyboard shortcuts have a list and do not override controls", async () => {
    const { page, close } = await open(served.browser, `${served.url}&t=1`);
    await page.locator("#findings li").first().waitFor();
    await page.keyboard.press("?");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.press("Escape");
    await page.locator("#flows [data-flow=media] button").focus();
    await page.keyboard.press("Space");
    expect(await page.locator("#flows tr.chosen").count()).toBe(1);
    expect(await page.getByRole("button", { name: "Play" }).count()).toBe(1);
    await page.keyboard.press("Escape");
    expect(await page.locator("#flows tr.chosen").count()).toBe(0);
    await page.keyboard.press("n");
    expect(await time(page)).toBe(1.5);
    await page.keyboard.press("p");
    expect(await time(page)).toBe(0);
    await page.keyboard.press("+");
    await expect.poll(() => page.url()).toMatch(/speed=0\.05(&|$)/);
    await close();
  });
});
