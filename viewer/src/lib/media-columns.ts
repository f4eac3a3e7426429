/** Columns of the tables of send queues, of frames and of displayed video. */
import { countColumn, delayColumn, shareColumn, type Column } from "./columns.ts";
import type { Display, FrameKind, QueueKind } from "./types.ts";

export const QUEUE_COLUMNS: Column<QueueKind>[] = [
  countColumn("written", "packets", (queue) => queue.written_packets),
  countColumn("sent", "packets", (queue) => queue.sent_packets),
  countColumn("refused", "packets", (queue) => queue.refused_packets, "highest"),
  countColumn("pushed out", "packets", (queue) => queue.pushed_out_packets, "highest"),
  countColumn("expired", "packets", (queue) => queue.expired_packets, "highest"),
  delayColumn("mean wait", (queue) => queue.mean_wait_s),
  delayColumn("max wait", (queue) => queue.max_wait_s),
  countColumn("too late", "packets", (queue) => queue.late_packets, "highest"),
  delayColumn("lateness", (queue) => queue.mean_lateness_s),
];

/** Returns the numbers of frames that were on time, late and incomplete; without deadlines, complete and incomplete. */
export function frameFates(frames: FrameKind): { good: number; late: number; incomplete: number } {
  const good = frames.on_time_frames ?? frames.complete_frames;
  return { good, late: frames.complete_frames - good, incomplete: frames.written_frames - frames.complete_frames };
}

const hasDeadlines = (frames: FrameKind) => frames.on_time_frames !== undefined;

export const FRAME_COLUMNS: Column<FrameKind>[] = [
  countColumn("written", "frames", (frames) => frames.written_frames),
  countColumn("on time", "frames", (frames) => frames.on_time_frames, "lowest"),
  countColumn("late", "frames", (frames) => (hasDeadlines(frames) ? frameFates(frames).late : null), "highest"),
  countColumn("incomplete", "frames", (frames) => frameFates(frames).incomplete, "highest"),
  shareColumn("complete", (frames) => frames.complete_ratio, "lowest"),
  shareColumn("on time", (frames) => frames.on_time_ratio, "lowest"),
  delayColumn("95 % within", (frames) => frames.delay_s?.p95),
];

export const DISPLAY_COLUMNS: Column<Display>[] = [
  countColumn("shown", "frames", (display) => display.displayed_frames, "lowest"),
  countColumn("freezes", "", (display) => display.freezes, "highest"),
  countColumn("frozen", "s", (display) => display.frozen_s, "highest"),
  delayColumn("longest gap", (display) => display.longest_gap_s),
];
