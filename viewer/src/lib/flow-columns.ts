/** Columns of the table of groups of flows. Their units are in the head, so that the cells are narrow. */
import type { Worst } from "./aggregate.ts";
import { causeText } from "./colors.ts";
import { count, number, share } from "./format.ts";
import type { Counts, FlowSummary } from "./types.ts";

export interface FlowColumn {
  title: string;
  unit: string;
  /** The value of a flow in the unit of the column; absent if the flow has none. */
  valueOf: (flow: FlowSummary) => number | null | undefined;
  format: (value: number | null | undefined) => string;
  additive: boolean;
  /** Absent if no value is better than another. */
  worst?: Worst;
}

export const FLOW_COLUMNS: FlowColumn[] = [
  rateColumn("throughput", (flow) => flow.throughput_bps),
  packetColumn("sent", (flow) => flow.sent_packets),
  { ...packetColumn("lost", (flow) => total(flow.lost_packets)), worst: "highest" },
  { ...shareColumn("lost", (flow) => flow.loss_ratio), worst: "highest" },
  delayColumn("delay", (flow) => flow.one_way_delay_s?.mean),
  delayColumn("95 %", (flow) => flow.one_way_delay_s?.p95),
  { ...shareColumn("on time", lowestOnTime), worst: "lowest" },
  rateColumn("goodput", (flow) => flow.goodput_bps),
];

type ValueOf = FlowColumn["valueOf"];

function scaled(valueOf: ValueOf, factor: number): ValueOf {
  return (flow) => {
    const value = valueOf(flow);
    return value == null ? value : value * factor;
  };
}
function rateColumn(title: string, valueOf: ValueOf): FlowColumn {
  return { title, unit: "Mbit/s", valueOf: scaled(valueOf, 1e-6), format: number, additive: true, worst: "lowest" };
}
function packetColumn(title: string, valueOf: ValueOf): FlowColumn {
  return { title, unit: "packets", valueOf, format: count, additive: true };
}
function shareColumn(title: string, valueOf: ValueOf): FlowColumn {
  return { title, unit: "%", valueOf: scaled(valueOf, 100), format: number, additive: false };
}
function delayColumn(title: string, valueOf: ValueOf): FlowColumn {
  return { title, unit: "ms", valueOf: scaled(valueOf, 1000), format: number, additive: false, worst: "highest" };
}

/** Returns the number of lost packets of all causes. */
export function total(counts: Counts): number {
  return Object.values(counts).reduce((sum, one) => sum + one, 0);
}

/** Returns the share of the media kind with the fewest packets on time. */
export function lowestOnTime(flow: FlowSummary): number | undefined {
  const ratios = Object.values(flow.on_time_ratio ?? {}).filter((ratio) => ratio !== null);
  return ratios.length > 0 ? Math.min(...ratios) : undefined;
}

/** Returns the lost packets of flows by cause, such as "12 queue full, 3 channel", or "" if there are none. */
export function lossCauses(flows: FlowSummary[]): string {
  const sums = new Map<string, number>();
  for (const { lost_packets } of flows)
    for (const [cause, lost] of Object.entries(lost_packets)) sums.set(cause, (sums.get(cause) ?? 0) + lost);
  return [...sums]
    .filter(([, lost]) => lost > 0)
    .map(([cause, lost]) => `${count(lost)} ${causeText(cause)}`)
    .join(", ");
}

/** Returns the share of packets on time of each media kind, such as "audio 98 %". */
export const onTimeRatios = (flow: FlowSummary): string =>
  Object.entries(flow.on_time_ratio ?? {})
    .map(([kind, ratio]) => `${kind} ${share(ratio)}`)
    .join(", ");
