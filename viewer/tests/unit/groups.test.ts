import { describe, expect, it } from "vitest";
import { chooseEntities, groupLines, isShownByDefault, type Source } from "../../src/lib/groups.ts";
import type { Summary } from "../../src/lib/types.ts";

function record(flows: string[], links: Record<string, number>): Source {
  const summary = {
    flows: flows.map((name) => ({ name })),
    links: Object.entries(links).map(([name, mean_queue_packets]) => ({ name, mean_queue_packets })),
  };
  return { name: "run", summary: summary as Summary };
}

const line = (entity: string, metric: string) => ({
  entity,
  metric,
  times: new Float64Array(),
  values: new Float64Array(),
});

describe("charts", () => {
  const run = record(["media", "a/b"], { "x->y": 3, "y->x": 0 });
  const groups = groupLines([
    {
      record: run,
      lines: [
        line("media", "rtt_s"),
        line("x->y", "throughput_bps"),
        line("media", "throughput_bps"),
        line("x->y/a/b", "dropped_packets"),
        line("x->y", "queue_packets"),
        line("mars", "temperature"),
        line("a/b/audio", "rtt_s"),
      ],
    },
  ]);

  it("are one for each metric and entity type, in the order of the page", () => {
    expect(groups.map((group) => group.id)).toEqual([
      "throughput_bps of flows",
      "throughput_bps of links",
      "queue_packets of links",
      "rtt_s of flows",
      "dropped_packets of flows at links",
      "temperature of others",
    ]);
  });

  it("have the flow and the link of each line", () => {
    expect(groups[4].members[0]).toMatchObject({ flow: "a/b", link: "x->y" });
    expect(groups[1].members[0].flow).toBeUndefined();
    // A media kind of a flow.
    expect(groups[3].members[1]).toMatchObject({ flow: "a/b", line: { entity: "a/b/audio" } });
  });

  it("are shown by default for flows, queues and unknown metrics", () => {
    expect(groups.filter(isShownByDefault).map((group) => group.id)).toEqual([
      "throughput_bps of flows",
      "queue_packets of links",
      "rtt_s of flows",
      "temperature of others",
    ]);
  });
});

describe("a chart with too many lines", () => {
  const flows = Array.from({ length: 40 }, (_, i) => `flow${i}`);
  const links = Object.fromEntries(Array.from({ length: 9 }, (_, i) => [`link${i}`, i]));
  const run = record(flows, links);
  const [ofFlows, ofLinks] = groupLines([
    {
      record: run,
      lines: [
        ...flows.map((flow) => line(flow, "throughput_bps")),
        ...Object.keys(links).map((link) => line(link, "queue_packets")),
      ],
    },
  ]);

  it("shows the first flows and the selected one", () => {
    expect(chooseEntities(ofFlows, null).chosen).toEqual(flows.slice(0, 12));
    const { chosen, of } = chooseEntities(ofFlows, "flow30");
    expect(chosen[0]).toBe("flow30");
    expect(chosen).toHaveLength(12);
    expect(of).toBe(40);
  });

  it("shows the links with the longest queues", () => {
    expect(chooseEntities(ofLinks, null)).toEqual({ chosen: ["link8", "link7", "link6", "link5"], of: 9 });
  });
});
