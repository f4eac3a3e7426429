/** Runs `headway` for tests of its records: HEADWAY=PROGRAM, or the binary in `target/`. */
import { tableFromIPC } from "@uwdata/flechette";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import "../../src/lib/arrow.ts";
import type { Summary } from "../../src/lib/types.ts";

export const ROOT = new URL("../../../", import.meta.url).pathname;

const found = [process.env.HEADWAY, join(ROOT, "target/release/headway"), join(ROOT, "target/debug/headway")].find(
  (program) => program && existsSync(program),
);
/** Whether the binary exists. Without it, tests that need it are skipped. */
export const BUILT = found !== undefined;
if (!BUILT) console.log("tests of records are skipped: target/release/headway is missing (cargo build --release)");
const PROGRAM = found ?? "headway";

/** Runs a scenario, given by its path from the root of the repository, with additional `--set` options. */
export function run(scenario: string, folder: string, ...options: string[]): void {
  const set = options.flatMap((option) => ["--set", option]);
  execFileSync(PROGRAM, ["run", join(ROOT, scenario), ...set, "--trace", "packets", "--out", folder], {
    stdio: "pipe",
  });
}

/** Starts `headway view`. */
export async function view(folders: string[]): Promise<{ url: string; close: () => Promise<void> }> {
  const server = spawn(PROGRAM, ["view", "--no-open", ...folders], { stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(server, "exit");
  const address = once(createInterface(server.stdout), "line").then(([line]) => String(line).trim());
  const url = await Promise.race([address, ended.then(() => Promise.reject(new Error("headway view ended")))]);
  return {
    url,
    close: async () => {
      server.kill("SIGINT");
      await ended;
    },
  };
}

export const file = (folder: string, name: string) => readFileSync(join(folder, name));
export const summaryOf = (folder: string): Summary => JSON.parse(file(folder, "summary.json").toString());

/** Returns the rows of a table of a record, read without the code of the viewer. */
export const rowsOf = (folder: string, name: string): Record<string, any>[] =>
  tableFromIPC(new Uint8Array(file(folder, name))).toArray();
