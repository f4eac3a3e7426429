/** One record: what its summary says, and its other files, read when a panel asks for them and then kept. */
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
    return this.once("series.arrow", async (name) => readSeries(await this.source.file(this.id, name)));
  }

  events(): Promise<Events> {
    return this.once("events.arrow", async (name) => readEvents(await this.source.file(this.id, name)));
  }

  packets(): Promise<Packets> {
    return this.once("packets.arrow", () => openPackets(this.source, this.id));
  }

  findings(): Promise<Finding[] | null> {
    return this.once("its findings", () => this.source.findings([this.id]));
  }

  private once<T>(name: string, read: (name: string) => Promise<T>): Promise<T> {
    let found = this.read.get(name) as Promise<T> | undefined;
    if (!found) {
      found = read(name).catch((error: Error) => {
        throw error instanceof SourceError
          ? error
          : new Error(`${name} of ${this.name} cannot be read (${error.message}). Run it again.`);
      });
      this.read.set(name, found);
    }
    return found;
  }
}

export async function openRecord(source: Source, listing: Listing): Promise<RunRecord> {
  let summary: Summary;
  const bytes = await source.file(listing.id, "summary.json");
  try {
    summary = JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    throw new SourceError(`summary.json of ${listing.name} is no JSON. Run it again.`);
  }
  if (!Array.isArray(summary.flows) || !Array.isArray(summary.links) || !summary.interval)
    throw new SourceError(
      `summary.json of ${listing.name} has no flows, links or interval: is it a record of \`headway run\`?`,
    );
  return new RunRecord(source, listing, summary);
}
