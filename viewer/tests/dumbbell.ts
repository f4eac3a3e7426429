/**
 * Generates a small record with all data that the page shows, by a simple rule: senders share one link with a
 * queue of ten packets. Records of Headway have a separate test.
 */
import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  eventsFile,
  packetsFile,
  seriesFile,
  type EventRow,
  type Hop,
  type PacketsMeta,
  type Sample,
} from "./arrow-file.ts";

export interface Dumbbell {
  folder: string;
  hops: Hop[];
  samples: Sample[];
  events: EventRow[];
  meta: PacketsMeta;
  summary: Record<string, unknown> & { flows: { name: string; throughput_bps: number }[] };
}

const FATES = ["delivered", "queue_full", "early", "channel", "too_big", "host", "policer", "in_flight"];
const LIMIT = 10;
const DELAY = 10e6;

/**
 * `calls` is the number of flows with frames, displayed video and a send queue. `gap` is the time between the packets of
 * one flow, in ns. `names` are arbitrary strings.
 */
export function makeDumbbell(
  folder: string,
  { flows = 2, calls = 1, seconds = 4, gap = 8e6, bytes = 1000, names = [] as string[] } = {},
): Dumbbell {
  const flowNames = Array.from({ length: flows }, (_, i) => names[i] ?? (i === 0 ? "media" : `ftp-${i}`));
  const nodes = (side: string, i: number) => (flows > 8 ? `${side}${i % 4}` : `${side}${i}`);
  const places = [...new Set(flowNames.map((_, i) => i % (flows > 8 ? 4 : flows)))];
  const meta: PacketsMeta = {
    links: [
      ...places.map((i) => ({ name: `s${i}->west`, from: `s${i}`, to: "west", delay_ns: 2e6, rate_bps: 100e6 })),
      { name: "west->east", from: "west", to: "east", delay_ns: DELAY, rate_bps: 2e6 },
      ...places.map((i) => ({ name: `east->d${i}`, from: "east", to: `d${i}`, delay_ns: 2e6, rate_bps: 100e6 })),
    ],
    flows: flowNames,
    kinds: ["audio", "video", "data"],
    fates: FATES,
  };
  const middle = places.length;
  /** The offered load of the shared link is 1.07, so that its queue overflows. */
  const service = Math.round((gap / flows) * 1.07);
  const access = Math.min(80e3, service / 8);
  const hops: Hop[] = [];
  const events: EventRow[] = [];
  const ends: number[] = [];
  const received = flowNames.map(() => 0);
  const lost = flowNames.map(() => 0);
  const sent = flowNames.map(() => 0);
  let free = 0;
  const until = seconds * 1e9;
  for (let n = 0; ; n++) {
    const flow = n % flows;
    const sequence = Math.floor(n / flows);
    const offered = Math.round(sequence * gap + (flow * gap) / flows);
    if (offered >= until) break;
    const kind = flow === 0 ? n % 2 : 2;
    const deadline = flow === 0 ? 100 : null;
    const common = { flow, kind, bytes, sequence, mark: 0, deadline };
    const place = flow % places.length;
    hops.push({
      ...common,
      offered,
      wait: 0,
      transmission: access,
      propagation: 2e6,
      link: place,
      fate: 0,
      queue: 0,
    });
    sent[flow]++;
    const at = offered + access + 2e6;
    while (ends.length > 0 && ends[0] <= at) ends.shift();
    // `ends` has the start times of transmissions: packets wait until then.
    if (ends.length >= LIMIT) {
      hops.push({
        ...common,
        offered: at,
        wait: 0,
        transmission: 0,
        propagation: 0,
        link: middle,
        fate: 1,
        queue: LIMIT,
      });
      events.push({
        time_s: at / 1e9,
        event: "drop",
        entity: "west->east",
        flow: flowNames[flow],
        kind: meta.kinds[kind],
        cause: "queue_full",
        sequence,
        bytes,
      });
      lost[flow]++;
      continue;
    }
    const start = Math.max(at, free);
    if (start > at) ends.push(start);
    free = start + service;
    hops.push({
      ...common,
      offered: at,
      wait: start - at,
      transmission: service,
      propagation: DELAY,
      link: middle,
      fate: 0,
      queue: ends.length,
    });
    const through = free + DELAY;
    hops.push({
      ...common,
      offered: through,
      wait: 0,
      transmission: access,
      propagation: 2e6,
      link: middle + 1 + place,
      fate: 0,
      queue: 0,
    });
    received[flow]++;
  }
  hops.sort((a, b) => a.offered - b.offered);
  const arrived = meta.links.map(() => 0);
  for (const hop of hops) arrived[hop.link]++;
  for (let i = 0; i < 20; i++) {
    const cause = ["refused", "pushed_out", "expired"][i % 3];
    events.push({
      time_s: 0.5 + i * 0.1,
      event: "unsent",
      entity: flowNames[0],
      flow: flowNames[0],
      kind: "audio",
      cause,
      bytes: 160,
      late_s: 0.01 * (i % 3),
    });
  }
  events.sort((a, b) => a.time_s - b.time_s);
  const samples: Sample[] = [];
  for (let step = 1; step <= seconds * 10; step++) {
    const time = step / 10;
    flowNames.forEach((name, i) => {
      samples.push([time, name, "throughput_bps", 1e6 + i * 1e5 + step * 1000]);
      samples.push([time, name, "loss_packets", step * (i + 1)]);
    });
    samples.push([time, "west->east", "queue_packets", step % (LIMIT + 1)]);
  }
  const none = { queue_full: 0, early: 0, channel: 0, too_big: 0, host: 0, policer: 0 };
  const summary = {
    version: "0.1.0",
    name: "dumbbell",
    seed: 1,
    complete: true,
    interval: { from: 0, to: seconds },
    flows: flowNames.map((name, i) => ({
      name,
      from: nodes("s", i),
      to: nodes("d", i),
      kind: i === 0 ? "tfrc" : "tcp-cubic",
      sent_packets: sent[i],
      received_packets: received[i],
      lost_packets: { ...none, queue_full: lost[i] },
      in_flight_packets: 0,
      throughput_bps: (received[i] * bytes * 8) / seconds,
      goodput_bps: (received[i] * (bytes - 40) * 8) / seconds,
      loss_ratio: lost[i] / sent[i],
      one_way_delay_s: { mean: 0.031, p50: 0.03, p95: 0.05, p99: 0.06, max: 0.07 },
      on_time_ratio: i === 0 ? { audio: 0.98 } : {},
      ...(i < calls ? mediaOf(i) : {}),
    })),
    links: meta.links.map((link, i) => ({
      name: link.name,
      from: link.from,
      to: link.to,
      arrived_packets: arrived[i],
      dropped_packets: { ...none, queue_full: i === middle ? lost.reduce((a, b) => a + b, 0) : 0 },
      mean_queue_packets: i === middle ? 5 : 0,
      peak_queue_packets: i === middle ? LIMIT : 0,
      utilisation: 0.5,
    })),
    jain_index: 1,
    packet_hops: hops.length,
    fingerprint: "0000000000000000",
  };
  const findings = [
    {
      time_from_s: 1.5,
      time_to_s: 2,
      severity: "problem",
      subject: flowNames[0],
      text: "lost packets at a full queue.",
    },
    { time_from_s: 0, time_to_s: seconds, severity: "note", subject: "west->east", text: "was the bottleneck." },
    { time_from_s: 3.5, time_to_s: 3.5, severity: "note", subject: null, text: "all queues were empty." },
  ];
  mkdirSync(folder, { recursive: true });
  // Replace files atomically, as `headway` does.
  const write = (name: string, content: string | Uint8Array) => {
    const partial = join(folder, `${name}.partial`);
    writeFileSync(partial, content);
    renameSync(partial, join(folder, name));
  };
  const packets = packetsFile(hops, meta);
  write("summary.json", JSON.stringify(summary));
  write("series.arrow", seriesFile(samples));
  write("events.arrow", eventsFile(events));
  write("packets.arrow", packets.arrow);
  write("packets.index.json", packets.index);
  write("findings.json", JSON.stringify(findings));
  return { folder, hops, samples, events, meta, summary };
}

/** Values of the summary that differ between calls. */
const mediaOf = (i: number) => ({
  frames: {
    audio: {
      written_frames: 100,
      complete_frames: 97 - i,
      on_time_frames: 90 - 2 * i,
      complete_ratio: (97 - i) / 100,
      on_time_ratio: (90 - 2 * i) / 100,
      delay_s: { mean: 0.03, p50: 0.03, p95: 0.08 + i / 1000, p99: 0.1, max: 0.2 },
    },
  },
  display: { displayed_frames: 90 - 2 * i, freezes: i, frozen_s: i / 4, longest_gap_s: 0.1 + i / 100 },
  send_queue: {
    audio: {
      written_packets: 520,
      sent_packets: 500 - i,
      refused_packets: 7,
      pushed_out_packets: 7,
      expired_packets: 6 + i,
      mean_wait_s: 0.004 + i / 1000,
      max_wait_s: 0.1,
      late_packets: 13,
      mean_lateness_s: 0.015,
    },
  },
});
