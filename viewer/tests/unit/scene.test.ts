import { describe, expect, it } from "vitest";
import { hopText } from "../../src/lib/hop.ts";
import { openPackets } from "../../src/lib/packets.ts";
import { Scene, UNKNOWN } from "../../src/lib/scene.ts";
import type { Source } from "../../src/lib/source.ts";
import { readEvents } from "../../src/lib/events.ts";
import { BATCH, eventsFile, packetsFile, type Hop, type PacketsMeta } from "../arrow-file.ts";

const META: PacketsMeta = {
  links: [{ name: "a->b", from: "a", to: "b", delay_ns: 10e6, rate_bps: 1e6 }],
  flows: ["call", "ftp"],
  kinds: ["audio", "data"],
  fates: ["delivered", "queue_full", "host"],
};

function hop(offered: number, rest: Partial<Hop> = {}): Hop {
  return {
    offered,
    wait: 0,
    transmission: 8e6,
    propagation: rest.transmission === 0 ? 0 : 10e6,
    link: 0,
    flow: 0,
    kind: 0,
    fate: 0,
    bytes: 1000,
    sequence: 0,
    queue: 0,
    mark: 0,
    deadline: null,
    ...rest,
  };
}

async function open(hops: Hop[]) {
  const file = packetsFile(hops, META);
  const ranges: string[] = [];
  const source: Source = {
    list: async () => [],
    papers: async () => null,
    findings: async () => [],
    file: async () => new TextEncoder().encode(file.index),
    range: async (_, __, offset, length) => {
      ranges.push(`${offset}+${length}`);
      return file.arrow.slice(offset, offset + length);
    },
  };
  const packets = await openPackets(source, "0");
  return { packets, ranges };
}

/** Fills a scene after all batches at a time are loaded. */
async function at(hops: Hop[], now: number, fall = 5e6) {
  const { packets } = await open(hops);
  const scene = new Scene();
  scene.fill(packets, now, fall);
  while (scene.missing) {
    await new Promise((done) => setTimeout(done, 1));
    scene.fill(packets, now, fall);
  }
  return scene;
}

describe("a packet", () => {
  it("waits, is transmitted, propagates, and disappears", async () => {
    const hops = [hop(0, { wait: 4e6, flow: 1 })];
    expect((await at(hops, 3e6)).queues[0]).toEqual([1]);
    const sending = await at(hops, 8e6);
    expect(sending.flying.count).toBe(1);
    // The first bit has propagated for 4 of 10 ms; the last bit is still at the sender.
    expect(sending.flying.head[0]).toBeCloseTo(0.4);
    expect(sending.flying.tail[0]).toBe(0);
    const sent = await at(hops, 13e6);
    expect(sent.flying.head[0]).toBeCloseTo(0.9);
    expect(sent.flying.tail[0]).toBeCloseTo(0.1);
    const over = await at(hops, 22e6);
    expect(over.flying.count + over.queues[0].length + over.falling.count).toBe(0);
  });

  it("falls where it is dropped, with its cause, and disappears", async () => {
    const hops = [hop(0), hop(1e6, { fate: 1, transmission: 0 })];
    const scene = await at(hops, 3e6);
    expect(scene.falling.count).toBe(1);
    expect(scene.falling.cause[0]).toBe("queue_full");
    expect(scene.falling.age[0]).toBeCloseTo(0.4);
    expect(scene.falling.far[0]).toBe(false);
    expect((await at(hops, 7e6)).falling.count).toBe(0);
  });

  it("that a host drops falls at the far end", async () => {
    const hops = [hop(0, { fate: 2 })];
    expect((await at(hops, 17e6)).flying.count).toBe(1);
    const scene = await at(hops, 19e6);
    expect(scene.falling.far[0]).toBe(true);
    expect(scene.falling.age[0]).toBeCloseTo(0.2);
  });

  it("is late once its deadline has passed", async () => {
    const hops = [hop(0, { deadline: 12 }), hop(1, { deadline: null })];
    expect((await at(hops, 11e6)).flying.late.slice(0, 2)).toEqual([false, false]);
    expect((await at(hops, 13e6)).flying.late.slice(0, 2)).toEqual([true, false]);
  });
});

