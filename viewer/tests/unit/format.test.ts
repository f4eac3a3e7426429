import { expect, it } from "vitest";
import {
  WHO_HAS_SEND_QUEUES,
  WHO_KNOWS_FRAMES,
  count,
  counted,
  duration,
  lacks,
  quantity,
  rate,
  share,
  stretch,
} from "../../src/lib/format.ts";

it("writes three digits and a unit", () => {
  expect(rate(1_234_567)).toBe("1.23 Mbit/s");
  expect(rate(866_240)).toBe("866 kbit/s");
  expect(rate(2e9)).toBe("2 Gbit/s");
  expect(rate(0)).toBe("0 bit/s");
  expect(duration(0.03899776)).toBe("39 ms");
  expect(duration(12.5)).toBe("12.5 s");
  expect(duration(0.00000512)).toBe("5.12 µs");
  expect(share(0.0318198)).toBe("3.18 %");
  expect(share(1)).toBe("100 %");
  expect(count(1234567)).toBe("1,234,567");
  // The page said "1 packets under way".
  expect([0, 1, 2].map((flying) => counted(flying, "packet"))).toEqual(["0 packets", "1 packet", "2 packets"]);
  expect(stretch(1.52, 12)).toBe("1.5 to 12.0 s");
  expect(stretch(1.52, 1.54)).toBe("at 1.5 s");
  // The interval of a live record was "0 to 14.009628063 s".
  expect(stretch(0, 14.009628063)).toBe("0.0 to 14.0 s");
});

it("says that there is nothing", () => {
  for (const none of [null, undefined, NaN]) {
    expect(rate(none)).toBe("–");
    expect(quantity(none, "share")).toBe("–");
    expect(quantity(none, "")).toBe("–");
  }
});

it("says what a record lacks, and nothing about its flows", () => {
  expect(lacks(1, "numbers of frames")).toBe("This record holds no numbers of frames.");
  expect(lacks(2, "numbers of frames", "call")).toBe("These records hold no numbers of frames of call.");
});

it("says that real senders record frames and send queues, and that receivers cannot", () => {
  expect(WHO_KNOWS_FRAMES).toMatch(/headway send --model\. A receiver does not learn/);
  expect(WHO_HAS_SEND_QUEUES).toMatch(/headway send and headway relay\. A receiver has no send queue\.$/);
});
