/** Advances the time of the view during playback. */
import type { View } from "./view.svelte.ts";

/** Limits the step after a pause, so that a tab that was hidden resumes at its previous time. */
const MAX_FRAME_S = 0.1;

/** Starts the clock. Returns a function that stops it. */
export function run(view: View): () => void {
  let last = performance.now();
  let frame = requestAnimationFrame(function step(now) {
    const passed = Math.min((now - last) / 1000, MAX_FRAME_S);
    last = now;
    view.seek(view.t + passed * view.speed);
    if (view.t >= view.end) view.play(false);
    frame = requestAnimationFrame(step);
  });
  return () => cancelAnimationFrame(frame);
}
