/** How each metric of `series.arrow` is headed, in which unit, and in which order. One that is not here is shown all the same. */
export type Unit = "bit/s" | "s" | "packets" | "bytes" | "share" | "";

export interface Metric {
  name: string;
  title: string;
  unit: Unit;
  /** Shown without being asked for. */
  first: boolean;
  /** Of a link it is shown, too. */
  ofQueues?: boolean;
}

const KNOWN: Metric[] = [
  { name: "throughput_bps", title: "Throughput", unit: "bit/s", first: true },
  { name: "allowed_rate_bps", title: "Allowed rate", unit: "bit/s", first: true },
  { name: "queue_packets", title: "Queue", unit: "packets", first: true, ofQueues: true },
  { name: "red_average_packets", title: "RED's average queue", unit: "packets", first: true, ofQueues: true },
  { name: "loss_packets", title: "Lost since the start", unit: "packets", first: true },
  { name: "rtt_s", title: "Round trip", unit: "s", first: true },
  { name: "delay_s", title: "One-way delay", unit: "s", first: true },
  { name: "cwnd_packets", title: "Congestion window", unit: "packets", first: true },
  { name: "ssthresh_packets", title: "Slow-start threshold", unit: "packets", first: false },
  { name: "spacing_s", title: "Spacing", unit: "s", first: true },
  { name: "scale", title: "Scale", unit: "", first: true },
  { name: "loss_event_ratio", title: "Loss event rate p", unit: "share", first: true },
  { name: "on_time_ratio", title: "On time", unit: "share", first: true },
  { name: "open_sessions", title: "Open sessions", unit: "", first: true },
  { name: "arrived_packets", title: "Arrived since the start", unit: "packets", first: false },
  { name: "dropped_packets", title: "Dropped since the start", unit: "packets", first: false },
];

/** A metric's name ends in its unit (`docs/src/records.md`). */
function unitOf(name: string): Unit {
  if (name.endsWith("_bps")) return "bit/s";
  if (name.endsWith("_packets")) return "packets";
  if (name.endsWith("_bytes")) return "bytes";
  if (name.endsWith("_ratio")) return "share";
  return name.endsWith("_s") ? "s" : "";
}

export function metric(name: string): Metric {
  return KNOWN.find((known) => known.name === name) ?? { name, title: name, unit: unitOf(name), first: true };
}

/** Where a metric stands among others; those that are not known come last. */
export function rank(name: string): number {
  const at = KNOWN.findIndex((known) => known.name === name);
  return at < 0 ? KNOWN.length : at;
}
