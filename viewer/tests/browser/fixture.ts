/** Serves two small records to a browser for the tests of a file. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll } from "vitest";
import { makeDumbbell, type Dumbbell } from "../dumbbell.ts";
import { serve } from "../serve.mjs";
import { launch } from "./harness.ts";

/** Duration of the animation of a drop, in seconds of real time, as in Motion.svelte. */
const FALL_S = 0.8;

export interface Served {
  browser: Browser;
  /** Folder for files of individual tests. */
  folder: string;
  one: Dumbbell;
  two: Dumbbell;
  /** Addresses of the page with the first record and with both. A test may append to them. */
  url: string;
  both: string;
}

export function serveTwo(): Served {
  const served = {} as Served;
  let server: Awaited<ReturnType<typeof serve>> | undefined;
  beforeAll(async () => {
    served.browser = await launch();
    served.folder = mkdtempSync(join(tmpdir(), "headway-viewer-"));
    served.one = makeDumbbell(join(served.folder, "one"));
    served.two = makeDumbbell(join(served.folder, "two"), { gap: 9e6 });
    server = await serve([served.one.folder, served.two.folder]);
    served.both = server.url;
    served.url = `${server.url}#record=0`;
  });
  afterAll(async () => {
    await served.browser?.close();
    await server?.close();
    rmSync(served.folder, { recursive: true, force: true });
  });
  return served;
}

export const sample = (record: Dumbbell, entity: string, metric: string, at: number) =>
  record.samples.findLast(([t, e, m]) => e === entity && m === metric && t <= at)![3];

/** Counts packets from the hops of the record. */
export function expected(record: Dumbbell, seconds: number, speed: number) {
  const now = seconds * 1e9;
  const fall = FALL_S * speed * 1e9;
  const counts = { flying: 0, waiting: 0, falling: 0 };
  for (const hop of record.hops) {
    const delay = hop.propagation;
    const start = hop.offered + hop.wait;
    if (hop.offered > now) continue;
    if (now < start) counts.waiting++;
    else if (hop.fate === 0 && now < start + hop.transmission + delay) counts.flying++;
    else if (hop.fate !== 0 && now - start < fall) counts.falling++;
  }
  return counts;
}
