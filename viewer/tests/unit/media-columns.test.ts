import { describe, expect, it } from "vitest";
import type { Column } from "../../src/lib/columns.ts";
import { DISPLAY_COLUMNS, FRAME_COLUMNS, frameFates, QUEUE_COLUMNS } from "../../src/lib/media-columns.ts";

const cells = <Of>(columns: Column<Of>[], of: Of) =>
  columns.map(({ title, unit, valueOf, format }) => `${title}: ${format(valueOf(of))} ${unit}`.trim());
const worst = <Of>(columns: Column<Of>[]) => columns.map(({ worst }) => worst);

const queue = {
  written_packets: 1200,
  sent_packets: 1000,
  refused_packets: 1,
  pushed_out_packets: 2,
  expired_packets: 197,
  mean_wait_s: 0.0123,
  max_wait_s: null,
  late_packets: 190,
  mean_lateness_s: 0.0151,
};
const frames = {
  written_frames: 100,
  complete_frames: 97,
  on_time_frames: 90,
  complete_ratio: 0.97,
  on_time_ratio: 0.9,
  delay_s: { mean: 0.03, p50: 0.03, p95: 0.08, p99: 0.1, max: 0.2 },
};

describe("the columns of send queues", () => {
  it("have the counters of the summary", () => {
    expect(cells(QUEUE_COLUMNS, queue)).toEqual([
      "written: 1,200 packets",
      "sent: 1,000 packets",
      "refused: 1 packets",
      "pushed out: 2 packets",
      "expired: 197 packets",
      "mean wait: 12.3 ms",
      "max wait: – ms",
      "too late: 190 packets",
      "lateness: 15.1 ms",
    ]);
    expect(worst(QUEUE_COLUMNS)).toEqual([undefined, undefined, ...new Array(7).fill("highest")]);
  });
});

describe("the columns of frames", () => {
  it("divide the written frames into those on time, late and incomplete", () => {
    expect(cells(FRAME_COLUMNS, frames)).toEqual([
      "written: 100 frames",
      "on time: 90 frames",
      "late: 7 frames",
      "incomplete: 3 frames",
      "complete: 97 %",
      "on time: 90 %",
      "95 % within: 80 ms",
    ]);
    expect(worst(FRAME_COLUMNS)).toEqual([undefined, "lowest", "highest", "highest", "lowest", "lowest", "highest"]);
  });

  it("have neither late frames nor frames on time without deadlines", () => {
    const { on_time_frames: _, on_time_ratio: __, ...without } = frames;
    expect(cells(FRAME_COLUMNS, without).filter((cell) => cell.includes("–"))).toEqual([
      "on time: – frames",
      "late: – frames",
      "on time: – %",
    ]);
    expect(frameFates(without)).toEqual({ good: 97, late: 0, incomplete: 3 });
  });
});

describe("the columns of displayed video", () => {
  it("have its freezes", () => {
    const display = { displayed_frames: 143, freezes: 2, frozen_s: 1.234, longest_gap_s: 0.8 };
    expect(cells(DISPLAY_COLUMNS, display)).toEqual([
      "shown: 143 frames",
      "freezes: 2",
      "frozen: 1.23 s",
      "longest gap: 800 ms",
    ]);
    expect(worst(DISPLAY_COLUMNS)).toEqual(["lowest", "highest", "highest", "highest"]);
  });
});
