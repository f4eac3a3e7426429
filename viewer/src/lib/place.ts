/** A place in the records, as the part of the address behind `#`: what is shown, of which flow, at which instant. */
export interface Place {
  /** Seconds since the start of the run. */
  t?: number;
  flow?: string;
  records?: string[];
  /** The stretch of time that the curves show. */
  zoom?: [number, number];
  speed?: number;
}

/** A run in a day, a day in a minute. */
const SLOWEST = 1e-5;
const FASTEST = 1e3;

const finite = (text: string | null) => {
  const value = text === null || text === "" ? NaN : Number(text);
  return Number.isFinite(value) && value >= 0 ? value : undefined;
};

/** Anybody can write an address: what makes no sense in it is left out. */
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
  // Records count in nanoseconds: a place that is rounded to fewer is before the event that it is to show.
  if (place.t !== undefined) keys.set("t", short(place.t, 9));
  if (place.flow) keys.set("flow", place.flow);
  for (const id of place.records ?? []) keys.append("record", id);
  if (place.zoom) keys.set("zoom", place.zoom.map((end) => short(end, 6)).join("~"));
  if (place.speed !== undefined) keys.set("speed", String(place.speed));
  return `#${keys}`;
}
