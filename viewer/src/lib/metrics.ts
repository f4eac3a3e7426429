/** How each metric of `series.arrow` is headed, and in which order. One that is not here is shown all the same. */
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

/** Those that `headway` writes (`metric` in crates/simulator/record). */
export const KNOWN: Omit<Metric, "unit">[] = [
  { name: "throughput_bps", title: "Throughput", first: true },
  { name: "link_rate_bps", title: "Rate of links that change", first: true },
  { name: "allowed_rate_bps", title: "Allowed rate", first: true },
  { name: "queue_packets", title: "Queue", first: true, ofQueues: true },
  { name: "red_average_packets", title: "RED's average queue", first: true, ofQueues: true },
  { name: "link_delay_s", title: "Delay of links that change", first: true },
  { name: "waiting_packets", title: "Send queue", first: true },
  { name: "loss_packets", title: "Lost since the start", first: true },
  { name: "rtt_s", title: "Round trip", first: true },
  { name: "cwnd_packets", title: "Congestion window", first: true },
  { name: "ssthresh_packets", title: "Slow-start threshold", first: false },
  { name: "loss_event_ratio", title: "Loss event rate p", first: true },
  { name: "open_sessions", title: "Open sessions", first: true },
  { name: "arrived_packets", title: "Arrived since the start", first: false },
  { name: "dropped_packets", title: "Dropped since the start", first: false },
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
  const known = KNOWN.find((known) => known.name === name) ?? { name, title: name, first: true };
  return { ...known, unit: unitOf(name) };
}

/** Where a metric stands among others; those that are not known come last. */
export function rank(name: string): number {
  const at = KNOWN.findIndex((known) => known.name === name);
  return at < 0 ? KNOWN.length : at;
}
