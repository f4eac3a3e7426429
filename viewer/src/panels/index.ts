/** Panels in the order of the page. To add a panel, add a file to this folder and an entry to `PANELS`. */
import type { Component } from "svelte";
import type { View } from "../lib/view.svelte.ts";
import EventMarks from "./EventMarks.svelte";
import Findings from "./Findings.svelte";
import Flows from "./Flows.svelte";
import Frames from "./Frames.svelte";
import SendQueue from "./SendQueue.svelte";
import Series from "./Series.svelte";
import Topology from "./Topology.svelte";

export interface Panel {
  id: string;
  title: string;
  /** Column on a wide screen. On a narrow screen, panels of the left column are first. */
  side: "left" | "right";
  component: Component<{ view: View }>;
}

export const PANELS: Panel[] = [
  { id: "findings", title: "Findings", side: "left", component: Findings },
  { id: "topology", title: "Animation", side: "left", component: Topology },
  { id: "flows", title: "Flows", side: "left", component: Flows },
  { id: "events", title: "Events", side: "right", component: EventMarks },
  { id: "series", title: "Time series", side: "right", component: Series },
  { id: "send-queue", title: "Send queue", side: "left", component: SendQueue },
  { id: "frames", title: "Frames", side: "left", component: Frames },
];
