/** One record: its summary, and its other files, which are loaded on demand and cached. */
import { readEvents, type Events } from "./events.ts";
import { openPackets, type Packets } from "./packets.ts";
import { readSeries, type Line } from "./series.ts";
import { SourceError, type Source } from "./source.ts";
import type { Finding, Listing, Summary } from "./types.ts";

export class RunRecord {
  private readonly read = new Map<string, Promise<unknown>>();

  constructor(
    private readonly source: Source,
    readonly listing: Listing,
    readonly summary: Summary,
  ) {}

  get id(): string {
    return this.listing.id;
  }

  get name(): string {
    return this.listing.name;
  }

  has(file: string): boolean {
    return this.listing.files.some((listed) => listed.name === file);
  }

  series(): Promise<Line[]> {
    return this.cached("series.arrow", async (name) => readSeries(await this.source.file(this.id, name)));
  }

  events(): Promise<Events> {
    return this.cached("events.arrow", async (name) => readEvents(await this.source.file(this.id, name)));
  }

  packets(): Promise<Packets> {
    return this.cached("packets.arrow", () => openPackets(this.source, this.id));
  }

  findings(): Promise<Finding[] | null> {
    return this.cached("Findings", () => this.source.findings([this.id]));
  }

  private cached<T>(name: string, read: (name: string) => Promise<T>): Promise<T> {
    let cachedPromise = this.read.get(name) as Promise<T> | undefined;
    if (!cachedPromise) {
      cachedPromise = read(name).catch((error: Error) => {
        throw error instanceof SourceError
          ? error
          : new Error(`${name} of ${this.name} cannot be read (${error.message}). Run the scenario again.`);
      });
      this.read.set(name, cachedPromise);
    }
    return cachedPromise;
  }
}

export async function openRecord(source: Source, listing: Listing): Promise<RunRecord> {
  let summary: Summary;
  const bytes = await source.file(listing.id, "summary.json");
  try {
    summary = JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    throw new SourceError(`summary.json of ${listing.name} is not valid JSON. Run the scenario again.`);
  }
  if (!Array.isArray(summary.flows) || !Array.isArray(summary.links) || !summary.interval)
    throw new SourceError(
      `summary.json of ${listing.name} has no flows, links or interval. Check that it is a record of \`headway run\`.`,
    );
  return new RunRecord(source, listing, summary);
}
