import { describe, expect, it } from "vitest";
import { aggregate, aggregateLines } from "../../src/lib/aggregate.ts";

const line = (times: number[], values: number[]) => ({
  times: Float64Array.from(times),
  values: Float64Array.from(values),
});

describe("sum, median and worst", () => {
  it("of an odd number of values have the middle one as the median", () => {
    expect(aggregate([10, 9, 2], "lowest")).toEqual({ sum: 21, median: 9, worst: 2 });
    expect(aggregate([10, 9, 2], "highest").worst).toBe(10);
  });

  it("of an even number of values have the mean of the two middle ones as the median", () => {
    expect(aggregate([4, 1, 3, 100], "highest")).toEqual({ sum: 108, median: 3.5, worst: 100 });
  });

  it("leave out values that are not finite", () => {
    expect(aggregate([NaN, 5, Infinity, 7], "lowest")).toEqual({ sum: 12, median: 6, worst: 5 });
  });

  it("do not exist without values", () => {
    for (const values of [[], [NaN]])
      expect(aggregate(values, "lowest")).toEqual({ sum: NaN, median: NaN, worst: NaN });
  });
});

describe("sum, median and worst over time", () => {
  it("are those of the flows with a sample at this time", () => {
    // The third flow starts later, and the second one has no sample at 2 s.
    const { sum, median, worst } = aggregateLines(
      [line([1, 2, 3], [1, 2, 3]), line([1, 3], [5, 6]), line([2, 3], [10, 30])],
      "lowest",
    );
    expect([...sum.times]).toEqual([1, 2, 3]);
    expect([...sum.values]).toEqual([6, 12, 39]);
    expect([...median.values]).toEqual([3, 6, 6]);
    expect([...worst.values]).toEqual([1, 2, 3]);
  });

  it("have a gap where no sample is finite", () => {
    const { median } = aggregateLines([line([1, 2], [NaN, 4]), line([1], [Infinity])], "highest");
    expect([...median.times]).toEqual([1, 2]);
    expect([...median.values]).toEqual([NaN, 4]);
  });

  it("are empty without lines", () => {
    expect([...aggregateLines([], "highest").worst.times]).toEqual([]);
    expect([...aggregateLines([line([], [])], "highest").sum.values]).toEqual([]);
  });
});
