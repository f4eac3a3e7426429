/** Details of a packet at one link. */
import { causeText } from "./colors.ts";
import { quantity } from "./format.ts";
import type { Hop, Packets } from "./packets.ts";

/** Returns a sentence with the packet, its times at the link, and its fate. */
export function hopText(packets: Packets, { batch, row }: Hop): string {
  const { base, tick, offered, wait, transmission, propagation } = batch;
  const link = packets.links[batch.linkRows.find(({ start, end }) => start <= row && row < end)?.link ?? 0];
  const s = (ticks: number) => (ticks * tick) / 1e9;
  const at = (ticks: number) => `${((base + ticks * tick) / 1e9).toFixed(6)} s`;
  const fate = packets.fates[batch.fate[row]];
  const [waits, takes, travels] = [wait[row], transmission[row], propagation[row]];
  const named = [packets.flows[batch.flow[row]], packets.kinds[batch.kind[row]], batch.sequence[row]];
  const parts = [
    `${named.filter((one) => one !== undefined).join(" ")}, ${batch.bytes[row]} B: at ${link.name} since ${at(offered[row])}`,
  ];
  const sent = takes > 0 || fate === "delivered" || fate === "in_flight";
  if (waits > 0 || !sent) parts.push(`${quantity(s(waits), "s")} in the queue`);
  if (sent) parts.push(`${quantity(s(takes), "s")} of transmission`, `${quantity(s(travels), "s")} of propagation`);
  if (batch.mark[row] === 1) parts.push("marked");
  const ended = offered[row] + waits + takes + travels;
  if (fate === "delivered") parts.push(`arrives at ${at(ended)}`);
  else if (fate === "in_flight") parts.push("in flight at the end of the run");
  else parts.push(`dropped at ${at(ended)}: ${causeText(fate)}`);
  const deadline = batch.deadline[row];
  if (deadline !== null) {
    const early = deadline / 1e3 - s(ended - offered[row]);
    parts.push(`${quantity(Math.abs(early), "s")} ${early < 0 ? "after" : "before"} its deadline`);
  }
  return parts.join(", ");
}
