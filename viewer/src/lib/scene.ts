/** Positions of packets at one time: in flight, waiting and dropped. Each frame fills the same arrays again. */
import type { Events } from "./events.ts";
import { rowsBetween, type Batch, type Packets, type LinkRows } from "./packets.ts";
import { firstAbove } from "./search.ts";
import { valueAt, type Line } from "./series.ts";

/** An unknown flow or kind. */
export const UNKNOWN = -1;

export class Scene {
  /** Packets in flight: entry `i` of each array describes packet `i`. */
  readonly flying = {
    count: 0,
    link: [] as number[],
    /** Positions of the first and the last bit on the link, from 0 to 1. */
    head: [] as number[],
    tail: [] as number[],
    flow: [] as number[],
    kind: [] as number[],
    late: [] as boolean[],
    marked: [] as boolean[],
    batch: [] as Batch[],
    row: [] as number[],
  };
  /** Packets that were dropped recently. */
  readonly falling = {
    count: 0,
    link: [] as number[],
    /** Whether the packet was dropped at the far end of the link. */
    far: [] as boolean[],
    /** From 0, at the drop, to 1, at the end of the animation. */
    age: [] as number[],
    flow: [] as number[],
    kind: [] as number[],
    cause: [] as string[],
    batch: [] as (Batch | null)[],
    row: [] as number[],
  };
  /** For each link, the flows of the waiting packets, in the order of transmission. */
  readonly queues: number[][] = [];
  /** For each link, the hops of the waiting packets, in the same order; none if only samples are known. */
  readonly waiting: { batch: Batch[]; row: number[] }[] = [];
  /** Whether hops at this time have not been loaded yet. */
  missing = false;

  private clear(links: number): void {
    this.flying.count = 0;
    this.falling.count = 0;
    this.missing = false;
    while (this.queues.length < links) {
      this.queues.push([]);
      this.waiting.push({ batch: [], row: [] });
    }
    for (const queue of this.queues) queue.length = 0;
    for (const { batch, row } of this.waiting) batch.length = row.length = 0;
  }

  /** Clears the scene until packets are loaded. */
  await(links: number): void {
    this.clear(links);
    this.missing = true;
  }

  /** Fills the scene from packets. `now` is in ns; a drop is visible for `fall` ns. */
  fill(packets: Packets, now: number, fall: number): void {
    this.clear(packets.links.length);
    // A hop that is still in flight may be in an earlier batch.
    const { batches, missing } = packets.between(now - fall, now);
    this.missing = missing;
    for (const batch of batches) for (const rows of batch.linkRows) this.fillLinkRows(packets, batch, rows, now, fall);
  }

  private fillLinkRows(packets: Packets, batch: Batch, rows: LinkRows, now: number, fall: number): void {
    const { base, tick, offered, wait, transmission, propagation, flow, kind, fate } = batch;
    const { link, longest } = rows;
    const [first, end] = rowsBetween(batch, rows, now - longest * tick - fall, now);
    for (let i = first; i < end; i++) {
      const since = now - base - offered[i] * tick;
      const waits = wait[i] * tick;
      if (since < waits) {
        this.queues[link].push(flow[i]);
        this.waiting[link].batch.push(batch);
        this.waiting[link].row.push(i);
        continue;
      }
      const takes = transmission[i] * tick;
      const name = packets.fates[fate[i]];
      // A packet in flight at the end of the run keeps moving for the delay of its link.
      const delay = Math.max(propagation[i] * tick, name === "in_flight" ? packets.links[link].delay_ns : 0);
      if (name !== "delivered" && name !== "in_flight") {
        // A packet that was transmitted and then lost falls at the far end.
        const far = name === "host" || takes > 0;
        const gone = since - (far ? waits + takes + delay : waits);
        if (gone >= 0) {
          if (gone < fall) this.drop(link, far, gone / fall, flow[i], kind[i], name, batch, i);
          continue;
        }
      }
      const run = since - waits;
      if (run >= takes + delay) continue;
      const deadline = batch.deadline[i];
      const late = deadline !== null && since > deadline * 1e6;
      this.fly(link, run, takes, delay, late, batch, i);
    }
  }

  /** Fills the scene from the queue lengths of samples and the drops of events. Times are in seconds. */
  fillFromSamples(
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
      this.drop(link, cause === "host", (now - events.time[row]) / fall, flow, UNKNOWN, cause, null, 0);
    }
  }

  private fly(link: number, run: number, takes: number, delay: number, late: boolean, batch: Batch, row: number): void {
    const { flying } = this;
    const i = flying.count++;
    // On a link with almost no delay, the packet crosses the link while it is transmitted.
    const length = Math.max(delay, takes, 1);
    flying.link[i] = link;
    flying.head[i] = Math.min(run / length, 1);
    flying.tail[i] = Math.min(Math.max((run - takes) / length, 0), 1);
    flying.flow[i] = batch.flow[row];
    flying.kind[i] = batch.kind[row];
    flying.late[i] = late;
    flying.marked[i] = batch.mark[row] === 1;
    flying.batch[i] = batch;
    flying.row[i] = row;
  }

  private drop(
    link: number,
    far: boolean,
    age: number,
    flow: number,
    kind: number,
    cause: string,
    batch: Batch | null,
    row: number,
  ): void {
    const { falling } = this;
    const i = falling.count++;
    falling.link[i] = link;
    falling.far[i] = far;
    falling.age[i] = age;
    falling.flow[i] = flow;
    falling.kind[i] = kind;
    falling.cause[i] = cause;
    falling.batch[i] = batch;
    falling.row[i] = row;
  }
}
