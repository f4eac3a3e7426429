/** A place in the records, stored in the address after `#`: runs, flow, time, zoom and speed. */
export interface Place {
  /** Seconds since the start of the run. */
  t?: number;
  flow?: string;
  records?: string[];
  /** Time range of the charts. */
  zoom?: [number, number];
  speed?: number;
}

/** Limits of the speed: one second of a run in a day, a day in about a minute and a half. */
const SLOWEST = 1e-5;
const FASTEST = 1e3;

const finite = (text: string | null) => {
  const value = text === null || text === "" ? NaN : Number(text);
  return Number.isFinite(value) && value >= 0 ? value : undefined;
};

/** Parses an address. Invalid values are ignored, because addresses can be edited. */
export function parsePlace(hash: string): Place {
  const keys = new URLSearchParams(hash.replace(/^#/, ""));
  const place: Place = {};
  const t = finite(keys.get("t"));
  if (t !== undefined) place.t = t;
  const flow = keys.get("flow");
  if (flow) place.flow = flow;
  const records = keys.getAll("record").filter((id) => id !== "");
  if (records.length > 0) place.records = records;
  const [from, to] = (keys.get("zoom") ?? "").split("~").map(finite);
  if (from !== undefined && to !== undefined && from < to) place.zoom = [from, to];
  const speed = finite(keys.get("speed"));
  if (speed !== undefined && speed >= SLOWEST && speed <= FASTEST) place.speed = speed;
  return place;
}

const short = (seconds: number, digits: number) => String(Number(seconds.toFixed(digits)));

export function formatPlace(place: Place): string {
  const keys = new URLSearchParams();
  // Records have a resolution of 1 ns. A coarser time could be before the event of the link.
  if (place.t !== undefined) keys.set("t", short(place.t, 9));
  if (place.flow) keys.set("flow", place.flow);
  for (const id of place.records ?? []) keys.append("record", id);
  if (place.zoom) keys.set("zoom", place.zoom.map((end) => short(end, 6)).join("~"));
  if (place.speed !== undefined) keys.set("speed", String(place.speed));
  return `#${keys}`;
}
