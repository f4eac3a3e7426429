/** The title of each metric of `series.arrow` and its place among others. A metric that is not in the list is shown, too. */
import WRITTEN from "./metrics.json" with { type: "json" };

export type Unit = "bit/s" | "s" | "packets" | "bytes" | "share" | "";

export interface Metric {
  name: string;
  title: string;
  unit: Unit;
  /** Shown without being asked for. */
  first: boolean;
  /** Shown of links, too. */
  ofQueues: boolean;
}

/** Not shown unless the reader opens them. */
const CLOSED = ["ssthresh_packets", "arrived_packets", "dropped_packets"];
const OF_QUEUES = ["queue_packets", "red_average_packets"];

/** A metric's name ends in its unit (`docs/src/records.md`). */
function unitOf(name: string): Unit {
  if (name.endsWith("_bps")) return "bit/s";
  if (name.endsWith("_packets")) return "packets";
  if (name.endsWith("_bytes")) return "bytes";
  if (name.endsWith("_ratio")) return "share";
  return name.endsWith("_s") ? "s" : "";
}

export function metric(name: string): Metric {
  const title = WRITTEN.find((known) => known.name === name)?.title ?? name;
  return { name, title, unit: unitOf(name), first: !CLOSED.includes(name), ofQueues: OF_QUEUES.includes(name) };
}

/** The place of a metric among others. Metrics that are not in the list are last. */
export function rank(name: string): number {
  const at = WRITTEN.findIndex((known) => known.name === name);
  return at < 0 ? WRITTEN.length : at;
}
