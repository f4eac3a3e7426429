/** Groups flows that belong together: those of one name with different numbers, or else those of one transport. */
import type { FlowSummary } from "./types.ts";

/** Up to this number of flows, each flow is shown separately. */
const MAX_SEPARATE = 8;

/** A flow that belongs to no other is a group of one flow. */
export interface FlowGroup {
  id: string;
  title: string;
  transport: string;
  flows: string[];
}

/** Returns the groups in the order of their first flows. A flow may be listed several times, for several runs. */
export function groupFlows(flows: Pick<FlowSummary, "name" | "kind">[]): FlowGroup[] {
  const kinds = new Map<string, Set<string>>();
  for (const { name, kind } of flows) kinds.set(name, (kinds.get(name) ?? new Set()).add(kind));
  const transportOf = (name: string) => [...kinds.get(name)!].sort().join(", ");
  const names = [...kinds.keys()];
  const separate = names.length <= MAX_SEPARATE;

  // Flows with different transports do not share a group, because their median would mean little.
  const nameKey = (name: string) => JSON.stringify([transportOf(name), withoutNumber(name)]);
  const ofName = gather(names, nameKey);
  const sharesName = (name: string) => withoutNumber(name) !== "" && ofName.get(nameKey(name))!.length > 1;
  const groups = gather(names, (name) =>
    separate ? name : sharesName(name) ? nameKey(name) : JSON.stringify([transportOf(name)]),
  );
  const named = gather([...groups.values()].map(([first]) => first).filter(sharesName), withoutNumber);
  return [...groups].map(([id, flows]) => {
    const [first] = flows;
    const [name, transport] = [withoutNumber(first), transportOf(first)];
    if (flows.length === 1) return { id, title: first, transport, flows };
    if (!sharesName(first)) return { id, title: transport, transport, flows };
    return { id, title: named.get(name)!.length > 1 ? `${name} (${transport})` : name, transport, flows };
  });
}

/** Returns the name without its number: `call` for `call12` and `call-12`, and "" for `12`. */
const withoutNumber = (name: string) => name.replace(/[\s._:#/-]*\d+$/, "");

function gather(names: string[], keyOf: (name: string) => string): Map<string, string[]> {
  const gathered = new Map<string, string[]>();
  for (const name of names) {
    const key = keyOf(name);
    if (!gathered.has(key)) gathered.set(key, []);
    gathered.get(key)!.push(name);
  }
  return gathered;
}
