/** Blocks of a table of flows: one for each group of flows, media kind and run. */
import type { FlowGroup } from "./flow-groups.ts";
import type { RunRecord } from "./record.ts";
import type { FlowSummary } from "./types.ts";

/** Returns what fills the rows of a flow, for each media kind. The kind is "" if it is about the whole flow. */
export type EntriesOf<Of> = (flow: FlowSummary) => [kind: string, of: Of][];

export interface Row<Of> {
  flow: string;
  of: Of;
}

type Run = Pick<RunRecord, "id" | "name" | "summary">;

export interface Block<Of> {
  id: string;
  group: FlowGroup;
  kind: string;
  record: Run;
  rows: Row<Of>[];
}

/** Returns the blocks that have rows. Blocks that differ only in the run are next to each other. */
export function makeBlocks<Of>(groups: FlowGroup[], records: Run[], entriesOf: EntriesOf<Of>): Block<Of>[] {
  const named = new Map(records.map((record) => [record, new Map(record.summary.flows.map((one) => [one.name, one]))]));
  return groups.flatMap((group) => {
    const entries = records.flatMap((record) =>
      group.flows.flatMap((name) => {
        const flow = named.get(record)!.get(name);
        return (flow ? entriesOf(flow) : []).map(([kind, of]) => ({ record, kind, flow: name, of }));
      }),
    );
    const kinds = [...new Set(entries.map(({ kind }) => kind))];
    const blocks = kinds.flatMap((kind) =>
      records.map((record): Block<Of> => {
        const rows = entries.filter((entry) => entry.kind === kind && entry.record === record);
        return { id: JSON.stringify([group.id, kind, record.id]), group, kind, record, rows };
      }),
    );
    return blocks.filter(({ rows }) => rows.length > 0);
  });
}
