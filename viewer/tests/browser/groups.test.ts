/** Tests of a record with 30 flows: one of media and 29 that form a group. */
import { join } from "node:path";
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { count, number, quantity, rate } from "../../src/lib/format.ts";
import type { FlowSummary } from "../../src/lib/types.ts";
import { makeDumbbell, type Dumbbell } from "../dumbbell.ts";
import { serve } from "../serve.mjs";
import { sample, serveTwo } from "./fixture.ts";
import { open, violations } from "./harness.ts";

const T = 2;

const served = serveTwo();

async function openThirty(options: { dark?: boolean } = {}) {
  const record = makeDumbbell(join(served.folder, "thirty"), { flows: 30, calls: 30, gap: 100e6 });
  const other = await serve([record.folder]);
  const opened = await open(served.browser, `${other.url}#t=${T}`, { width: 1280, height: 800, ...options });
  await opened.page.locator('[data-chart="throughput_bps of flows"]').waitFor();
  const close = async () => {
    await opened.close();
    await other.close();
  };
  return { ...opened, close, record };
}

/** The group has 29 flows, so that the median is the 15th value. */
const membersOf = (record: Dumbbell) => record.summary.flows.slice(1) as FlowSummary[];
const ascending = (values: number[]) => values.toSorted((a, b) => a - b);

/** Panels with tables of groups, and the names of the group in them. */
const TABLES = { flows: "ftp", "send-queue": "ftp/audio", frames: "ftp/audio" };

const cells = (page: Page, statistic: string, [panel, group] = ["flows", "ftp"]) =>
  page.locator(`#${panel} [data-group="${group}"] [data-statistic=${statistic}] td`).allInnerTexts();
const value = (page: Page, chart: string, label: string) =>
  page.locator(`[data-chart="${chart}"] [data-value="${label}"]`).textContent();

/** Checks that neither the tables nor the page are wider than their places, and that no number is in two lines. */
async function expectFits(page: Page): Promise<void> {
  const { excess, heights, width } = await page.evaluate(() => {
    const tables = [...document.querySelectorAll("main .wide")];
    return {
      excess: tables.map((table) => table.scrollWidth - table.clientWidth),
      heights: tables.flatMap((table) =>
        [...table.querySelectorAll("td")].map((cell) => cell.getBoundingClientRect().height),
      ),
      width: document.documentElement.scrollWidth - innerWidth,
    };
  });
  expect(excess).toEqual([0, 0, 0, 0]);
  expect(width).toBeLessThanOrEqual(0);
  expect(Math.max(...heights)).toBeLessThan(40);
}

