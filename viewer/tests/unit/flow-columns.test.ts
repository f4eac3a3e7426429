import { describe, expect, it } from "vitest";
import { FLOW_COLUMNS, lossCauses, onTimeRatios } from "../../src/lib/flow-columns.ts";
import type { FlowSummary } from "../../src/lib/types.ts";

const flow = {
  name: "call1",
  kind: "dccp-3",
  sent_packets: 2000,
  lost_packets: { queue_full: 12, early: 0, channel: 3 },
  throughput_bps: 1.5e6,
  goodput_bps: 0,
  loss_ratio: 0.0075,
  one_way_delay_s: { mean: 0.0181, p50: 0.01, p95: 1.25, p99: 2, max: 3 },
  on_time_ratio: { audio: 0.98, video: 0.5, data: null },
} as unknown as FlowSummary;

const cells = (of: FlowSummary) =>
  FLOW_COLUMNS.map(({ title, unit, valueOf, format }) => `${title}: ${format(valueOf(of))} ${unit}`);

describe("the columns of the table of groups", () => {
  it("have the values of the summary in one unit each", () => {
    expect(cells(flow)).toEqual([
      "throughput: 1.5 Mb/s",
      "sent: 2,000 packets",
      "lost: 15 packets",
      "lost: 0.75 %",
      "delay: 18.1 ms",
      "95 %: 1250 ms",
      "on time: 50 %",
      "goodput: 0 Mb/s",
    ]);
  });

  it("have a dash for values that a flow does not have", () => {
    const none = { ...flow, one_way_delay_s: null, on_time_ratio: {}, loss_ratio: null } as unknown as FlowSummary;
    expect(cells(none).filter((cell) => cell.includes("–"))).toEqual([
      "lost: – %",
      "delay: – ms",
      "95 %: – ms",
      "on time: – %",
    ]);
  });

  it("add up only what adds up, and know which value is the worst", () => {
    expect(FLOW_COLUMNS.map(({ additive, worst }) => [additive, worst])).toEqual([
      [true, "lowest"],
      [true, undefined],
      [true, "highest"],
      [false, "highest"],
      [false, "highest"],
      [false, "highest"],
      [false, "lowest"],
      [true, "lowest"],
    ]);
  });
});

describe("the details of flows", () => {
  it("have the causes of losses of all flows", () => {
    expect(lossCauses([flow, flow])).toBe("24 queue full, 6 channel");
    expect(lossCauses([])).toBe("");
  });

  it("have the packets on time of each media kind", () => {
    expect(onTimeRatios(flow)).toBe("audio 98 %, video 50 %, data –");
  });
});
