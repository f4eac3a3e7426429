import { describe, expect, it } from "vitest";
import { decodeLz4Frame } from "../../src/lib/lz4.ts";

const bytes = (text: string) => Uint8Array.from(text.match(/../g)!.map((pair) => parseInt(pair, 16)));
const ascii = (text: string) => new TextEncoder().encode(text);

/** Returns a frame of one block, without checksums: magic, flags 0x60 (version 1, independent blocks), 64 KB blocks, a header checksum. */
function frame(block: Uint8Array, stored = false): Uint8Array {
  const size = block.length | (stored ? 0x80000000 : 0);
  return Uint8Array.from([
    0x04,
    0x22,
    0x4d,
    0x18,
    0x60,
    0x40,
    0x82,
    size,
    size >> 8,
    size >> 16,
    size >>> 24,
    ...block,
    0,
    0,
    0,
    0,
  ]);
}

describe("an LZ4 frame", () => {
  it("may be empty", () => {
    expect(decodeLz4Frame(Uint8Array.from([0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82, 0, 0, 0, 0]))).toHaveLength(0);
  });

  it("may have a stored block", () => {
    expect(decodeLz4Frame(frame(ascii("headway"), true))).toEqual(ascii("headway"));
  });

  it("may have matches that overlap their output", () => {
    // Three literals "abc", then a match of 9 bytes 3 bytes back, then five literals.
    const block = Uint8Array.from([0x35, ...ascii("abc"), 3, 0, 0x50, ...ascii("12345")]);
    expect(decodeLz4Frame(frame(block))).toEqual(ascii("abcabcabcabc12345"));
  });

  it("may have long lengths", () => {
    // One literal, then 4 + 15 + 255 + 26 = 300 copies of it.
    const block = Uint8Array.from([0x1f, 65, 1, 0, 255, 26, 0x10, 66]);
    expect(new TextDecoder().decode(decodeLz4Frame(frame(block)))).toBe("A".repeat(301) + "B");
  });

  it("of liblz4 1.9.4 with size and checksums is read", () => {
    expect(new TextDecoder().decode(decodeLz4Frame(bytes(LIBLZ4)))).toBe("headway ".repeat(40) + "end");
  });

  it("is refused if it is truncated at any byte", () => {
    const whole = frame(Uint8Array.from([0x35, ...ascii("abc"), 3, 0, 0x50, ...ascii("12345")]));
    for (let length = 0; length < whole.length; length++)
      expect(() => decodeLz4Frame(whole.subarray(0, length)), `cut to ${length}`).toThrow("damaged");
  });

  it("is refused if a match starts before the output", () => {
    expect(() => decodeLz4Frame(frame(Uint8Array.from([0x10, 65, 2, 0, 0x10, 66])))).toThrow("damaged");
    expect(() => decodeLz4Frame(frame(Uint8Array.from([0x10, 65, 0, 0, 0x10, 66])))).toThrow("damaged");
  });

  it("does not allocate memory for a forged size", () => {
    const forged = Uint8Array.from([
      0x04, 0x22, 0x4d, 0x18, 0x68, 0x40, 255, 255, 255, 255, 255, 255, 255, 127, 0, 0, 0, 0, 0,
    ]);
    expect(decodeLz4Frame(forged)).toHaveLength(0);
  });
});

const LIBLZ4 = "04224d187c4043010000000000008c130000008f68656164776179200800ff24507920656e64549ef90400000000bf93666f";
