import { describe, expect, it } from "vitest";
import WRITTEN from "../../src/lib/metrics.json" with { type: "json" };
import { metric, rank } from "../../src/lib/metrics.ts";

describe("metrics", () => {
  it("have the unit at the end of their name; metrics without a title are last", () => {
    expect(metric("throughput_bps")).toMatchObject({ title: "Throughput", unit: "b/s" });
    expect(metric("open_sessions").unit).toBe("");
    expect(metric("spacing_s")).toMatchObject({ name: "spacing_s", title: "spacing_s", unit: "s", first: true });
    expect(rank("spacing_s")).toBeGreaterThan(rank(WRITTEN.at(-1)!.name));
  });

  it("of several flows may add up, and the lowest or the highest value is the worst", () => {
    expect(metric("throughput_bps")).toMatchObject({ additive: true, worst: "lowest" });
    expect(metric("loss_packets")).toMatchObject({ additive: true, worst: "highest" });
    expect(metric("cwnd_packets")).toMatchObject({ additive: false, worst: "lowest" });
    expect(metric("one_way_delay_s")).toMatchObject({ additive: false, worst: "highest" });
  });
});
