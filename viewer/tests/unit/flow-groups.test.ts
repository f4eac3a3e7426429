import { describe, expect, it } from "vitest";
import { groupFlows } from "../../src/lib/flow-groups.ts";

const numbered = (name: string, count: number, kind: string) =>
  Array.from({ length: count }, (_, i) => ({ name: `${name}${i + 1}`, kind }));
const sizes = (flows: { name: string; kind: string }[]) =>
  groupFlows(flows).map(({ title, flows }) => [title, flows.length]);

describe("flows", () => {
  it("are separate up to eight, whatever their names", () => {
    const eight = numbered("flow", 8, "tcp-cubic");
    expect(groupFlows(eight).map(({ title }) => title)).toEqual(eight.map(({ name }) => name));
    expect(sizes(numbered("flow", 9, "tcp-cubic"))).toEqual([["flow", 9]]);
  });

  it("with one name and different numbers form a group, in the order of their first flows", () => {
    const flows = [
      ...numbered("file", 6, "tcp-cubic"),
      ...numbered("call-", 3, "dccp-3"),
      ...numbered("file_", 2, "udp"),
    ];
    const [file, call] = groupFlows(flows);
    expect(file).toMatchObject({
      transport: "tcp-cubic",
      flows: ["file1", "file2", "file3", "file4", "file5", "file6"],
    });
    expect(call).toMatchObject({ title: "call", transport: "dccp-3", flows: ["call-1", "call-2", "call-3"] });
  });

  it("with one name and different transports form a group for each transport", () => {
    const mixed = numbered("flow", 10, "").map(({ name }, i) => ({ name, kind: i % 2 === 0 ? "tfrc" : "tcp-sack" }));
    expect(sizes(mixed)).toEqual([
      ["flow (tfrc)", 5],
      ["flow (tcp-sack)", 5],
    ]);
  });

  it("without a common name form a group for each transport, and a flow may remain separate", () => {
    const names = ["alice", "bob", "12", "carol7", "dave", "erin", "frank", "grace"];
    const flows = [{ name: "media", kind: "tfrc" }, ...names.map((name) => ({ name, kind: "tcp-cubic" }))];
    expect(sizes(flows)).toEqual([
      ["media", 1],
      ["tcp-cubic", 8],
    ]);
  });

  it("of several runs are one flow if they have the same name, even with different transports", () => {
    const flows = [...numbered("flow", 9, "tcp-cubic"), ...numbered("flow", 9, "tfrc")];
    expect(groupFlows(flows)).toMatchObject([{ title: "flow", transport: "tcp-cubic, tfrc" }]);
    expect(sizes(flows)).toEqual([["flow", 9]]);
  });

  it("may have any name, or be absent", () => {
    expect(groupFlows([])).toEqual([]);
    const odd = ["__proto__", "constructor", "", "1", "2", "<b>1", "<b>2", "a/1", "a/2"];
    expect(sizes(odd.map((name) => ({ name, kind: "udp" })))).toEqual([
      ["udp", 5],
      ["<b>", 2],
      ["a", 2],
    ]);
  });
});
