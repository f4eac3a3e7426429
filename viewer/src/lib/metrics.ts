/** Titles and order of the metrics of `series.arrow`. Metrics that are not listed are shown under their name. */
import type { Worst } from "./aggregate.ts";
import WRITTEN from "./metrics.json" with { type: "json" };

export type Unit = "b/s" | "s" | "packets" | "bytes" | "share" | "";

export interface Metric {
  name: string;
  title: string;
  unit: Unit;
  /** Whether charts of flows are shown by default. */
  first: boolean;
  /** Whether charts of links are shown by default, too. */
  ofQueues: boolean;
  /** Whether the values of flows add up. */
  additive: boolean;
  /** Which value of several flows is the worst. */
  worst: Worst;
}

/** Not shown unless the reader opens them. */
const CLOSED = ["sending_rate_bps", "encoder_rate_bps", "ssthresh_packets", "arrived_packets", "dropped_packets"];
const OF_QUEUES = ["queue_packets", "red_average_packets"];
const ADDITIVE = [
  "throughput_bps",
  "sending_rate_bps",
  "waiting_packets",
  "loss_packets",
  "open_sessions",
  "arrived_packets",
  "dropped_packets",
];
const WORST_IF_LOW = [
  "throughput_bps",
  "allowed_rate_bps",
  "sending_rate_bps",
  "encoder_rate_bps",
  "cwnd_packets",
  "ssthresh_packets",
  "arrived_packets",
];

/** Returns the unit of a metric, which is the end of its name (`docs/src/records.md`). */
function unitOf(name: string): Unit {
  if (name.endsWith("_bps")) return "b/s";
  if (name.endsWith("_packets")) return "packets";
  if (name.endsWith("_bytes")) return "bytes";
  if (name.endsWith("_ratio")) return "share";
  return name.endsWith("_s") ? "s" : "";
}

export function metric(name: string): Metric {
  const title = WRITTEN.find((known) => known.name === name)?.title ?? name;
  return {
    name,
    title,
    unit: unitOf(name),
    first: !CLOSED.includes(name),
    ofQueues: OF_QUEUES.includes(name),
    additive: ADDITIVE.includes(name),
    worst: WORST_IF_LOW.includes(name) ? "lowest" : "highest",
  };
}

/** Returns the position of a metric in the order of the page. Unknown metrics are last. */
export function rank(name: string): number {
  const at = WRITTEN.findIndex((known) => known.name === name);
  return at < 0 ? WRITTEN.length : at;
}
