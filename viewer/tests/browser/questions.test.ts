/**
 * Ten questions of a new user, answered only from the contents of the screen, each within three actions. The expected
 * answers are read from the files of the record, or follow from the scenario.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import type { Browser, Locator, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { count, duration, number, rate, timeText, timeRange } from "../../src/lib/format.ts";
import type { FlowSummary, QueueKind } from "../../src/lib/types.ts";
import { launch, open, time } from "./harness.ts";
import { BUILT, rowsOf, run, summaryOf, view } from "./headway.ts";

const SCENARIOS = [
  "viewer/tests/scenarios/starve.toml",
  "viewer/tests/scenarios/smoother.toml",
  // One discards packets that would be late, the other packets that do not fit into the queue.
  "scenarios/conference.toml",
  "scenarios/dccp.toml",
  "viewer/tests/scenarios/calls.toml",
];
const [STARVE, SMOOTHER, CONFERENCE, DCCP, CALLS] = SCENARIOS.keys();
/** Index of the conference with another send queue. */
const FIFO = SCENARIOS.length;

/** Maximum number of actions that answer a question. */
const MAX_ACTIONS = 3;

let browser: Browser;
let root: string;
let folders: string[];
let server: Awaited<ReturnType<typeof view>>;

interface EventRow {
  time: number;
  event: string;
  entity: string;
  flow: string;
  kind: string | null;
  cause: string | null;
  late: number;
}

const events = (record: number): EventRow[] =>
  rowsOf(folders[record], "events.arrow").map(({ time_ns, event, entity, flow, kind, cause, late_ns }) => {
    return { time: Number(time_ns) / 1e9, event, entity, flow, kind, cause, late: Number(late_ns ?? 0) / 1e9 };
  });

const throughput = (record: number, flow: string): [time: number, value: number][] =>
  rowsOf(folders[record], "series.arrow")
    .filter(({ entity, metric }) => entity === flow && metric === "throughput_bps")
    .map(({ time_ns, value }) => [Number(time_ns) / 1e9, value]);

const counted = (number: number, what: string) => `${number} ${what}${number === 1 ? "" : "s"}`;

const percent = (part: number) => `${(100 * part).toFixed(0)} %`;

const whole = (seconds: number) => (1000 * seconds).toFixed(0);

/** Counts clicks, keys, and texts that are entered into a field. */
async function countActions(page: Page): Promise<() => Promise<number>> {
  await page.evaluate(() => {
    const counted = window as unknown as { actions: number };
    counted.actions = 0;
    let field: EventTarget | null = null;
    const count = ({ type, target, isTrusted }: Event) => {
      if (!isTrusted || (type === "input" && target === field)) return;
      field = type === "input" ? target : null;
      counted.actions++;
    };
    for (const type of ["pointerdown", "keydown", "input"]) addEventListener(type, count, true);
  });
  return () =>
    page.evaluate(() => {
      const counted = window as unknown as { actions: number };
      const { actions } = counted;
      counted.actions = 0;
      return actions;
    });
}

async function openRecords(...records: number[]) {
  const place = records.map((record) => `record=${record}`).join("&");
  const opened = await open(browser, `${server.url}#${place}`, { built: true });
  await opened.page.locator("#findings li").first().waitFor();
  const actions = await countActions(opened.page);
  /** Checks the number of actions since the page was opened, or since the last call. */
  const answered = async (expected: number) => {
    expect(await actions(), "actions").toBe(expected);
    expect(expected).toBeLessThanOrEqual(MAX_ACTIONS);
  };
  return { ...opened, answered };
}

/** Returns the findings that contain a text. */
const findings = (page: Page, words: string | RegExp): Locator => page.locator("#findings li", { hasText: words });

/** Checks that a finding is visible without scrolling. */
async function expectVisible(finding: Locator): Promise<void> {
  const isVisible = await finding.evaluate((item) => {
    const { left, top, bottom } = item.getBoundingClientRect();
    return [top + 1, bottom - 1].every((y) => item.contains(document.elementFromPoint(left + 1, y)));
  });
  expect(isVisible, await finding.innerText()).toBe(true);
}

/** Follows the link of a finding and checks the time and the flow. */
async function follow(page: Page, finding: Locator, t: number, flow: string | null): Promise<void> {
  await finding.getByRole("link").click();
  await expect.poll(() => time(page)).toBeCloseTo(t, 3);
  const chosen = page.locator("#flows tr.chosen");
  await expect.poll(() => chosen.count()).toBe(flow === null ? 0 : 1);
  if (flow !== null) expect(await chosen.innerText()).toMatch(new RegExp(`^\\s*${flow}\\s`));
}

