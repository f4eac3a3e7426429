import { describe, expect, it } from "vitest";
import { formatPlace, parsePlace } from "../../src/lib/place.ts";

describe("a place in the address", () => {
  it("has a time and a flow", () => {
    expect(parsePlace("#t=12.5&flow=media")).toEqual({ t: 12.5, flow: "media" });
  });

  it("is parsed as it was formatted", () => {
    const place = {
      t: 3.000001,
      flow: "a & b=c#",
      records: ["0", "x/y"],
      zoom: [1, 2.5] as [number, number],
      speed: 0.02,
    };
    expect(parsePlace(formatPlace(place))).toEqual(place);
  });

  it("has the exact time of an event", () => {
    const [ns, from, to] = [10_123_456_789, 1, 2.123456789];
    expect(parsePlace(formatPlace({ t: ns / 1e9, zoom: [from, to] }))).toEqual({ t: ns / 1e9, zoom: [1, 2.123457] });
  });

  it("ignores invalid values", () => {
    expect(parsePlace("#t=never&zoom=3~1&speed=-1&record=&flow=")).toEqual({});
    expect(parsePlace("#t=Infinity&zoom=1")).toEqual({});
    expect(parsePlace("")).toEqual({});
    expect(parsePlace("#speed=0")).toEqual({});
    expect(parsePlace("#speed=1e300")).toEqual({});
  });
});
