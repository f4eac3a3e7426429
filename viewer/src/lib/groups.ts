/** Groups the lines of `series.arrow` into charts, and selects lines if a chart has too many. */
import type { Statistic } from "./aggregate.ts";
import type { FlowGroup } from "./flow-groups.ts";
import { metric, rank, type Metric } from "./metrics.ts";
import type { RunRecord } from "./record.ts";
import type { Line } from "./series.ts";

/** Entities of a metric. The values of a flow at one link have the entity LINK/FLOW, those of a media kind FLOW/KIND. */
const ENTITY_TYPES = ["flows", "links", "flows at links", "others"] as const;
type EntityType = (typeof ENTITY_TYPES)[number];

/** Maximum number of lines in a chart. */
const MAX_FLOWS = 12;
const MAX_LINKS = 4;

export type Source = Pick<RunRecord, "summary" | "name">;

export interface Member {
  record: Source;
  line: Line;
  /** The flow and the link of the line, if it has them. */
  flow?: string;
  link?: string;
  /** The group of flows whose sum, median or worst the line is. */
  group?: FlowGroup;
  statistic?: Statistic;
  /** The part of the entity after the flow: "", or `/` and a media kind. */
  kind?: string;
}

export interface Group {
  id: string;
  of: EntityType;
  metric: Metric;
  /** Whether the chart shows the sum of each group of flows, and no flows. */
  sums?: boolean;
  members: Member[];
}

/** Returns a group for each metric and entity type, in the order of the page. */
export function groupLines(read: { record: Source; lines: Line[] }[]): Group[] {
  const groups = new Map<string, Group>();
  for (const { record, lines } of read) {
    const links = new Set(record.summary.links.map((link) => link.name));
    const flows = new Set(record.summary.flows.map((flow) => flow.name));
    for (const line of lines) {
      const { of, ...owner } = ownerOf(line.entity, flows, links);
      const id = `${line.metric} of ${of}`;
      if (!groups.has(id)) groups.set(id, { id, of, metric: metric(line.metric), members: [] });
      groups.get(id)!.members.push({ record, line, ...owner });
    }
  }
  const order = (group: Group) => rank(group.metric.name) * ENTITY_TYPES.length + ENTITY_TYPES.indexOf(group.of);
  return [...groups.values()].sort((a, b) => order(a) - order(b));
}

function ownerOf(
  entity: string,
  flows: Set<string>,
  links: Set<string>,
): { of: EntityType; flow?: string; link?: string; kind?: string } {
  if (flows.has(entity)) return { of: "flows", flow: entity, kind: "" };
  if (links.has(entity)) return { of: "links", link: entity };
  for (let slash = entity.indexOf("/"); slash >= 0; slash = entity.indexOf("/", slash + 1)) {
    const link = entity.slice(0, slash);
    if (links.has(link)) return { of: "flows at links", link, flow: entity.slice(slash + 1), kind: "" };
  }
  const kind = entity.lastIndexOf("/");
  if (kind >= 0 && flows.has(entity.slice(0, kind)))
    return { of: "flows", flow: entity.slice(0, kind), kind: entity.slice(kind) };
  return { of: "others" };
}

/** Returns whether a chart is shown by default. */
export function isShownByDefault({ metric, of }: Group): boolean {
  return metric.first && (of === "flows" || of === "others" || metric.ofQueues === true);
}

/**
 * Returns the entities that are drawn, and how many there are. Links are those with the longest mean queue, as in
 * `headway plot`; flows are the selected one, groups, and the first ones.
 */
export function chooseEntities(group: Group, selected: string | null): { chosen: string[]; of: number } {
  const names = new Map<string, Member>();
  for (const member of group.members) if (!names.has(member.line.entity)) names.set(member.line.entity, member);
  const all = [...names.keys()];
  if (group.of === "links") {
    const mean = new Map<string, number>();
    for (const record of new Set(group.members.map((member) => member.record)))
      for (const { name, mean_queue_packets: queue } of record.summary.links)
        mean.set(name, Math.max(mean.get(name) ?? 0, queue));
    const length = (name: string) => mean.get(name) ?? 0;
    const busy = all.filter((name) => length(name) > 0);
    const chosen = (busy.length > 0 ? busy : all).sort((a, b) => length(b) - length(a)).slice(0, MAX_LINKS);
    return { chosen, of: all.length };
  }
  // The selected flow is first, and groups are before flows.
  const order = (name: string) => {
    const { flow, group } = names.get(name)!;
    return selected !== null && flow === selected ? 0 : group ? 1 : 2;
  };
  return { chosen: all.sort((a, b) => order(a) - order(b)).slice(0, MAX_FLOWS), of: names.size };
}