describe.skipIf(!BUILT)("questions of a new user", () => {
  beforeAll(async () => {
    root = mkdtempSync(join(tmpdir(), "headway-questions-"));
    folders = [...SCENARIOS.map((scenario) => join(root, basename(scenario, ".toml"))), join(root, "fifo")];
    SCENARIOS.forEach((scenario, i) => run(scenario, folders[i]));
    run(SCENARIOS[CONFERENCE], folders[FIFO], "flow[call].send_queue.kind=fifo");
    server = await view(folders);
    browser = await launch();
  });

  afterAll(async () => {
    await browser?.close();
    await server?.close();
    rmSync(root, { recursive: true, force: true });
  });

  it("when did TCP starve, and why?", async () => {
    // Starving: below a tenth of the fair share, which is 1 Mb/s, or half of it during the flood.
    let longest = { from: 0, to: 0 };
    let from = 0;
    for (const [at, value] of throughput(STARVE, "download")) {
      const share = at > 10 && at <= 20 ? 0.5e6 : 1e6;
      if (value >= 0.1 * share) from = at;
      else if (at - from > longest.to - longest.from) longest = { from, to: at };
    }
    expect(longest.from).toBeGreaterThan(9.9);
    expect(longest.to).toBeGreaterThan(20);
    const downloadEvents = events(STARVE).filter(
      ({ flow, time }) => flow === "download" && time >= longest.from - 1 && time <= longest.to,
    );
    const timeouts = downloadEvents.filter(({ event }) => event === "timeout").length;
    const drops = downloadEvents.filter(({ event, entity }) => event === "drop" && entity === "west->east").length;
    expect(timeouts).toBeGreaterThan(0);
    expect(drops).toBeGreaterThan(0);
    const flood = throughput(STARVE, "flood").filter(([at]) => at > longest.from && at <= longest.to);
    const floodMbps = flood.reduce((sum, [, value]) => sum + value, 0) / flood.length / 1e6;

    const { page, complaints, close, answered } = await openRecords(STARVE);
    const finding = findings(page, `${timeRange(longest.from, longest.to)}, download`);
    const text = await finding.innerText();
    expect(text).toContain("Problem");
    expect(text).toContain("below a tenth of its fair share (500 kb/s at west->east)");
    expect(text).toContain(`${counted(timeouts, "timeout")} after ${counted(drops, "queue-full drop")} at west->east`);
    const [, percent] = text.match(/meanwhile flood used (\d+) % of the link/)!;
    expect(Number(percent)).toBe(Math.round(100 * floodMbps));
    await expectVisible(finding);

    await follow(page, finding, longest.from, "download");
    const curve = page.locator('[data-chart="throughput_bps of flows"]').getByRole("listitem");
    expect(await curve.filter({ hasText: "download" }).innerText()).toMatch(/b\/s/);
    await answered(1);
    expect(complaints).toEqual([]);
    await close();
  });

  it("which queue overflowed?", async () => {
    const { links, flows } = summaryOf(folders[STARVE]);
    const overflowed = links.filter((link) => link.dropped_packets.queue_full > 0);
    expect(overflowed.map((link) => link.name)).toEqual(["west->east"]);
    const drops = events(STARVE).filter(({ event }) => event === "drop");

    const { page, complaints, close, answered } = await openRecords(STARVE);
    const finding = findings(page, "overflowed");
    expect(await finding.count()).toBe(1);
    const text = await finding.innerText();
    expect(text).toContain(timeRange(drops[0].time, drops.at(-1)!.time));
    expect(text).toContain(
      `queue of west->east overflowed: it dropped ${counted(overflowed[0].dropped_packets.queue_full, "packet")}`,
    );
    expect(text).toContain("of flood");
    await expectVisible(finding);
    for (const flow of flows) {
      const row = page.getByRole("row").filter({ has: page.getByRole("button", { name: flow.name, exact: true }) });
      expect(await row.innerText()).toContain(`${count(flow.lost_packets.queue_full)} queue full`);
    }

    await follow(page, finding, drops[0].time, null);
    const first = page.locator("#events li").first();
    await expect.poll(() => first.innerText()).toContain(`${timeText(drops[0].time)}: drop of `);
    expect(await first.innerText()).toContain("at west->east (queue full)");
    await answered(1);
    expect(complaints).toEqual([]);
    await close();
  });

  for (const record of [CONFERENCE, DCCP])
    it(`which packets were dropped before sending, and how late were they (${SCENARIOS[record]})?`, async () => {
      const { interval, flows } = summaryOf(folders[record]);
      const flow = flows.find(({ send_queue }) => send_queue !== undefined)!;
      const all = events(record).filter(
        ({ event, time }) => event === "unsent" && time >= interval.from && time <= interval.to,
      );
      const kinds = [...new Set(all.map(({ kind }) => kind!))];
      expect(kinds.length).toBeGreaterThan(0);

      const { page, complaints, close, answered } = await openRecords(record);
      expect(await findings(page, "discarded").count()).toBe(kinds.length);
      for (const kind of kinds) {
        const queue = flow.send_queue![kind];
        const unsent = all.filter((row) => row.kind === kind);
        const finding = findings(page, `${flow.name} discarded ${counted(unsent.length, "packet")} of ${kind} `);
        const text = await finding.innerText();
        const causes = {
          expired: "would have arrived too late",
          refused: "found the queue full",
          pushed_out: "made room for more urgent packets",
        };
        for (const [cause, words] of Object.entries(causes)) {
          const packets = unsent.filter((row) => row.cause === cause).length;
          expect(text.includes(words), words).toBe(packets > 0);
          if (packets > 0) expect(text).toContain(`${packets} ${words}`);
        }
        const most = Math.max(...unsent.map(({ late }) => late));
        expect(text.includes("past their deadline")).toBe(most > 0);
        if (most > 0)
          expect(text).toContain(`late by ${whole(queue.mean_lateness_s!)} ms on average, at most ${whole(most)} ms`);
        // The table has the same values with more digits. It has no column without values.
        const valuesOf = (queue: QueueKind) => [
          ...[queue.written_packets, queue.sent_packets],
          ...[queue.refused_packets, queue.pushed_out_packets, queue.expired_packets],
          ...[queue.mean_wait_s, queue.max_wait_s].map((wait) => wait && 1000 * wait),
          queue.late_packets,
          queue.mean_lateness_s && 1000 * queue.mean_lateness_s,
        ];
        const texts = valuesOf(queue).map((value, i) => ([5, 6, 8].includes(i) ? number(value) : count(value)));
        const isPresent = (i: number) => Object.values(flow.send_queue!).some((one) => valuesOf(one)[i] !== null);
        const row = page.locator(`#send-queue [data-flow=${flow.name}][data-kind=${kind}]`);
        expect(await row.getByRole("cell").allInnerTexts()).toEqual([
          `${flow.name}/${kind}`,
          ...texts.filter((_, i) => isPresent(i)),
        ]);

        await follow(page, finding, unsent[0].time, flow.name);
        // Packets that were discarded at the same time are listed in reverse order.
        const newest = all.findLast(({ time }) => time === unsent[0].time)!;
        const late = newest.late > 0 ? `, ${duration(newest.late)} late` : "";
        await expect
          .poll(() => page.locator("#send-queue li").first().innerText())
          .toMatch(
            new RegExp(`^${timeText(newest.time)}: ${flow.name} ${newest.kind}, [\\d,]+ B: ${newest.cause}${late}$`),
          );
        await answered(1);
        await page.keyboard.press("Escape");
        await answered(1);
      }
      expect(complaints).toEqual([]);
      await close();
    });

  it("which of two controllers was smoother?", async () => {
    const flows = summaryOf(folders[SMOOTHER]).flows as (FlowSummary & { rate_cov: number })[];
    const [smooth, rough] = flows.toSorted((a, b) => a.rate_cov - b.rate_cov);
    const { page, complaints, close, answered } = await openRecords(SMOOTHER);
    const finding = findings(page, "smoother");
    expect(await finding.innerText()).toContain(
      `${smooth.kind} was smoother than ${rough.kind}: its rate varied by ${smooth.rate_cov.toFixed(2)} of its mean, ` +
        `the other's by ${rough.rate_cov.toFixed(2)}`,
    );
    await expectVisible(finding);
    await follow(page, finding, 0, smooth.name);
    await answered(1);
    expect(complaints).toEqual([]);
    await close();
  });

  it("how much of the allowed rate did a flow send?", async () => {
    const rates = rowsOf(folders[DCCP], "series.arrow").filter(({ metric }) =>
      ["sending_rate_bps", "allowed_rate_bps"].includes(metric as string),
    );
    const flow = rates.find(({ metric }) => metric === "sending_rate_bps")!.entity as string;
    const { page, complaints, close } = await openRecords(DCCP);
    await page.evaluate((flow) => (location.hash = `t=3&flow=${flow}`), flow);
    const shown = (title: string) => page.locator(`[data-chart="rates"] [data-value="${title}"]`).textContent();
    for (const [title, name] of [
      ["Sending rate", "sending_rate_bps"],
      ["Allowed rate", "allowed_rate_bps"],
    ]) {
      const at = rates.findLast((row) => row.entity === flow && row.metric === name && Number(row.time_ns) <= 3e9)!;
      await expect.poll(() => shown(title)).toBe(rate(at.value as number));
    }
    expect(complaints).toEqual([]);
    await close();
  });

  it("in which of two runs did more of a call arrive on time, and in which was it smoother?", async () => {
    const [sure, fifo] = [CONFERENCE, FIFO].map((record) => {
      const call = summaryOf(folders[record]).flows[0] as FlowSummary & { rate_cov: number };
      return { ...call, name: basename(folders[record]) };
    });
    const { page, complaints, close, answered } = await openRecords(CONFERENCE, FIFO);
    const finding = page.getByRole("list", { name: "Findings between these runs" }).getByRole("listitem");
    const [smooth, rough] = sure.rate_cov < fifo.rate_cov ? [sure, fifo] : [fifo, sure];
    const smoother = finding.filter({ hasText: /call was smoother/ });
    expect(await smoother.innerText()).toMatch(
      new RegExp(`call was smoother in ${smooth.name} .* than in ${rough.name} .*${smooth.rate_cov.toFixed(2)}`),
    );
    for (const kind of ["audio", "video"]) {
      const ratio = ({ on_time_ratio }: FlowSummary) => on_time_ratio[kind]!;
      const [best, worst] = ratio(sure) > ratio(fifo) ? [sure, fifo] : [fifo, sure];
      expect(await finding.filter({ hasText: `more of the ${kind} of call` }).innerText()).toMatch(
        new RegExp(
          `arrived on time in ${best.name} .* than in ${worst.name} .*: ${percent(ratio(best))}, compared with ${percent(ratio(worst))}$`,
        ),
      );
    }
    await expectVisible(smoother);
    await answered(0);
    expect(complaints).toEqual([]);
    await close();
  });

  it("which flow is the slowest, and which the most delayed?", async () => {
    const flows = summaryOf(folders[STARVE]).flows as FlowSummary[];
    const by = (key: (flow: FlowSummary) => number) =>
      flows.toSorted((a, b) => key(a) - key(b)).map(({ name }) => name);
    const { page, complaints, close, answered } = await openRecords(STARVE);
    const rows = () =>
      page.locator("#flows tbody tr[data-flow]").evaluateAll((all) => all.map((row) => row.getAttribute("data-flow")));
    const heading = page.locator("#flows").getByRole("columnheader", { name: /throughput/ });
    await heading.getByRole("button").click();
    expect(await rows()).toEqual(by(({ throughput_bps }) => -throughput_bps));
    expect(await heading.getAttribute("aria-sort")).toBe("descending");
    await heading.getByRole("button").click();
    expect(await rows()).toEqual(by(({ throughput_bps }) => throughput_bps));
    await page.locator("#flows").getByRole("button", { name: "delay" }).click();
    expect(await rows()).toEqual(by(({ one_way_delay_s }) => -(one_way_delay_s?.mean ?? 0)));
    await answered(3);
    expect(complaints).toEqual([]);
    await close();
  });

  it("when did TCP time out?", async () => {
    const timeouts = events(STARVE).filter(({ event }) => event === "timeout");
    const { page, complaints, close, answered } = await openRecords(STARVE);
    const panel = page.locator("#events");
    await panel.getByRole("searchbox").fill("timeout download");
    await panel.getByText(`${count(timeouts.length)} of `).waitFor();
    // The list has the last events before the time of the page.
    await page.keyboard.press("Escape");
    await page.locator("body").press("End");
    await expect.poll(() => panel.getByRole("listitem").first().innerText()).toContain(timeText(timeouts.at(-1)!.time));
    await answered(3);
    await panel.getByRole("searchbox").fill("no such event");
    expect(await panel.innerText()).toContain("No event matches the search.");
    expect(complaints).toEqual([]);
    await close();
  });

  it("how long did audio and video of a call take?", async () => {
    const { page, complaints, close, answered } = await openRecords(CONFERENCE);
    const chart = page.locator('[data-chart="one_way_delay_s of flows"]');
    for (const label of ["call", "call/audio", "call/video"])
      expect(await chart.locator(`[data-value="${label}"]`).innerText()).toMatch(/ m?s$|–/);
    await chart.getByRole("button", { name: /^Enlarge/ }).click();
    await expect.poll(async () => (await chart.locator("canvas").boundingBox())!.height).toBeGreaterThan(400);
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      chart.getByRole("button", { name: /as SVG$/ }).click(),
    ]);
    const svg = readFileSync(await download.path(), "utf8");
    for (const text of ["One-way delay of flows", "Time (s)", "call/audio", "call/video"]) expect(svg).toContain(text);
    await answered(2);
    expect(complaints).toEqual([]);
    await close();
  });

  it("which of thirty calls froze the longest, and why were its packets not sent?", async () => {
    const calls = (summaryOf(folders[CALLS]).flows as FlowSummary[]).filter(({ name }) => name.startsWith("call"));
    const worst = calls.toSorted((a, b) => b.display!.frozen_s! - a.display!.frozen_s!)[0];
    const { displayed_frames, freezes, frozen_s, longest_gap_s } = worst.display!;
    const { page, complaints, close, answered } = await openRecords(CALLS);
    const table = page.getByRole("region", { name: "Table of displayed video" });
    const heading = await table.getByRole("columnheader").allInnerTexts();
    const column = heading.findIndex((text) => text.startsWith("frozen"));
    await table.locator("[data-statistic=worst] > *").nth(column).getByRole("button").click();
    const rowOf = async (row: Locator) => (await row.getByRole("cell").allInnerTexts()).map((text) => text.trim());
    expect(await rowOf(table.locator("tr.chosen"))).toEqual([
      worst.name,
      count(displayed_frames),
      count(freezes),
      count(frozen_s),
      number(1000 * longest_gap_s!),
    ]);
    // The other tables show the row of this call, too.
    for (const [kind, queue] of Object.entries(worst.send_queue!)) {
      const row = page.locator(`#send-queue tr[data-flow=${worst.name}][data-kind=${kind}]`);
      expect((await rowOf(row)).slice(1, 6)).toEqual(
        [
          queue.written_packets,
          queue.sent_packets,
          queue.refused_packets,
          queue.pushed_out_packets,
          queue.expired_packets,
        ].map(count),
      );
    }
    await page.locator("body").press("End");
    const last = events(CALLS).findLast(
      ({ event, flow }) => ["unsent", "late"].includes(event) && flow === worst.name,
    )!;
    await expect
      .poll(() => page.locator("#send-queue li").first().innerText())
      .toContain(`${timeText(last.time)}: ${last.flow} ${last.kind}, `);
    expect(await page.locator("#send-queue li").first().innerText()).toContain(`: ${last.cause}`);
    expect(complaints).toEqual([]);
    await answered(2);
    await close();
  });

  it("did the channel or a full queue lose the packets of calls, how many, and when?", async () => {
    const drops = events(CALLS).filter(({ event, kind }) => event === "drop" && kind !== "feedback");
    const until = (cause: string, time: number, flow?: string) =>
      drops.filter((drop) => drop.cause === cause && drop.time <= time && (flow ?? drop.flow) === drop.flow).length;
    const full = drops.filter(({ cause }) => cause === "queue_full");
    const channel = drops.filter(({ cause }) => cause === "channel");
    // The channel of the scenario loses packets before the flood begins at 12 s, and the queue drops them after that.
    expect(channel.at(-1)!.time).toBeLessThan(12);
    expect(full[0].time).toBeGreaterThan(12);

    const { page, complaints, close, answered } = await openRecords(CALLS);
    const lost = (cause: string) => page.locator(`[data-chart="lost packets by cause"] [data-value="${cause}"]`);
    const expectLost = async (time: number, flow?: string) => {
      await expect.poll(() => lost("channel").innerText()).toBe(count(until("channel", time, flow)));
      await expect.poll(() => lost("queue full").innerText()).toBe(count(until("queue_full", time, flow)));
    };
    const finding = findings(page, "overflowed");
    expect(await finding.innerText()).toContain(timeRange(full[0].time, full.at(-1)!.time));
    await follow(page, finding, full[0].time, null);
    await expectLost(full[0].time);
    expect(await lost("channel").innerText()).toBe(count(channel.length));

    await page.locator("#flows [data-statistic=worst] button[title]").nth(1).click();
    const flow = (await page.locator("#flows tr.chosen").first().getAttribute("data-flow"))!;
    const lostOf = ({ lost_packets }: FlowSummary) => Object.values(lost_packets).reduce((sum, one) => sum + one, 0);
    const calls = (summaryOf(folders[CALLS]).flows as FlowSummary[]).filter(({ name }) => name.startsWith("call"));
    expect(flow).toBe(calls.toSorted((a, b) => lostOf(b) - lostOf(a))[0].name);
    await page.locator("body").press("End");
    await expectLost(Infinity, flow);
    expect(complaints).toEqual([]);
    await answered(3);
    await close();
  });
});
