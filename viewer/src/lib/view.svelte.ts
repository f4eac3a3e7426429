/** State of the page: records, time, flow and zoom. Panels read it, and change it through its methods. */
import { SvelteSet } from "svelte/reactivity";
import { groupFlows, type FlowGroup } from "./flow-groups.ts";
import { formatPlace, parsePlace, type Place } from "./place.ts";
import { openRecord, type RunRecord } from "./record.ts";
import type { Source } from "./source.ts";
import type { Finding, Listing } from "./types.ts";

/** Number of runs that are selected at the start. */
const INITIAL_RUNS = 4;

export const SPEEDS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10];

/** Shortest time range of the charts: the labels of the axes have no more digits. */
const MIN_RANGE_S = 1e-5;

/** Polling intervals: while a run is in progress, and to detect runs that are repeated. */
const POLL_RUNNING_MS = 1000;
const POLL_FINISHED_MS = 4000;

/** Update interval of numbers during playback, slow enough to read them. */
const TEXT_UPDATE_MS = 120;

export class View {
  listings = $state.raw<Listing[]>([]);
  /** The ids of the selected runs, and the records of those that have data. */
  chosen = $state.raw<string[]>([]);
  records = $state.raw<RunRecord[]>([]);
  /** Error messages about records that could not be opened. */
  problems = $state.raw<string[]>([]);
  loaded = $state(false);
  /** Whether the server has stopped answering. */
  serverGone = $state(false);
  /** Address of the replication report of the papers, or null. */
  papers = $state<string | null>(null);
  /** Findings of all records and between them, by time. */
  findings = $state.raw<Finding[]>([]);
  /** Findings between the records; null for a single record. */
  between = $state.raw<Promise<Finding[] | null>>(Promise.resolve(null));

  /** Seconds since the start of the run. `t` changes with every frame, `shown` at a readable pace. */
  t = $state(0);
  shown = $state(0);
  playing = $state(false);
  speed = $state(0.02);
  flow = $state<string | null>(null);
  zoom = $state.raw<[number, number] | null>(null);

  /** Selected runs that are in progress. */
  running = $derived(this.listings.filter((listing) => listing.in_progress && this.chosen.includes(listing.id)));
  /** Selected runs in progress that have no data yet. */
  withoutData = $derived(this.running.filter((listing) => !hasData(listing)));
  /** End of the longest run. */
  end = $derived(Math.max(0, ...this.records.map((record) => record.summary.interval.to)));
  /** Time range of the charts. */
  range = $derived<[number, number]>(this.zoom ?? [0, this.end]);
  /** Names of the flows of all records. A name has the same color in all of them. */
  flows = $derived([...new Set(this.records.flatMap((record) => record.summary.flows.map((flow) => flow.name)))]);
  /** Groups of these flows. */
  groups = $derived(groupFlows(this.records.flatMap((record) => record.summary.flows)));
  /** The ids of the groups whose flows are shown. */
  readonly opened = new SvelteSet<string>();
  private groupOfFlow = $derived(new Map(this.groups.flatMap((group, i) => group.flows.map((flow) => [flow, i]))));
  private places = $derived(new Map(this.flows.map((flow, i) => [flow, i])));

  private readonly cache = new Map<string, RunRecord>();
  private speedChosen = false;
  private shownAt = 0;
  private address = "";

  constructor(private readonly source: Source) {}

  async start(): Promise<void> {
    try {
      this.listings = withUniqueNames(await this.source.list());
    } catch (error) {
      this.problems = [(error as Error).message];
    }
    const place = parsePlace(location.hash);
    if (this.listings.length > 0) await this.go(place);
    // For a run in progress, start at the newest data.
    if (place.t === undefined && this.running.length > 0) this.seek(this.end);
    this.loaded = true;
    this.papers = await this.source.papers().catch(() => null);
    void this.poll();
  }

  private async poll(): Promise<void> {
    // Records in a report have no revisions and are never polled.
    while (this.listings.some((listing) => listing.in_progress || listing.revision !== undefined)) {
      const intervalMs = this.listings.some((listing) => listing.in_progress) ? POLL_RUNNING_MS : POLL_FINISHED_MS;
      await new Promise((done) => setTimeout(done, intervalMs));
      const [before, had] = [this.running, this.listings];
      try {
        this.listings = withUniqueNames(await this.source.list());
      } catch (error) {
        // Report the error only for runs in progress: finished records are already loaded.
        if (this.running.length > 0) this.problems = [...this.problems, (error as Error).message];
        this.serverGone = true;
        return;
      }
      const changed = before.filter((was) => {
        const is = this.listings.find((listing) => listing.id === was.id);
        return is && (is.in_progress !== was.in_progress || JSON.stringify(is.files) !== JSON.stringify(was.files));
      });
      const rerun = this.listings.filter((is) => {
        const was = had.find((listing) => listing.id === is.id);
        return was && !was.in_progress && was.revision !== is.revision;
      });
      for (const { id } of rerun) this.cache.delete(id);
      if (rerun.some(({ id }) => this.chosen.includes(id))) await this.choose(this.chosen);
      if (changed.length === 0) continue;
      const [first, atEnd] = [this.records.length === 0, this.t >= this.end];
      await this.choose(this.chosen);
      // With the first data, go to the place in the address. Later, stay at the end of the run if it was shown.
      if (first && this.records.length > 0)
        await this.go({
          t: this.running.length > 0 ? this.end : this.records[0].summary.interval.from,
          ...parsePlace(location.hash),
        });
      else if (atEnd && !this.playing) this.seek(this.end);
    }
  }

