/** Columns of the table of flows, and texts about flows. */
import { causeText } from "./colors.ts";
import { countColumn, delayColumn, rateColumn, shareColumn, type Column } from "./columns.ts";
import { count, share } from "./format.ts";
import type { Counts, FlowSummary } from "./types.ts";

export const FLOW_COLUMNS: Column<FlowSummary>[] = [
  rateColumn("throughput", (flow) => flow.throughput_bps),
  countColumn("sent", "packets", (flow) => flow.sent_packets),
  countColumn("lost", "packets", (flow) => total(flow.lost_packets), "highest"),
  shareColumn("lost", (flow) => flow.loss_ratio, "highest"),
  delayColumn("delay", (flow) => flow.one_way_delay_s?.mean),
  delayColumn("95 %", (flow) => flow.one_way_delay_s?.p95),
  shareColumn("on time", lowestOnTime, "lowest"),
  rateColumn("goodput", (flow) => flow.goodput_bps),
];

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
