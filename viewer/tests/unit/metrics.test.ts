import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { KNOWN, metric, rank } from "../../src/lib/metrics.ts";

describe("metrics", () => {
  it("with a heading are those that Headway writes, each once", () => {
    const source = readFileSync(new URL("../../../crates/simulator/record/src/series/mod.rs", import.meta.url), "utf8");
    const [, constants] = source.match(/pub mod metric \{(.*?)\n\}/s)!;
    const written = [...constants.matchAll(/: &str = "(\w+)";/g)].map(([, name]) => name);
    expect(KNOWN.map(({ name }) => name).sort()).toEqual(written.sort());
  });

  it("have the unit that their name ends in, and without a heading come last under their name", () => {
    expect(metric("throughput_bps")).toMatchObject({ title: "Throughput", unit: "bit/s" });
    expect(metric("open_sessions").unit).toBe("");
    expect(metric("spacing_s")).toEqual({ name: "spacing_s", title: "spacing_s", unit: "s", first: true });
    expect(rank("spacing_s")).toBeGreaterThan(rank(KNOWN.at(-1)!.name));
  });
});
