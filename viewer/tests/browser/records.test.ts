/** Tests with records of `headway`: the page shows the values of the record, which the tests read independently. */
import { tableFromIPC } from "@uwdata/flechette";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { count, quantity, rate, share } from "../../src/lib/format.ts";
import type { Unit } from "../../src/lib/metrics.ts";
import { serve } from "../serve.mjs";
import { drawn, launch, open, time } from "./harness.ts";
import { BUILT, file, rowsOf, run, summaryOf } from "./headway.ts";

const SCENARIOS = ["demo", "red", "conference", "tfrc"];
const FALL_S = 0.8;

let browser: Browser;
let folder: string;
let server: Awaited<ReturnType<typeof serve>>;

const place = (scenario: string) => join(folder, scenario);

/** Returns the latest sample of an entity at a time, by a linear search. */
function sample(scenario: string, entity: string, metric: string, seconds: number): number {
  const found = rowsOf(place(scenario), "series.arrow").findLast(
    (row) => row.entity === entity && row.metric === metric && Number(row.time_ns) / 1e9 <= seconds,
  );
  return Number(found!.value);
}

describe.skipIf(!BUILT)("a record of headway", () => {
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "headway-records-"));
    for (const scenario of SCENARIOS) run(`scenarios/${scenario}.toml`, place(scenario));
    server = await serve(SCENARIOS.map(place));
    browser = await launch();
  }, 120_000);

  afterAll(async () => {
    await browser?.close();
    await server?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  for (const [id, scenario] of SCENARIOS.entries()) {
    it(`of ${scenario}: flows, samples, frames and send queues are on the page`, async () => {
      const { page, complaints, close } = await open(browser, `${server.url}#t=12.34&record=${id}`);
      const cellsOf = (panel: string, flow: string, kind: string) =>
        page.locator(`#${panel} [data-flow="${flow}"][data-kind="${kind}"] td`).allTextContents();
      for (const flow of summaryOf(place(scenario)).flows) {
        const row = page.locator(`#flows tr[data-flow="${flow.name}"]`);
        expect(await row.locator("[data-column=throughput_bps]").textContent()).toBe(rate(flow.throughput_bps));
        expect(await row.textContent()).toContain(`(${share(flow.loss_ratio)})`);
        for (const [kind, frames] of Object.entries(flow.frames ?? {})) {
          const cells = await cellsOf("frames", flow.name, kind);
          expect(cells[1]).toBe(count(frames.written_frames));
          expect(cells[frames.on_time_frames === undefined ? 2 : 4]).toBe(
            count(frames.written_frames - frames.complete_frames),
          );
        }
        for (const [kind, queue] of Object.entries(flow.send_queue ?? {})) {
          const cells = await cellsOf("send-queue", flow.name, kind);
          expect(cells.slice(1, 6)).toEqual(
            [
              queue.written_packets,
              queue.sent_packets,
              queue.refused_packets,
              queue.pushed_out_packets,
              queue.expired_packets,
            ].map(count),
          );
        }
      }
      await page.locator("[data-chart]").first().waitFor();
      const units: Record<string, Unit> = {
        throughput_bps: "b/s",
        rtt_s: "s",
        cwnd_packets: "packets",
        loss_event_ratio: "share",
      };
      for (const [metric, unit] of Object.entries(units)) {
        const values = page.locator(`[data-chart="${metric} of flows"] [data-value]`);
        for (const value of await values.all()) {
          const flow = (await value.getAttribute("data-value"))!;
          expect(await value.textContent(), `${metric} of ${flow}`).toBe(
            quantity(sample(scenario, flow, metric, 12.34), unit),
          );
        }
      }
      expect(complaints).toEqual([]);
      await close();
    });

    it(`of ${scenario}: every packet is drawn at its position`, async () => {
      const table = tableFromIPC(new Uint8Array(file(place(scenario), "packets.arrow")));
      const index = JSON.parse(file(place(scenario), "packets.index.json").toString());
      const batches: { base_ns: number; tick_ns: number; rows: number }[] = index.batches;
      const metadata = table.schema.metadata!;
      const links: { delay_ns: number }[] = JSON.parse(metadata.get("links")!);
      const fates: string[] = JSON.parse(metadata.get("fates")!);
      const places = batches.flatMap((batch) => new Array<typeof batch>(batch.rows).fill(batch));
      const rows = table.toArray();
      expect(rows.length).toBe(places.length);

      const { page, complaints, close } = await open(browser, `${server.url}#t=10&record=${id}&speed=0.02`);
      for (const at of [1.5, 7.77, 12.345678, 21.03]) {
        const expected = { flying: 0, waiting: 0, falling: 0 };
        for (let i = 0; i < rows.length; i++) {
          const { base_ns, tick_ns: tick } = places[i];
          const since = at * 1e9 - base_ns - Number(rows[i].offered) * tick;
          if (since < 0) continue;
          const wait = Number(rows[i].wait) * tick;
          const transmission = Number(rows[i].transmission) * tick;
          const fate = fates[Number(rows[i].fate)];
          const propagation = Number(rows[i].propagation) * tick;
          const remainingDelay = fate === "in_flight" ? links[Number(rows[i].link)].delay_ns : 0;
          const total = wait + transmission + Math.max(propagation, remainingDelay);
          const gone = fate === "host" || transmission > 0 ? total : wait;
          if (since < wait) expected.waiting++;
          else if (fate === "delivered" || fate === "in_flight" || since < gone)
            expected.flying += Number(since < total);
          else expected.falling += Number(since - gone < FALL_S * 0.02 * 1e9);
        }
        await page.evaluate((t) => (location.hash = `#t=${t}`), at);
        await expect.poll(() => time(page)).toBeCloseTo(at, 3);
        await expect.poll(() => drawn(page), { message: `at ${at} s` }).toEqual(expected);
      }
      expect(complaints).toEqual([]);
      await close();
    });
  }

  it("shares charts with another record", async () => {
    const { page, complaints, close } = await open(browser, `${server.url}#t=20&record=0&record=1`);
    for (const scenario of ["demo", "red"]) {
      const value = page.locator(`[data-chart="throughput_bps of flows"] [data-value="video in ${scenario}"]`);
      await expect.poll(() => value.textContent()).toBe(rate(sample(scenario, "video", "throughput_bps", 20)));
    }
    expect(complaints).toEqual([]);
    await close();
  });
});
