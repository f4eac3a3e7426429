import { describe, expect, it } from "vitest";
import { flowsWithRates, ratesOf } from "../../src/lib/rates.ts";

const line = (entity: string, metric: string) => ({
  entity,
  metric,
  times: Float64Array.of(0),
  values: Float64Array.of(1),
});
const lines = [
  line("udp", "throughput_bps"),
  line("tcp", "sending_rate_bps"),
  line("call", "encoder_rate_bps"),
  line("call", "throughput_bps"),
  line("call", "allowed_rate_bps"),
  line("call", "sending_rate_bps"),
  line("media", "allowed_rate_bps"),
  line("media", "sending_rate_bps"),
];

describe("the rates of a flow", () => {
  it("are shown together if there are at least two", () => {
    expect(flowsWithRates(lines)).toEqual(["call", "media"]);
    expect(flowsWithRates([])).toEqual([]);
  });

  it("have the order of the figure of `headway plot`, and so the same place in each flow", () => {
    const names = (flow: string) => ratesOf(lines, flow).map(({ metric }) => metric);
    expect(names("call")).toEqual(["sending_rate_bps", "allowed_rate_bps", "encoder_rate_bps"]);
    expect(names("media")).toEqual(["sending_rate_bps", "allowed_rate_bps"]);
    expect(names("none")).toEqual([]);
  });
});
