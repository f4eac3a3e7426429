import { expect, it } from "vitest";
import { makeBlocks } from "../../src/lib/blocks.ts";
import { groupFlows } from "../../src/lib/flow-groups.ts";
import type { FlowSummary, Summary } from "../../src/lib/types.ts";

const flow = (name: string, queue?: Record<string, number>) =>
  ({ name, kind: "dccp-3", send_queue: queue }) as unknown as FlowSummary;
const run = (id: string, flows: FlowSummary[]) => ({ id, name: id, summary: { flows } as Summary });
const entriesOf = (of: FlowSummary) => Object.entries((of.send_queue ?? {}) as unknown as Record<string, number>);

const calls = (first: number) =>
  Array.from({ length: 9 }, (_, i) => flow(`call${i + 1}`, { audio: first + i, ...(i === 0 ? { video: 7 } : {}) }));
const one = run("one", [flow("ftp"), ...calls(0)]);
const two = run("two", [...calls(10).slice(0, 2), flow("chat", { data: 3 })]);

it("a table has a block for each group, media kind and run that has values", () => {
  const groups = groupFlows([...one.summary.flows, ...two.summary.flows].map(({ name }) => ({ name, kind: "dccp-3" })));
  expect(groups.map(({ title }) => title)).toEqual(["dccp-3", "call"]);
  const blocks = makeBlocks(groups, [one, two], entriesOf);
  expect(blocks.map(({ group, kind, record, rows }) => [group.title, kind, record.id, rows.length])).toEqual([
    ["dccp-3", "data", "two", 1],
    ["call", "audio", "one", 9],
    ["call", "audio", "two", 2],
    ["call", "video", "one", 1],
    ["call", "video", "two", 1],
  ]);
  expect(blocks[2].rows.map(({ flow, of }) => [flow, of])).toEqual([
    ["call1", 10],
    ["call2", 11],
  ]);
  expect(new Set(blocks.map(({ id }) => id)).size).toBe(blocks.length);
});

it("a flow may have any name", () => {
  const odd = run("one", [flow("__proto__", { constructor: 1 })]);
  const [block] = makeBlocks(groupFlows(odd.summary.flows), [odd], entriesOf);
  expect([block.group.title, block.kind, block.rows[0].of]).toEqual(["__proto__", "constructor", 1]);
});
