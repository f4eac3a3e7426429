/** Keyboard shortcuts. The key `?` shows this list. */
import { SPEEDS, type View } from "./view.svelte.ts";

interface Key {
  keys: string[];
  label: string;
  text: string;
  act: (view: View, event: KeyboardEvent) => void;
}

const step = (view: View, direction: number, event: KeyboardEvent) => {
  // The step is 0.1 s of playback time; with Shift, 2 s.
  view.seek(view.t + direction * view.speed * (event.shiftKey ? 2 : 0.1));
};

const faster = (view: View, by: number) => {
  const at = SPEEDS.findIndex((speed) => speed >= view.speed);
  view.setSpeed(SPEEDS[Math.min(Math.max((at < 0 ? SPEEDS.length - 1 : at) + by, 0), SPEEDS.length - 1)]);
};

/** Zooms the charts around the current time. */
const zoom = (view: View, factor: number) => {
  const [from, to] = view.range;
  const width = Math.max((to - from) * factor, 1e-4);
  const start = Math.min(Math.max(0, view.t - width / 2), Math.max(0, view.end - width));
  view.setZoom(start, start + width);
};

/** Seeks to the next finding (1) or the previous one (-1). */
const seekFinding = (view: View, direction: 1 | -1) => {
  const ahead = view.findings.filter((finding) => direction * (finding.time_from_s - view.t) > 1e-6);
  const next = direction === 1 ? ahead[0] : ahead.at(-1);
  if (next) view.seek(next.time_from_s);
};

export const KEYS: Key[] = [
  { keys: [" ", "k"], label: "Space", text: "play or pause", act: (view) => view.play(!view.playing) },
  {
    keys: ["ArrowLeft"],
    label: "←",
    text: "step back; with Shift further",
    act: (view, event) => step(view, -1, event),
  },
  {
    keys: ["ArrowRight"],
    label: "→",
    text: "step forward; with Shift further",
    act: (view, event) => step(view, 1, event),
  },
  { keys: ["-"], label: "-", text: "slower", act: (view) => faster(view, -1) },
  { keys: ["+", "="], label: "+", text: "faster", act: (view) => faster(view, 1) },
  { keys: ["Home"], label: "Home", text: "to the start", act: (view) => view.seek(0) },
  { keys: ["End"], label: "End", text: "to the end", act: (view) => view.seek(view.end) },
  { keys: ["n"], label: "n", text: "to the next finding", act: (view) => seekFinding(view, 1) },
  { keys: ["p"], label: "p", text: "to the previous finding", act: (view) => seekFinding(view, -1) },
  { keys: ["z"], label: "z", text: "zoom the charts in", act: (view) => zoom(view, 0.5) },
  { keys: ["Z"], label: "Shift+Z", text: "zoom the charts out", act: (view) => zoom(view, 2) },
  { keys: ["0"], label: "0", text: "show the whole run", act: (view) => (view.zoom = null) },
  { keys: ["Escape"], label: "Esc", text: "deselect the flow", act: (view) => (view.flow = null) },
];

/** Runs the shortcut of a key, unless the focused control handles the key itself. */
export function handleKey(view: View, event: KeyboardEvent): void {
  if (event.ctrlKey || event.metaKey || event.altKey || view.records.length === 0) return;
  const target = event.target as HTMLElement;
  if (target.matches("select, textarea") || document.querySelector("dialog[open]")) return;
  if (target.matches("button, a, summary, input[type=checkbox]") && (event.key === " " || event.key === "Enter"))
    return;
  const key = KEYS.find(({ keys }) => keys.includes(event.key));
  if (!key) return;
  key.act(view, event);
  event.preventDefault();
}
