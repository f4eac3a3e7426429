import { describe, expect, it } from "vitest";
import { combine, withSums } from "../../src/lib/combine.ts";
import { groupFlows } from "../../src/lib/flow-groups.ts";
import { chooseEntities, groupLines, type Source } from "../../src/lib/groups.ts";
import type { Summary } from "../../src/lib/types.ts";

const names = ["media", ...Array.from({ length: 9 }, (_, i) => `call${i + 1}`)];
const flows = names.map((name) => ({ name, kind: name === "media" ? "tfrc" : "dccp-3" }));
const source = (name: string): Source => ({
  name,
  summary: { flows, links: [{ name: "a->b", mean_queue_packets: 0 }] } as unknown as Summary,
});
const line = (entity: string, metric: string, value: number) => ({
  entity,
  metric,
  times: Float64Array.of(1),
  values: Float64Array.of(value),
});
const groups = groupFlows(flows);

/** Returns the label and the value of each combined line. */
const combined = (chart: ReturnType<typeof groupLines>[number]) =>
  combine(chart, groups).map(({ line, record }) => [line.entity, line.values[0], record.name]);

describe("the lines of a group", () => {
  const record = source("one");
  const lines = names.flatMap((name, i) => [line(name, "throughput_bps", i), line(name, "rtt_s", i)]);
  const [throughput, sums, rtt] = withSums(groupLines([{ record, lines }]), groups);

  it("are its median and worst: the lowest throughput, the highest round-trip time", () => {
    expect(throughput.id).toBe("throughput_bps of flows");
    expect(combined(throughput)).toEqual([
      ["call, median of 9", 5, "one"],
      ["call, worst (lowest) of 9", 1, "one"],
    ]);
    expect(combined(rtt)).toEqual([
      ["call, median of 9", 5, "one"],
      ["call, worst (highest) of 9", 9, "one"],
    ]);
  });

  it("have a separate chart of their sum if the values add up", () => {
    expect(sums).toMatchObject({ id: "sum of throughput_bps of flows", sums: true });
    expect(combined(sums)).toEqual([["call, sum of 9", 45, "one"]]);
    expect(withSums(groupLines([{ record, lines }]), groupFlows(flows.slice(0, 8)))).toHaveLength(2);
  });

  it("are separate for each run, link and media kind", () => {
    const two = source("two");
    const charts = groupLines([
      { record, lines: ["call1", "call2/audio", "call3/audio"].map((entity, i) => line(entity, "one_way_delay_s", i)) },
      { record: two, lines: [line("call1", "one_way_delay_s", 8), line("a->b/call1", "dropped_packets", 7)] },
    ]);
    expect(combined(charts[0]).filter(([name]) => String(name).includes("median"))).toEqual([
      ["call, median of 1", 0, "one"],
      ["call/audio, median of 2", 1.5, "one"],
      ["call, median of 1", 8, "two"],
    ]);
    expect(combined(charts[1])[0]).toEqual(["a->b/call, median of 1", 7, "two"]);
  });

  it("are shown before those of flows, and the selected flow always", () => {
    const members = [...throughput.members, ...combine(throughput, groups)];
    const many = Array.from({ length: 12 }, (_, i) => ({ ...members[0], line: line(`x${i}`, "throughput_bps", 0) }));
    const { chosen, of } = chooseEntities({ ...throughput, members: [...many, ...members] }, "call7");
    expect(chosen.slice(0, 3)).toEqual(["call7", "call, median of 9", "call, worst (lowest) of 9"]);
    expect([chosen.length, of]).toEqual([12, 24]);
  });
});
