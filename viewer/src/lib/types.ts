/** The parts of `summary.json` and of server responses that this page uses (see docs/src/records.md). */
export interface Listing {
  id: string;
  name: string;
  complete: boolean;
  /** Changes when the run is repeated. */
  revision?: string;
  /** Whether the run is in progress. */
  in_progress?: boolean;
  /** Whether the run was killed. */
  killed?: boolean;
  files: { name: string; bytes: number }[];
}

export interface Finding {
  time_from_s: number;
  time_to_s: number;
  severity: "problem" | "note";
  /** A flow or a link; null for the whole run. */
  subject: string | null;
  text: string;
}

/** Numbers by cause. */
export type Counts = Record<string, number>;

export interface Delay {
  mean: number;
  p50: number;
  p95: number;
  p99: number;
  max: number;
}

export interface QueueKind {
  written_packets: number;
  sent_packets: number;
  refused_packets: number;
  pushed_out_packets: number;
  expired_packets: number;
  mean_wait_s: number | null;
  max_wait_s: number | null;
  late_packets: number;
  mean_lateness_s: number | null;
}

export interface FrameKind {
  written_frames: number;
  complete_frames: number;
  /** Absent if no frame has a deadline. */
  on_time_frames?: number;
  complete_ratio: number | null;
  on_time_ratio?: number | null;
  delay_s: Delay | null;
}

/** Video as a viewer sees it. */
export interface Display {
  displayed_frames: number;
  freezes: number | null;
  frozen_s: number | null;
  longest_gap_s: number | null;
}

export interface FlowSummary {
  name: string;
  from: string;
  to: string;
  kind: string;
  sent_packets: number;
  received_packets: number;
  lost_packets: Counts;
  in_flight_packets: number;
  throughput_bps: number;
  goodput_bps: number;
  loss_ratio: number;
  one_way_delay_s: Delay | null;
  on_time_ratio: Record<string, number | null>;
  frames?: Record<string, FrameKind>;
  display?: Display;
  send_queue?: Record<string, QueueKind>;
  connection_failure?: string;
}

export interface LinkSummary {
  name: string;
  from: string;
  to: string;
  mean_queue_packets: number;
  peak_queue_packets: number;
  dropped_packets: Counts;
  utilisation: number;
}

export interface Summary {
  version: string;
  name: string;
  seed: number;
  complete: boolean;
  interval: { from: number; to: number };
  flows: FlowSummary[];
  links: LinkSummary[];
  packet_hops: number;
  fingerprint: string;
}
