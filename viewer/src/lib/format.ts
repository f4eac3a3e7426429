/** Formats numbers with three digits and a unit. */
import type { Unit } from "./metrics.ts";

const NONE = "–";

/** Formats three significant digits without an exponent and without trailing zeros. */
function digits(value: number): string {
  if (value === 0) return "0";
  const size = Math.floor(Math.log10(Math.abs(value)));
  const text = value.toFixed(Math.min(Math.max(2 - size, 0), 9));
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

export const number = (value: number | null | undefined) =>
  value == null || Number.isNaN(value) ? NONE : digits(value);

export const count = (value: number | null | undefined) =>
  value == null || Number.isNaN(value) ? NONE : value.toLocaleString("en", { maximumFractionDigits: 2 });

/** Formats a number with its noun: "1 packet", "2 packets". */
export const counted = (value: number, noun: string) => `${count(value)} ${noun}${value === 1 ? "" : "s"}`;

export function rate(bps: number | null | undefined): string {
  if (bps == null || Number.isNaN(bps)) return NONE;
  const size = Math.abs(bps);
  if (size >= 1e9) return `${digits(bps / 1e9)} Gb/s`;
  if (size >= 1e6) return `${digits(bps / 1e6)} Mb/s`;
  return size >= 1e3 ? `${digits(bps / 1e3)} kb/s` : `${digits(bps)} b/s`;
}

export function duration(seconds: number | null | undefined): string {
  if (seconds == null || Number.isNaN(seconds)) return NONE;
  const size = Math.abs(seconds);
  if (size >= 1 || size === 0) return `${digits(seconds)} s`;
  return size >= 1e-3 ? `${digits(seconds * 1e3)} ms` : `${digits(seconds * 1e6)} µs`;
}

export const share = (value: number | null | undefined) =>
  value == null || Number.isNaN(value) ? NONE : `${digits(value * 100)} %`;

/** Formats a time of the run, to the millisecond by default. */
export const timeText = (seconds: number, decimals = 3) => `${seconds.toFixed(decimals)} s`;

/** Formats a time range, or a single time, to a tenth of a second. */
export function timeRange(from: number, to: number): string {
  const [start, end] = [from.toFixed(1), to.toFixed(1)];
  return start === end ? `at ${start} s` : `${start} to ${end} s`;
}

export function quantity(value: number | null | undefined, unit: Unit): string {
  if (unit === "b/s") return rate(value);
  if (unit === "s") return duration(value);
  if (unit === "share") return share(value);
  return count(value);
}

/** Returns the text for a missing table. */
export const missingFromRecords = (records: number, values: string) =>
  `${records > 1 ? "These records have" : "This record has"} no ${values}.`;

/** Hints on which records have these tables. */
export const FRAMES_HINT =
  "Only senders record them: simulated audio and video, and headway send --model. A receiver does not know which datagrams form a frame.";
export const SEND_QUEUES_HINT =
  "Only senders record them: simulated flows over rate controllers and over DCCP, headway send and headway relay. A receiver has no send queue.";

/** Returns `queue_full` as "queue full". */
export const plain = (name: string) => name.replaceAll("_", " ");
