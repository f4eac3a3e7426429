import { describe, expect, it } from "vitest";
import { openPackets } from "../../src/lib/packets.ts";
import { packetMarks } from "../../src/lib/sequence.ts";
import type { Source } from "../../src/lib/source.ts";
import type { FlowSummary } from "../../src/lib/types.ts";
import { BATCH, packetsFile, type Hop, type PacketsMeta } from "../arrow-file.ts";

const link = (from: string, to: string) => ({ name: `${from}->${to}`, from, to, delay_ns: 10e6, rate_bps: 1e6 });
const META: PacketsMeta = {
  links: [link("a", "r"), link("r", "b"), link("b", "a")],
  flows: ["call", "ftp"],
  kinds: ["video", "feedback"],
  fates: ["delivered", "queue_full", "in_flight"],
};
const [TO_ROUTER, TO_RECEIVER, BACK] = [0, 1, 2];
const [FEEDBACK, LOST, IN_FLIGHT] = [1, 1, 2];

function hop(link: number, offered_ms: number, sequence: number, rest: Partial<Hop> = {}): Hop {
  const times = { offered: offered_ms * 1e6, wait: 0, transmission: 1e6, propagation: 9e6 };
  return {
    ...times,
    link,
    flow: 0,
    kind: 0,
    fate: 0,
    bytes: 1000,
    sequence,
    queue: 0,
    mark: 0,
    deadline: null,
    ...rest,
  };
}

async function open(hops: Hop[]) {
  const file = packetsFile(hops, META);
  const source: Source = {
    list: async () => [],
    papers: async () => null,
    findings: async () => [],
    file: async () => new TextEncoder().encode(file.index),
    range: async (_, __, offset, length) => file.arrow.slice(offset, offset + length),
  };
  return openPackets(source, "0");
}

async function marks(hops: Hop[], { kind = "tcp-cubic", first = 100, range = [0, 1] as [number, number] } = {}) {
  const packets = await open(hops);
  const batches = (await packets.allBetween(range[0] * 1e9, range[1] * 1e9, 1e6))!;
  const flow = { name: "call", from: "a", to: "b", kind } as FlowSummary;
  return packetMarks(packets, batches, flow, first, range).map(({ mark, times, values }) => [
    mark,
    [...times].map((time) => Math.round(time * 1e3)),
    [...values],
  ]);
}

const HOPS = [
  hop(TO_ROUTER, 0, 100),
  hop(TO_RECEIVER, 10, 100),
  hop(BACK, 20, 100, { kind: FEEDBACK }),
  hop(TO_ROUTER, 5, 101),
  hop(TO_RECEIVER, 15, 101, { fate: LOST, transmission: 0, propagation: 0 }),
  hop(TO_ROUTER, 8, 102, { fate: IN_FLIGHT }),
  hop(TO_ROUTER, 3, 7, { flow: 1 }),
].toSorted((a, b) => a.offered - b.offered);

describe("packet numbers over time", () => {
  it("have a mark when the sender sends, a link drops, the receiver receives and the sender learns of it", async () => {
    expect(await marks(HOPS)).toEqual([
      ["sent", [0, 5, 8], [0, 1, 2]],
      ["dropped", [15], [1]],
      ["received", [20], [0]],
      ["acknowledged", [30], [0]],
    ]);
  });

  it("have no marks for feedback of DCCP, whose number is its own", async () => {
    const kinds = (await marks(HOPS, { kind: "dccp-tfrc" })).map(([mark]) => mark);
    expect(kinds).toEqual(["sent", "dropped", "received"]);
  });

  it("are those in a time range", async () => {
    expect(await marks(HOPS, { range: [0.004, 0.016] })).toEqual([
      ["sent", [5, 8], [1, 2]],
      ["dropped", [15], [1]],
    ]);
  });

  it("wrap at 32 bits", async () => {
    const hops = [hop(TO_ROUTER, 0, 2 ** 32 - 1), hop(TO_ROUTER, 1, 0)];
    expect(await marks(hops, { first: 2 ** 32 - 1 })).toEqual([["sent", [0, 1], [0, 1]]]);
  });

  it("have a bounded number of marks: one in each cell of a grid, and the extremes remain", async () => {
    const hops = Array.from({ length: 20_000 }, (_, i) => hop(TO_ROUTER, i / 20, i));
    const [[, times, values]] = (await marks(hops, { first: 0 })) as [string, number[], number[]][];
    expect(times.length).toBeLessThan(500);
    expect([values[0], Math.max(...values)]).toEqual([0, expect.closeTo(20_000, -2.5)]);
  });

  it("are not read if the time range has too many packets", async () => {
    const packets = await open(Array.from({ length: BATCH + 10 }, (_, i) => hop(TO_ROUTER, i, i)));
    expect(await packets.allBetween(0, 1e6 * BATCH * 2, BATCH)).toBeNull();
    expect(await packets.allBetween(0, 1e6, BATCH)).toHaveLength(1);
  });
});