describe("batches", () => {
  const hops = Array.from({ length: BATCH + 10 }, (_, i) => hop(i * 1000, { transmission: 500, sequence: i }));

  it("are loaded on demand", async () => {
    const { packets, ranges } = await open(hops);
    expect(packets.rows).toBe(BATCH + 10);
    expect(ranges, "the schema").toHaveLength(1);
    await packets.nextAfter(0);
    expect(ranges).toHaveLength(2);
  });

  it("overlap: a packet in flight may be in the previous batch", async () => {
    const scene = await at(hops, BATCH * 1000 + 4e6);
    // The delay is 10 ms, with a packet per us. Ten of these packets are in the second batch.
    const sequences = scene.flying.count;
    expect(sequences).toBe(6010);
  });

  it("have the time of the next packet", async () => {
    const { packets } = await open(hops);
    expect((await packets.nextAfter(1500))?.at).toBe(2000);
    expect((await packets.nextAfter(BATCH * 1000 - 1))?.at).toBe(BATCH * 1000);
    expect(await packets.nextAfter(1e12)).toBeNull();
  });

  it("have the time of the next packet of a flow, which may be in a later batch", async () => {
    const mixed = hops.map((one, i) => (i === 5 || i === BATCH + 3 ? { ...one, flow: 1 } : one));
    const { packets } = await open(mixed);
    expect((await packets.nextAfter(1500, "call"))?.at).toBe(2000);
    expect((await packets.nextAfter(1500, "ftp"))?.at).toBe(5000);
    expect((await packets.nextAfter(5001, "ftp"))?.at).toBe((BATCH + 3) * 1000);
    expect(await packets.nextAfter((BATCH + 4) * 1000, "ftp")).toBeNull();
    expect(await packets.nextAfter(0, "unknown")).toBeNull();
  });
});

it("a packet in flight is found after the end of its transmission", async () => {
  // The transmission takes 0.5 us, the propagation 10 ms.
  const scene = await at([hop(0, { transmission: 500 })], 9e6);
  expect(scene.flying.count).toBe(1);
});

it("without packets, queues are drawn from samples and drops from events", () => {
  const events = readEvents(
    eventsFile([{ time_s: 1, event: "drop", entity: "a->b", flow: "ftp", cause: "queue_full" }]),
  );
  const line = { entity: "a->b", metric: "queue_packets", times: Float64Array.of(0.9), values: Float64Array.of(3) };
  const scene = new Scene();
  scene.fillFromSamples(["a->b"], ["call", "ftp"], [line], events, 1.2, 0.8);
  expect(scene.queues[0]).toEqual([UNKNOWN, UNKNOWN, UNKNOWN]);
  expect(scene.falling.count).toBe(1);
  expect(scene.falling.flow[0]).toBe(1);
  expect(scene.falling.age[0]).toBeCloseTo(0.25);
});

describe("the details of a packet", () => {
  async function text(rest: Partial<Hop>) {
    const { packets } = await open([hop(0, { transmission: 500 }), hop(1e9, { sequence: 7, flow: 1, ...rest })]);
    return hopText(packets, (await packets.nextAfter(1e9))!);
  }

  it("have its times at the link", async () => {
    expect(await text({ wait: 4e6, kind: 1, bytes: 1500, mark: 1 })).toBe(
      "ftp data 7, 1500 B: at a->b since 1.000000 s, 4 ms in the queue, 8 ms of transmission, 10 ms of propagation, " +
        "marked, arrives at 1.022000 s",
    );
  });

  it("have its deadline", async () => {
    expect(await text({ deadline: 20 })).toMatch(/arrives at 1\.018000 s, 2 ms before its deadline$/);
    expect(await text({ deadline: 15 })).toMatch(/, 3 ms after its deadline$/);
  });

  it("have the cause of a drop", async () => {
    const dropped = await text({ fate: 1, transmission: 0, wait: 3e6 });
    expect(dropped).toBe(
      "ftp audio 7, 1000 B: at a->b since 1.000000 s, 3 ms in the queue, dropped at 1.003000 s: queue full",
    );
    expect(await text({ fate: 2 })).toMatch(/10 ms of propagation, dropped at 1\.018000 s: host$/);
  });
});