describe("a record with 30 flows", () => {
  it("shows a group with the sum, median and worst of the record", async () => {
    const { page, complaints, close, record } = await openThirty();
    const flows = membersOf(record);
    const throughputs = ascending(flows.map((flow) => flow.throughput_bps / 1e6));
    const sent = ascending(flows.map((flow) => flow.sent_packets));
    const lost = ascending(flows.map((flow) => flow.lost_packets.queue_full));
    const ratios = ascending(flows.map((flow) => flow.loss_ratio * 100));
    const total = (values: number[]) => values.reduce((sum, one) => sum + one, 0);
    expect(lost.at(-1)).toBeGreaterThan(lost[0]);
    expect((await cells(page, "sum")).slice(0, 5)).toEqual([
      number(total(throughputs)),
      count(total(sent)),
      count(total(lost)),
      "–",
      "–",
    ]);
    expect((await cells(page, "median")).slice(0, 5)).toEqual([
      number(throughputs[14]),
      count(sent[14]),
      count(lost[14]),
      number(ratios[14]),
      "31",
    ]);
    expect((await cells(page, "worst")).slice(0, 5)).toEqual([
      number(throughputs[0]),
      "–",
      count(lost[28]),
      number(ratios[28]),
      "31",
    ]);

    const samples = ascending(flows.map(({ name }) => sample(record, name, "throughput_bps", T)));
    const chart = "throughput_bps of flows";
    expect(await value(page, chart, "ftp, median of 29")).toBe(rate(samples[14]));
    expect(await value(page, chart, "ftp, worst (lowest) of 29")).toBe(rate(samples[0]));
    expect(await value(page, chart, "media")).toBe(rate(sample(record, "media", "throughput_bps", T)));
    expect(await value(page, `sum of ${chart}`, "ftp, sum of 29")).toBe(rate(total(samples)));
    const losses = flows.map(({ name }) => sample(record, name, "loss_packets", T));
    expect(await value(page, "loss_packets of flows", "ftp, worst (highest) of 29")).toBe(
      quantity(Math.max(...losses), "packets"),
    );
    await expectFits(page);
    expect(complaints).toEqual([]);
    await close();
  });

  for (const dark of [false, true])
    it(`opens and closes the group with the keyboard, ${dark ? "dark" : "light"}`, async () => {
      const { page, complaints, close, record } = await openThirty({ dark });
      const rows = page.locator("#flows [data-group=ftp] tr[data-flow]");
      const button = page.locator("#flows [data-group=ftp] button").first();
      const curves = page.locator('[data-chart="throughput_bps of flows"] li');
      expect(await rows.count()).toBe(0);
      await expect.poll(() => curves.count()).toBe(3);
      expect(await violations(page)).toEqual([]);

      await button.focus();
      await page.keyboard.press("Enter");
      expect(await button.getAttribute("aria-expanded")).toBe("true");
      expect(await rows.count()).toBe(29);
      await expect.poll(() => curves.count()).toBe(12);
      await page.getByText("Not shown: 18.").first().waitFor();
      await expectFits(page);
      expect(await violations(page)).toEqual([]);

      await page.locator("#flows").getByRole("button", { name: "throughput Mb/s" }).click();
      const shown = await rows.evaluateAll((all) => all.map((row) => row.querySelectorAll("td")[1].textContent));
      const throughputs = membersOf(record).map((flow) => flow.throughput_bps / 1e6);
      expect(shown).toEqual(ascending(throughputs).reverse().map(number));

      await button.press("Space");
      expect(await button.getAttribute("aria-expanded")).toBe("false");
      expect(await rows.count()).toBe(0);
      await expect.poll(() => curves.count()).toBe(3);
      expect(complaints).toEqual([]);
      await close();
    });

  it("shows the selected flow of a closed group", async () => {
    const { page, complaints, close } = await openThirty();
    await page.evaluate((t) => (location.hash = `#t=${t}&flow=ftp-17`), T);
    await expect.poll(() => page.locator("#flows [data-group=ftp] tr[data-flow]").count()).toBe(1);
    expect(await page.locator("#flows tr.chosen").first().getAttribute("data-flow")).toBe("ftp-17");
    expect(await page.locator('[data-chart="throughput_bps of flows"] [data-value="ftp-17"]').count()).toBe(1);
    // It has the color of its group until the group is open.
    const colorOf = (row: string) => page.locator(`#flows [data-group=ftp] ${row} line`).getAttribute("stroke");
    expect(await colorOf("tr.chosen")).toBe(await colorOf("[aria-expanded]"));
    await expectFits(page);
    await page.getByRole("group", { name: "Groups of flows" }).getByRole("button", { name: "ftp, 29 flows" }).click();
    await expect.poll(() => page.locator("#flows [data-group=ftp] tr[data-flow]").count()).toBe(29);
    expect(await colorOf("tr.chosen")).not.toBe(await colorOf("[aria-expanded]"));
    expect(complaints).toEqual([]);
    await close();
  });

  it("shows groups of send queues, frames and displayed video", async () => {
    const { page, complaints, close, record } = await openThirty();
    const flows = membersOf(record);
    const queues = flows.map(({ send_queue }) => send_queue!.audio);
    const total = (values: number[]) => values.reduce((sum, one) => sum + one, 0);
    const expired = ascending(queues.map((queue) => queue.expired_packets));
    const waits = ascending(queues.map((queue) => queue.mean_wait_s! * 1000));
    const ofQueues = async (statistic: string) => {
      const found = await cells(page, statistic, ["send-queue", "ftp/audio"]);
      return [found[4], found[5]];
    };
    expect(await ofQueues("sum")).toEqual([count(total(expired)), "–"]);
    expect(await ofQueues("median")).toEqual([count(expired[14]), number(waits[14])]);
    expect(await ofQueues("worst")).toEqual([count(expired[28]), number(waits[28])]);

    const onTime = ascending(flows.map(({ frames }) => frames!.audio.on_time_frames!));
    const ratios = ascending(flows.map(({ frames }) => 100 * frames!.audio.on_time_ratio!));
    const ofFrames = async (statistic: string) => {
      const found = await cells(page, statistic, ["frames", "ftp/audio"]);
      return [found[1], found[5]];
    };
    expect(await ofFrames("sum")).toEqual([count(total(onTime)), "–"]);
    expect(await ofFrames("median")).toEqual([count(onTime[14]), number(ratios[14])]);
    expect(await ofFrames("worst")).toEqual([count(onTime[0]), number(ratios[0])]);

    const frozen = ascending(flows.map(({ display }) => display!.frozen_s!));
    expect((await cells(page, "worst", ["frames", "ftp"]))[2]).toBe(count(frozen[28]));
    await expectFits(page);
    expect(complaints).toEqual([]);
    await close();
  });

  for (const [panel, group] of Object.entries(TABLES))
    it(`opens the group in all tables with the keyboard, from ${panel}`, async () => {
      const { page, complaints, close, record } = await openThirty();
      const rowsIn = (panel: string, group: string) => page.locator(`#${panel} [data-group="${group}"] tr[data-flow]`);
      const button = page.locator(`#${panel} [data-group="${group}"] button`).first();
      await button.press("Enter");
      for (const [panel, group] of Object.entries(TABLES)) expect(await rowsIn(panel, group).count(), panel).toBe(29);
      expect(await button.getAttribute("aria-expanded")).toBe("true");
      await expectFits(page);
      expect(await violations(page)).toEqual([]);

      const names = () =>
        rowsIn("send-queue", "ftp/audio").evaluateAll((all) => all.map((row) => row.getAttribute("data-flow")));
      const inRecord = membersOf(record).map(({ name }) => name);
      expect(await names()).toEqual(inRecord);
      await page.locator("#send-queue").getByRole("button", { name: "expired packets" }).press("Enter");
      expect(await names()).toEqual(inRecord.toReversed());
      await button.press("Space");
      for (const [panel, group] of Object.entries(TABLES)) expect(await rowsIn(panel, group).count(), panel).toBe(0);
      expect(complaints).toEqual([]);
      await close();
    });

  it("selects the flow with the worst value", async () => {
    const { page, complaints, close } = await openThirty();
    const worst = page.locator('#send-queue [data-group="ftp/audio"] [data-statistic=worst] button');
    await worst.nth(2).press("Enter");
    for (const [panel, group] of Object.entries(TABLES))
      expect(
        await page.locator(`#${panel} [data-group="${group}"] tr[data-flow]`).getAttribute("data-flow"),
        panel,
      ).toBe("ftp-29");
    expect(await worst.nth(2).getAttribute("title")).toBe("Flow ftp-29");
    expect(await worst.nth(2).getAttribute("aria-pressed")).toBe("true");
    await expectFits(page);
    expect(await violations(page)).toEqual([]);
    await worst.nth(2).press("Enter");
    await expect.poll(() => page.locator("tr.chosen").count()).toBe(0);
    expect(complaints).toEqual([]);
    await close();
  });
});
