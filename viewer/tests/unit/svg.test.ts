import { describe, expect, it } from "vitest";
import { thinned } from "../../src/lib/series.ts";
import { chartSvg, ticks } from "../../src/lib/svg.ts";

const curve = (label: string, values: number[]) => ({
  label,
  color: "#0072b2",
  dash: label === "dashed" ? [6, 3] : [],
  thin: false,
  steps: label === "queue",
  times: Float64Array.from(values, (_, i) => i),
  values: Float64Array.from(values),
});

describe("a chart as SVG", () => {
  const range: [number, number] = [0, 3];
  const svg = chartSvg({ title: "Delay <of flows>", unit: "s", range, curves: [curve("a&b", [0, 0.1, 0.2, NaN])] });

  it("has title, units and legend, escaped", () => {
    for (const text of ["Delay &lt;of flows&gt;", "Time (s)", "50 ms", "200 ms", "a&amp;b"])
      expect(svg).toContain(`>${text}</text>`);
  });

  it("has no characters that XML does not allow", () => {
    const drawn = chartSvg({ title: "a\u0001b\ud800c", unit: "", range, curves: [] });
    expect(drawn).toContain(">a\ufffdb\ufffdc</text>");
  });

  it("has the finite samples as a path", () => {
    expect(svg).toContain("M90.00 370.00L373.33 212.86L656.67 55.71");
  });

  it("holds the values of a queue until the next sample", () => {
    const queue = chartSvg({ title: "x", unit: "", range, curves: [curve("queue", [0, 0.1, 0.2])] });
    expect(queue).toContain("M90.00 370.00H373.33V212.86H656.67V55.71");
  });

  it("has dashes, and a row of the legend for each three curves", () => {
    const curves = ["dashed", "b", "c", "d"].map((label) => curve(label, [1, 2]));
    const drawn = chartSvg({ title: "x", unit: "", range, curves });
    expect(drawn).toContain('stroke-dasharray="6 3"');
    expect(drawn).toContain('height="460"');
  });

  it("can be drawn without samples", () => {
    expect(chartSvg({ title: "x", unit: "", range: [0, 0], curves: [curve("a", [])] })).toContain("</svg>");
  });
});

it("ticks are round and inside the range", () => {
  expect(ticks(0, 30, 10)).toEqual([0, 5, 10, 15, 20, 25, 30]);
  expect(ticks(0.3, 1.1, 4).map((tick) => tick.toFixed(2))).toEqual(["0.40", "0.60", "0.80", "1.00"]);
  expect(ticks(1, 1, 5)).toEqual([1]);
});

it("thinning keeps the extremes", () => {
  const values = Float64Array.from({ length: 1000 }, (_, i) => (i === 437 ? 99 : i === 438 ? -99 : i % 7));
  const times = Float64Array.from(values, (_, i) => i);
  const kept = thinned(times, values, 0, 1000, 10);
  expect(kept.length).toBeLessThanOrEqual(40);
  expect(kept).toContainEqual([437, 99]);
  expect(kept).toContainEqual([438, -99]);
});
