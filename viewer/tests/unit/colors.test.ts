import { describe, expect, it } from "vitest";
import { COLORS, DASHES, OTHER_COLORS, otherColorOf } from "../../src/lib/colors.ts";

/** Linear red, green and blue of a color, from 0 to 1. */
const linear = (color: string) =>
  [1, 3, 5].map((at) => {
    const value = parseInt(color.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });

const times = (rows: number[][], vector: number[]) =>
  rows.map((row) => row.reduce((sum, value, i) => sum + value * vector[i], 0));

/** Normal vision, and complete protanopia, deuteranopia and tritanopia (Machado, Oliveira and Fernandes 2009). */
const VISIONS = [
  [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
];

/** The color space Oklab (Ottosson 2020): equal distances look equally different. */
function oklab(rgb: number[]): number[] {
  const cones = times(
    [
      [0.4122214708, 0.5363325363, 0.0514459929],
      [0.2119034982, 0.6806995451, 0.1073969566],
      [0.0883024619, 0.2817188376, 0.6299787005],
    ],
    rgb.map((value) => Math.max(value, 0)),
  );
  return times(
    [
      [0.2104542553, 0.793617785, -0.0040720468],
      [1.9779984951, -2.428592205, 0.4505937099],
      [0.0259040371, 0.7827717662, -0.808675766],
    ],
    cones.map(Math.cbrt),
  );
}

/** Returns the least difference of two colors with any of the visions. */
const difference = (a: string, b: string) =>
  Math.min(
    ...VISIONS.map((vision) => {
      const [one, other] = [a, b].map((color) => oklab(times(vision, linear(color))));
      return Math.hypot(...one.map((value, i) => value - other[i]));
    }),
  );

/** Contrast ratio of WCAG 2.2. */
function contrast(a: string, b: string): number {
  const [dark, light] = [a, b]
    .map((color) => times([[0.2126, 0.7152, 0.0722]], linear(color))[0])
    .sort((x, y) => x - y);
  return (light + 0.05) / (dark + 0.05);
}

describe("colors of links and causes", () => {
  it("are no colors of flows", () => {
    expect(OTHER_COLORS.filter((color) => COLORS.includes(color))).toEqual([]);
  });

  it("differ from one another and from the colors of flows, with a color vision deficiency, too", () => {
    OTHER_COLORS.forEach((color, i) => {
      for (const other of OTHER_COLORS.slice(i + 1))
        expect(difference(color, other), `${color} ${other}`).toBeGreaterThan(0.1);
      for (const flow of COLORS) expect(difference(color, flow), `${color} ${flow}`).toBeGreaterThan(0.06);
    });
  });

  it("have the contrast that WCAG requires for graphics, on the paper of both themes", () => {
    for (const color of OTHER_COLORS)
      for (const paper of ["#ffffff", "#15181c"])
        expect(contrast(color, paper), `${color} on ${paper}`).toBeGreaterThan(3);
  });

  it("differ in color or dashes for twelve curves of a chart", () => {
    const looks = Array.from({ length: 12 }, (_, i) => `${otherColorOf(i)} ${DASHES[i % DASHES.length]}`);
    expect(new Set(looks).size).toBe(12);
  });
});
