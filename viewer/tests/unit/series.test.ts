import { describe, expect, it } from "vitest";
import { align, readSeries, valueAt } from "../../src/lib/series.ts";
import { seriesFile } from "../arrow-file.ts";

describe("series.arrow", () => {
  const lines = readSeries(
    seriesFile([
      [0.1, "media", "rtt_s", 0.05],
      [0.1, "ftp", "cwnd_packets", 2],
      [0.2, "media", "rtt_s", 0.06],
      [0.2, "ftp", "cwnd_packets", 4],
      [0.3, "ftp", "cwnd_packets", 8],
    ]),
  );

  it("is split into lines", () => {
    expect(lines.map(({ entity, metric }) => `${metric} of ${entity}`)).toEqual([
      "rtt_s of media",
      "cwnd_packets of ftp",
    ]);
    expect([...lines[0].values]).toEqual([0.05, 0.06]);
    expect([...lines[1].times]).toEqual([0.1, 0.2, 0.3]);
  });

  it("has the latest sample at each time", () => {
    expect(valueAt(lines[1], 0.05)).toBeNaN();
    expect(valueAt(lines[1], 0.1)).toBe(2);
    expect(valueAt(lines[1], 0.29)).toBe(4);
    expect(valueAt(lines[1], 99)).toBe(8);
  });

  it("has a gap where a sample is not finite", () => {
    const line = { times: Float64Array.of(1, 2, 3), values: Float64Array.of(5, Infinity, NaN) };
    expect(align([line])).toEqual([
      [1, 2, 3],
      [5, null, null],
    ]);
  });

  it("is aligned to one list of times", () => {
    expect(align(lines)).toEqual([
      [0.1, 0.2, 0.3],
      [0.05, 0.06, undefined],
      [2, 4, 8],
    ]);
  });
});
