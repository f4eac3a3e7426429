/** What the page shows: which records, at which instant, of which flow. Every panel reads it, and changes it through its methods. */
import { formatPlace, parsePlace, type Place } from "./place.ts";
import { openRecord, type RunRecord } from "./record.ts";
import type { Source } from "./source.ts";
import type { Finding, Listing } from "./types.ts";

/** So many runs are shown over one another unasked. */
const SHOWN_AT_FIRST = 4;

export const SPEEDS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10];

/** The shortest stretch of time that curves show: axes have no numbers for less. */
const NARROWEST_S = 1e-5;

/** How often the server is asked whether a run is done that was under way; and whether one that is done was run again. */
const ASK_MS = 1000;
const ASK_AGAIN_MS = 4000;

/** While it plays, numbers change this often: faster, nobody can read them. */
const READABLE_MS = 120;

export class View {
  listings = $state.raw<Listing[]>([]);
  /** The runs that were chosen, and the records of those that are there. */
  chosen = $state.raw<string[]>([]);
  records = $state.raw<RunRecord[]>([]);
  /** What could not be opened, as sentences. */
  problems = $state.raw<string[]>([]);
  loaded = $state(false);
  /** Nobody answers any more. */
  deserted = $state(false);
  /** Where the papers' report is, if there is one. */
  papers = $state<string | null>(null);
  /** What is worth looking at, of all records and between them, by time. */
  findings = $state.raw<Finding[]>([]);
  /** What is worth looking at between the records, where there are several. */
  between = $state.raw<Promise<Finding[] | null>>(Promise.resolve(null));

  /** Seconds since the start of the run; `t` moves with every frame, `shown` at a pace that can be read. */
  t = $state(0);
  shown = $state(0);
  playing = $state(false);
  speed = $state(0.02);
  flow = $state<string | null>(null);
  zoom = $state.raw<[number, number] | null>(null);

  /** Runs that were chosen and are still under way. */
  awaited = $derived(this.listings.filter((listing) => listing.in_progress && this.chosen.includes(listing.id)));
  /** Those of which nothing is there yet. */
  unseen = $derived(this.awaited.filter((listing) => !isThere(listing)));
  /** Where the longest of the runs ends. */
  end = $derived(Math.max(0, ...this.records.map((record) => record.summary.interval.to)));
  /** The stretch of time that curves show. */
  range = $derived<[number, number]>(this.zoom ?? [0, this.end]);
  /** Flows of all records: one of the same name looks the same in each. */
  flows = $derived([...new Set(this.records.flatMap((record) => record.summary.flows.map((flow) => flow.name)))]);
  private places = $derived(new Map(this.flows.map((flow, i) => [flow, i])));

  private readonly opened = new Map<string, RunRecord>();
  private speedChosen = false;
  private shownAt = 0;
  private address = "";

  constructor(private readonly source: Source) {}

  async start(): Promise<void> {
    try {
      this.listings = distinct(await this.source.list());
    } catch (error) {
      this.problems = [(error as Error).message];
    }
    const place = parsePlace(location.hash);
    if (this.listings.length > 0) await this.go(place);
    // Of a run under way the newest is what is wanted.
    if (place.t === undefined && this.awaited.length > 0) this.seek(this.end);
    this.loaded = true;
    this.papers = await this.source.papers().catch(() => null);
    void this.follow();
  }

  private async follow(): Promise<void> {
    // A page that holds its records has no revisions.
    while (this.listings.some((listing) => listing.in_progress || listing.revision !== undefined)) {
      const asks = this.listings.some((listing) => listing.in_progress) ? ASK_MS : ASK_AGAIN_MS;
      await new Promise((done) => setTimeout(done, asks));
      const [before, had] = [this.awaited, this.listings];
      try {
        this.listings = distinct(await this.source.list());
      } catch (error) {
        // Who looks at records that are done has all that is shown.
        if (this.awaited.length > 0) this.problems = [...this.problems, (error as Error).message];
        this.deserted = true;
        return;
      }
      const grown = before.filter((was) => {
        const is = this.listings.find((listing) => listing.id === was.id);
        return is && (is.in_progress !== was.in_progress || JSON.stringify(is.files) !== JSON.stringify(was.files));
      });
      const rerun = this.listings.filter((is) => {
        const was = had.find((listing) => listing.id === is.id);
        return was && !was.in_progress && was.revision !== is.revision;
      });
      for (const { id } of rerun) this.opened.delete(id);
      if (rerun.some(({ id }) => this.chosen.includes(id))) await this.choose(this.chosen);
      if (grown.length === 0) continue;
      const [first, atEnd] = [this.records.length === 0, this.t >= this.end];
      await this.choose(this.chosen);
      // The address still names the place that was to be shown; who looks at the newest goes on doing so.
      if (first && this.records.length > 0)
        await this.go({
          t: this.awaited.length > 0 ? this.end : this.records[0].summary.interval.from,
          ...parsePlace(location.hash),
        });
      else if (atEnd && !this.playing) this.seek(this.end);
    }
  }

