/** Combines the lines of the flows of a group into their sum, median and worst. */
import { aggregateLines, type Statistic } from "./aggregate.ts";
import type { FlowGroup } from "./flow-groups.ts";
import type { Group, Member } from "./groups.ts";

/** Adds a chart of the sums of the groups to each chart of flows whose values add up: a sum needs another scale. */
export function withSums(charts: Group[], groups: FlowGroup[]): Group[] {
  const grouped = new Set(groups.flatMap(({ flows }) => (flows.length > 1 ? flows : [])));
  const hasSums = ({ of, metric, members }: Group) =>
    of === "flows" && metric.additive && members.some(({ flow }) => grouped.has(flow!));
  return charts.flatMap((chart) =>
    hasSums(chart) ? [chart, { ...chart, id: `sum of ${chart.id}`, sums: true }] : [chart],
  );
}

/** Returns lines for the groups that have several flows, of each run, link and media kind. */
export function combine(chart: Group, groups: FlowGroup[]): Member[] {
  const groupOf = new Map(
    groups.flatMap((group) => (group.flows.length > 1 ? group.flows.map((flow) => [flow, group] as const) : [])),
  );
  const runs = [...new Set(chart.members.map(({ record }) => record))];
  const parts = new Map<string, Member[]>();
  for (const member of chart.members) {
    const group = groupOf.get(member.flow ?? "");
    if (!group) continue;
    const key = JSON.stringify([runs.indexOf(member.record), group.id, member.link, member.kind]);
    if (!parts.has(key)) parts.set(key, []);
    parts.get(key)!.push({ ...member, group });
  }
  const { worst } = chart.metric;
  const words = { sum: "sum", median: "median", worst: `worst (${worst})` };
  const statistics: Statistic[] = chart.sums ? ["sum"] : ["median", "worst"];
  return [...parts.values()].flatMap((members) => {
    const [{ record, link, kind = "", group }] = members;
    const lines = aggregateLines(
      members.map(({ line }) => line),
      worst,
    );
    const place = `${link === undefined ? "" : `${link}/`}${group!.title}${kind}`;
    return statistics.map((statistic): Member => {
      const entity = `${place}, ${words[statistic]} of ${members.length}`;
      return { record, link, kind, group, statistic, line: { entity, metric: chart.metric.name, ...lines[statistic] } };
    });
  });
}
