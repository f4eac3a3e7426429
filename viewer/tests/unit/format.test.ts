import { expect, it } from "vitest";
import {
  SEND_QUEUES_HINT,
  FRAMES_HINT,
  count,
  counted,
  duration,
  missingFromRecords,
  quantity,
  rate,
  share,
  timeRange,
} from "../../src/lib/format.ts";

it("writes three digits and a unit", () => {
  expect(rate(1_234_567)).toBe("1.23 Mb/s");
  expect(rate(866_240)).toBe("866 kb/s");
  expect(rate(2e9)).toBe("2 Gb/s");
  expect(rate(0)).toBe("0 b/s");
  expect(duration(0.03899776)).toBe("39 ms");
  expect(duration(12.5)).toBe("12.5 s");
  expect(duration(0.00000512)).toBe("5.12 µs");
  expect(share(0.0318198)).toBe("3.18 %");
  expect(share(1)).toBe("100 %");
  expect(count(1234567)).toBe("1,234,567");
  // Regression test: "1 packets".
  expect([0, 1, 2].map((flying) => counted(flying, "packet"))).toEqual(["0 packets", "1 packet", "2 packets"]);
  expect(timeRange(1.52, 12)).toBe("1.5 to 12.0 s");
  expect(timeRange(1.52, 1.54)).toBe("at 1.5 s");
  // Regression test: the interval of a live record was "0 to 14.009628063 s".
  expect(timeRange(0, 14.009628063)).toBe("0.0 to 14.0 s");
});

it("formats missing values", () => {
  for (const none of [null, undefined, NaN]) {
    expect(rate(none)).toBe("–");
    expect(quantity(none, "share")).toBe("–");
    expect(quantity(none, "")).toBe("–");
  }
});

it("names the values that a record does not have", () => {
  expect(missingFromRecords(1, "frame statistics")).toBe("This record has no frame statistics.");
  expect(missingFromRecords(2, "frame statistics")).toBe("These records have no frame statistics.");
});

it("explains that senders record frames and send queues, and that receivers cannot", () => {
  expect(FRAMES_HINT).toMatch(/headway send --model\. A receiver does not know/);
  expect(SEND_QUEUES_HINT).toMatch(/headway send and headway relay\. A receiver has no send queue\.$/);
});