  /** Goes to a place. A place without a flow or a zoom is one of all flows and all of the time; records, instant and speed stay. */
  async go(place: Place): Promise<void> {
    const known = (place.records ?? []).filter((id) => this.listings.some((listing) => listing.id === id));
    if (known.length > 0 || this.chosen.length === 0)
      await this.choose(known.length > 0 ? known : this.listings.slice(0, SHOWN_AT_FIRST).map((listing) => listing.id));
    this.flow = place.flow !== undefined && this.flows.includes(place.flow) ? place.flow : null;
    if (place.zoom) this.setZoom(...place.zoom);
    else this.zoom = null;
    if (place.speed !== undefined) this.setSpeed(place.speed);
    if (place.t !== undefined) this.seek(place.t);
    else if (!this.loaded) this.seek(this.records[0]?.summary.interval.from ?? 0);
  }

  /** Shows these records over one another, in the order of the command, whoever was chosen first. */
  async choose(ids: string[]): Promise<void> {
    const chosen = this.listings.filter((listing) => ids.includes(listing.id));
    this.chosen = chosen.map((listing) => listing.id);
    const problems: string[] = [];
    const records: RunRecord[] = [];
    for (const listing of chosen) {
      if (!isThere(listing)) continue;
      try {
        const record = this.opened.get(listing.id) ?? (await openRecord(this.source, listing));
        // One that grows is read anew.
        if (!listing.in_progress) this.opened.set(listing.id, record);
        // What was shown stays until all of the new is there.
        else
          await Promise.allSettled([
            record.has("series.arrow") && record.series(),
            record.has("events.arrow") && record.events(),
          ]);
        records.push(record);
      } catch (error) {
        problems.push((error as Error).message);
        // What was seen of a run under way stays, whoever has ended.
        records.push(...this.records.filter((shown) => shown.id === listing.id && shown.listing.in_progress));
      }
    }
    this.records = records;
    this.between = Promise.resolve(
      records.length > 1 ? this.source.findings(records.map((record) => record.id)) : null,
    );
    this.problems = problems;
    this.seek(this.t);
    void this.find(records);
  }

  /** Findings that cannot be read are told of in their panel. */
  private async find(records: RunRecord[]): Promise<void> {
    const read = await Promise.allSettled([...records.map((record) => record.findings()), this.between]);
    if (records !== this.records) return;
    const found = read.flatMap((one) => (one.status === "fulfilled" ? (one.value ?? []) : []));
    this.findings = found.sort((a, b) => a.time_from_s - b.time_from_s);
  }

  seek(t: number): void {
    this.t = Math.min(Math.max(t, 0), this.end || t);
    const now = performance.now();
    if (!this.playing || now - this.shownAt > READABLE_MS) {
      this.shown = this.t;
      this.shownAt = now;
    }
    // The curves turn the page when the time runs out of them.
    if (this.zoom && (this.t < this.zoom[0] || this.t > this.zoom[1])) {
      const width = this.zoom[1] - this.zoom[0];
      const from = this.playing ? this.t : Math.max(0, this.t - width / 2);
      this.zoom = [from, from + width];
    }
  }

  /** Shows a stretch of time, as much of it as there is; all of it if that is none. */
  setZoom(from: number, to: number): void {
    const start = Math.max(0, from);
    const stop = Math.min(to, this.end);
    this.zoom = stop - start >= NARROWEST_S && stop - start < this.end ? [start, stop] : null;
  }

  play(playing: boolean): void {
    if (playing && this.t >= this.end) this.seek(0);
    this.playing = playing && this.end > 0;
    this.shown = this.t;
  }

  setSpeed(speed: number): void {
    this.speed = speed;
    this.speedChosen = true;
  }

  /** The speed at which a hop can be followed, unless the reader has chosen one. */
  proposeSpeed(speed: number): void {
    if (!this.speedChosen) this.speed = speed;
  }

  select(flow: string | null): void {
    this.flow = this.flow === flow ? null : flow;
  }

  placeOf(flow: string): number {
    return this.places.get(flow) ?? -1;
  }

  /** A link to another place of what is shown. */
  href(place: Place): string {
    return formatPlace({
      flow: this.flow ?? undefined,
      zoom: this.zoom ?? undefined,
      records: this.chosen,
      ...place,
    });
  }

  /** Writes where we are into the address, so that it can be sent to somebody. */
  note(): void {
    const hash = this.href({ t: this.t, speed: this.speedChosen ? this.speed : undefined });
    if (hash === this.address) return;
    this.address = hash;
    history.replaceState(null, "", location.pathname + location.search + hash);
  }
}

/** Of a run under way there may be nothing yet. */
function isThere({ in_progress, files }: Listing): boolean {
  return !in_progress || files.some((file) => file.name === "summary.json");
}

/** Folders may have a name in common: then each has its place behind it. */
function distinct(listings: Listing[]): Listing[] {
  return listings.map((listing, i) => {
    const shared = listings.some((other) => other !== listing && other.name === listing.name);
    return shared ? { ...listing, name: `${listing.name} (${i + 1})` } : listing;
  });
}
