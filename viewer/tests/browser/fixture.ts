/** Two small records, served to a browser, for the tests of a file. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll } from "vitest";
import { makeDumbbell, type Dumbbell } from "../dumbbell.ts";
import { serve } from "../serve.mjs";
import { launch } from "./harness.ts";

/** How long a drop is in sight, in seconds of watching; as in the panel. */
const FALL_S = 0.8;

export interface Served {
  browser: Browser;
  /** For files of a test's own. */
  folder: string;
  one: Dumbbell;
  two: Dumbbell;
  /** The page with the first of them, and with both; more of a place may follow. */
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

/** What the hops say, counted one by one. */
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