  /** Goes to a place. Without a flow or zoom in the place, these are reset; records, time and speed are kept. */
  async go(place: Place): Promise<void> {
    const known = (place.records ?? []).filter((id) => this.listings.some((listing) => listing.id === id));
    if (known.length > 0 || this.chosen.length === 0)
      await this.choose(known.length > 0 ? known : this.listings.slice(0, INITIAL_RUNS).map((listing) => listing.id));
    this.flow = place.flow !== undefined && this.flows.includes(place.flow) ? place.flow : null;
    if (place.zoom) this.setZoom(...place.zoom);
    else this.zoom = null;
    if (place.speed !== undefined) this.setSpeed(place.speed);
    if (place.t !== undefined) this.seek(place.t);
    else if (!this.loaded) this.seek(this.records[0]?.summary.interval.from ?? 0);
  }

  /** Selects records, in the order of the command. */
  async choose(ids: string[]): Promise<void> {
    const chosen = this.listings.filter((listing) => ids.includes(listing.id));
    this.chosen = chosen.map((listing) => listing.id);
    const problems: string[] = [];
    const records: RunRecord[] = [];
    for (const listing of chosen) {
      if (!hasData(listing)) continue;
      try {
        const record = this.cache.get(listing.id) ?? (await openRecord(this.source, listing));
        // A record in progress is not cached.
        if (!listing.in_progress) this.cache.set(listing.id, record);
        // Keep the previous record until the new one is loaded.
        else
          await Promise.allSettled([
            record.has("series.arrow") && record.series(),
            record.has("events.arrow") && record.events(),
          ]);
        records.push(record);
      } catch (error) {
        problems.push((error as Error).message);
        // Keep the last data of a run in progress.
        records.push(...this.records.filter((shown) => shown.id === listing.id && shown.listing.in_progress));
      }
    }
    this.records = records;
    this.between = Promise.resolve(
      records.length > 1 ? this.source.findings(records.map((record) => record.id)) : null,
    );
    this.problems = problems;
    this.seek(this.t);
    void this.loadFindings(records);
  }

  /** Loads the findings. Errors are shown in the panel of findings. */
  private async loadFindings(records: RunRecord[]): Promise<void> {
    const read = await Promise.allSettled([...records.map((record) => record.findings()), this.between]);
    if (records !== this.records) return;
    const found = read.flatMap((one) => (one.status === "fulfilled" ? (one.value ?? []) : []));
    this.findings = found.sort((a, b) => a.time_from_s - b.time_from_s);
  }

  seek(t: number): void {
    this.t = Math.min(Math.max(t, 0), this.end || t);
    const now = performance.now();
    if (!this.playing || now - this.shownAt > TEXT_UPDATE_MS) {
      this.shown = this.t;
      this.shownAt = now;
    }
    // Scroll the charts when the time leaves their range.
    if (this.zoom && (this.t < this.zoom[0] || this.t > this.zoom[1])) {
      const width = this.zoom[1] - this.zoom[0];
      const from = this.playing ? this.t : Math.max(0, this.t - width / 2);
      this.zoom = [from, from + width];
    }
  }

  /** Zooms to a time range within the run. An empty range shows the whole run. */
  setZoom(from: number, to: number): void {
    const start = Math.max(0, from);
    const stop = Math.min(to, this.end);
    this.zoom = stop - start >= MIN_RANGE_S && stop - start < this.end ? [start, stop] : null;
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

  /** Sets the speed, unless the user has selected one. */
  proposeSpeed(speed: number): void {
    if (!this.speedChosen) this.speed = speed;
  }

  select(flow: string | null): void {
    this.flow = this.flow === flow ? null : flow;
  }

  /** Shows or hides the flows of a group. */
  toggle({ id }: FlowGroup): void {
    if (!this.opened.delete(id)) this.opened.add(id);
  }

  /** Returns the group of a flow if it has several flows and does not show them. */
  closedGroupOf(flow: string): FlowGroup | undefined {
    const group = this.groups[this.groupOfFlow.get(flow) ?? -1];
    return group && group.flows.length > 1 && !this.opened.has(group.id) ? group : undefined;
  }

  /** Returns the index of the color of a flow. Each group has one color; a flow of an open group has its own. */
  placeOf(flow: string): number {
    const group = this.groupOfFlow.get(flow) ?? -1;
    if (group < 0 || !this.opened.has(this.groups[group].id)) return group;
    return this.groups.length + this.places.get(flow)!;
  }

  /** Returns a link to another place in the selected records. */
  href(place: Place): string {
    return formatPlace({
      flow: this.flow ?? undefined,
      zoom: this.zoom ?? undefined,
      records: this.chosen,
      ...place,
    });
  }

  /** Writes the current place into the address, so that it can be shared. */
  updateAddress(): void {
    const hash = this.href({ t: this.t, speed: this.speedChosen ? this.speed : undefined });
    if (hash === this.address) return;
    this.address = hash;
    history.replaceState(null, "", location.pathname + location.search + hash);
  }
}

/** Returns whether a run has data; a run in progress may have none yet. */
function hasData({ in_progress, files }: Listing): boolean {
  return !in_progress || files.some((file) => file.name === "summary.json");
}

/** Appends the number of the folder to names that are not unique. */
function withUniqueNames(listings: Listing[]): Listing[] {
  return listings.map((listing, i) => {
    const shared = listings.some((other) => other !== listing && other.name === listing.name);
    return shared ? { ...listing, name: `${listing.name} (${i + 1})` } : listing;
  });
}
