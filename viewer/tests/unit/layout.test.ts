import { describe, expect, it } from "vitest";
import { placeNodes, type Edge } from "../../src/lib/layout.ts";

const edge = (from: string, to: string): Edge => ({ from, to });
const duplex = (from: string, to: string) => [edge(from, to), edge(to, from)];

describe("nodes", () => {
  const links = [
    duplex("camera", "west"),
    duplex("server", "west"),
    duplex("west", "east"),
    duplex("east", "viewer"),
    duplex("east", "laptop"),
  ].flat();

  it("of a dumbbell are placed from left to right", () => {
    const at = placeNodes(links, [edge("camera", "viewer"), edge("server", "laptop")]);
    const x = (node: string) => at.get(node)!.x;
    expect(x("camera")).toBe(0);
    expect(x("server")).toBe(0);
    expect(x("west")).toBeCloseTo(1 / 3);
    expect(x("east")).toBeCloseTo(2 / 3);
    expect(x("viewer")).toBe(1);
    expect(at.get("west")!.y).toBe(0.5);
  });

  it("keep their places if a flow has the reverse direction", () => {
    const at = placeNodes(links, [edge("camera", "viewer"), edge("laptop", "server"), edge("viewer", "camera")]);
    expect(at.get("camera")!.x).toBe(0);
    expect(at.get("laptop")!.x).toBe(1);
    expect(at.get("server")!.x).toBe(0);
  });

  it("without flows are next to their neighbor", () => {
    const at = placeNodes([...links, ...duplex("attic", "west")], [edge("camera", "viewer")]);
    expect(at.size).toBe(7);
    expect(at.get("attic")!.x).toBeLessThan(at.get("west")!.x);
  });

  it("never share a place", () => {
    const star = Array.from({ length: 60 }, (_, i) => duplex("hub", `leaf${i}`)).flat();
    const at = placeNodes(
      star,
      Array.from({ length: 30 }, (_, i) => edge(`leaf${i}`, `leaf${59 - i}`)),
    );
    expect(new Set([...at.values()].map(({ x, y }) => `${x} ${y}`)).size).toBe(61);
  });

  it("have places without flows and in separate networks", () => {
    const at = placeNodes([...duplex("a", "b"), ...duplex("c", "d")], []);
    expect(at.size).toBe(4);
    expect(new Set([...at.values()].map(({ x, y }) => `${x} ${y}`)).size).toBe(4);
    expect(placeNodes([], []).size).toBe(0);
  });

  it("are placed deterministically", () => {
    const flows = [edge("camera", "viewer"), edge("server", "laptop")];
    expect([...placeNodes(links, flows)]).toEqual([...placeNodes(links, flows)]);
  });
});
