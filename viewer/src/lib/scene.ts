/** What is where at one instant: packets under way, waiting and falling. It is filled anew for each frame, into the same arrays. */
import type { Events } from "./events.ts";
import { rowsBetween, type Batch, type Packets, type Stretch } from "./packets.ts";
import { firstAbove } from "./search.ts";
import { valueAt, type Line } from "./series.ts";

/** A flow or kind that is not known. */
export const UNKNOWN = -1;

export class Scene {
  /** Packets under way, a place in each list. */
  readonly flying = {
    count: 0,
    link: [] as number[],
    /** How far the first and the last bit have come along the link, 0 to 1. */
    head: [] as number[],
    tail: [] as number[],
    flow: [] as number[],
    kind: [] as number[],
    late: [] as boolean[],
    marked: [] as boolean[],
  };
  /** Packets that were dropped a moment ago. */
  readonly falling = {
    count: 0,
    link: [] as number[],
    /** Whether it had reached the far end. */
    far: [] as boolean[],
    /** From 0, when it was dropped, to 1, when it is gone from sight. */
    age: [] as number[],
    flow: [] as number[],
    kind: [] as number[],
    cause: [] as string[],
  };
  /** For each link the flows of what waits, the next to go first. */
  readonly queues: number[][] = [];
  /** Whether hops of this instant are still on their way to this page. */
  missing = false;

  private clear(links: number): void {
    this.flying.count = 0;
    this.falling.count = 0;
    this.missing = false;
    while (this.queues.length < links) this.queues.push([]);
    for (const queue of this.queues) queue.length = 0;
  }

  /** Nothing, until packets come. */
  await(links: number): void {
    this.clear(links);
    this.missing = true;
  }

  /** From every packet. `now` in ns; a drop stays in sight for `fall` ns. */
  fill(packets: Packets, now: number, fall: number): void {
    this.clear(packets.links.length);
    // A hop that is still under way may have been offered in an earlier batch.
    const { batches, missing } = packets.between(now - fall, now);
    this.missing = missing;
    for (const batch of batches)
      for (const stretch of batch.stretches) this.fillStretch(packets, batch, stretch, now, fall);
  }

  private fillStretch(packets: Packets, batch: Batch, stretch: Stretch, now: number, fall: number): void {
    const { base, tick, offered, wait, transmission, propagation, flow, kind, fate } = batch;
    const { link, longest } = stretch;
    const [first, end] = rowsBetween(batch, stretch, now - longest * tick - fall, now);
    for (let i = first; i < end; i++) {
      const since = now - base - offered[i] * tick;
      const waits = wait[i] * tick;
      if (since < waits) {
        this.queues[link].push(flow[i]);
        continue;
      }
      const takes = transmission[i] * tick;
      const name = packets.fates[fate[i]];
      // One that was under way when the run ended would have gone on.
      const delay = Math.max(propagation[i] * tick, name === "in_flight" ? packets.links[link].delay_ns : 0);
      if (name !== "delivered" && name !== "in_flight") {
        // What was transmitted and is lost all the same never came out at the far end.
        const far = name === "host" || takes > 0;
        const gone = since - (far ? waits + takes + delay : waits);
        if (gone >= 0) {
          if (gone < fall) this.drop(link, far, gone / fall, flow[i], kind[i], name);
          continue;
        }
      }
      const run = since - waits;
      if (run >= takes + delay) continue;
      const deadline = batch.deadline[i];
      const late = deadline !== null && since > deadline * 1e6;
      this.fly(link, run, takes, delay, flow[i], kind[i], late, batch.mark[i] === 1);
    }
  }

  /** Without packets: how long queues were at the last sample, and drops as events tell of them. Seconds. */
  fillCoarsely(
    links: string[],
    flows: string[],
    lines: Line[],
    events: Events | null,
    now: number,
    fall: number,
  ): void {
    this.clear(links.length);
    for (const line of lines) {
      const link = line.metric === "queue_packets" ? links.indexOf(line.entity) : -1;
      const length = valueAt(line, now);
      if (link >= 0 && length > 0) for (let i = 0; i < length; i++) this.queues[link].push(UNKNOWN);
    }
    if (!events) return;
    const drop = events.event.names.indexOf("drop");
    for (let row = firstAbove(events.time, now) - 1; row >= 0 && now - events.time[row] < fall; row--) {
      const link = links.indexOf(events.entity.names[events.entity.codes[row]]);
      if (events.event.codes[row] !== drop || link < 0) continue;
      const flow = events.flow.codes[row] < 0 ? UNKNOWN : flows.indexOf(events.flow.names[events.flow.codes[row]]);
      const cause = events.cause.codes[row] < 0 ? "" : events.cause.names[events.cause.codes[row]];
      this.drop(link, cause === "host", (now - events.time[row]) / fall, flow, UNKNOWN, cause);
    }
  }

  private fly(
    link: number,
    run: number,
    takes: number,
    delay: number,
    flow: number,
    kind: number,
    late: boolean,
    marked: boolean,
  ): void {
    const { flying } = this;
    const i = flying.count++;
    // Where a link has no delay to speak of, a packet is seen to cross it while it is transmitted.
    const length = Math.max(delay, takes, 1);
    flying.link[i] = link;
    flying.head[i] = Math.min(run / length, 1);
    flying.tail[i] = Math.min(Math.max((run - takes) / length, 0), 1);
    flying.flow[i] = flow;
    flying.kind[i] = kind;
    flying.late[i] = late;
    flying.marked[i] = marked;
  }

  private drop(link: number, far: boolean, age: number, flow: number, kind: number, cause: string): void {
    const { falling } = this;
    const i = falling.count++;
    falling.link[i] = link;
    falling.far[i] = far;
    falling.age[i] = age;
    falling.flow[i] = flow;
    falling.kind[i] = kind;
    falling.cause[i] = cause;
  }
}
