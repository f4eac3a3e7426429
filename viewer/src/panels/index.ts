/** The panels, in the order of the page. A new one is a file here and a line in this list. */
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
  /** Where it stands on a wide screen; on a narrow one the left ones come first. */
  side: "left" | "right";
  component: Component<{ view: View }>;
}

export const PANELS: Panel[] = [
  { id: "findings", title: "Findings", side: "left", component: Findings },
  { id: "topology", title: "In motion", side: "left", component: Topology },
  { id: "flows", title: "Flows", side: "left", component: Flows },
  { id: "events", title: "Events", side: "right", component: EventMarks },
  { id: "series", title: "Over time", side: "right", component: Series },
  { id: "send-queue", title: "Send queue", side: "left", component: SendQueue },
  { id: "frames", title: "Frames", side: "left", component: Frames },
];
