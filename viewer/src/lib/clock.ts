/** Moves the view's time while it plays. */
import type { View } from "./view.svelte.ts";

/** A tab that was hidden for a while goes on where it was, instead of leaping. */
const LONGEST_FRAME_S = 0.1;

/** Starts the clock and answers how to stop it. */
export function run(view: View): () => void {
  let last = performance.now();
  let frame = requestAnimationFrame(function step(now) {
    const passed = Math.min((now - last) / 1000, LONGEST_FRAME_S);
    last = now;
    view.seek(view.t + passed * view.speed);
    if (view.t >= view.end) view.play(false);
    frame = requestAnimationFrame(step);
  });
  return () => cancelAnimationFrame(frame);
}
