/** The rates of a flow with a rate controller: what it sends, what the controller allows and what its encoder produces. */
import type { Line } from "./series.ts";

/** In the order of `headway plot --metric rates`. */
const METRICS = ["sending_rate_bps", "allowed_rate_bps", "encoder_rate_bps"];

/** Returns the flows with at least two of these rates, in the order of the file. */
export function flowsWithRates(lines: Line[]): string[] {
  const entities = [...new Set(lines.map(({ entity }) => entity))];
  return entities.filter((entity) => ratesOf(lines, entity).length > 1);
}

/** Returns the rates of a flow in a fixed order. */
export function ratesOf(lines: Line[], flow: string): Line[] {
  return METRICS.flatMap((metric) => lines.find((line) => line.entity === flow && line.metric === metric) ?? []);
}
