import { describe, expect, it } from "vitest";
import { readEvents } from "../../src/lib/events.ts";
import { lossesByCause } from "../../src/lib/losses.ts";
import { eventsFile } from "../arrow-file.ts";

const drop = (time_s: number, flow: string, cause: string, kind = "video") => ({
  time_s,
  event: "drop",
  entity: "a->b",
  flow,
  kind,
  cause,
});
const events = readEvents(
  eventsFile([
    drop(1, "call", "queue_full"),
    drop(1, "ftp", "queue_full", "data"),
    { time_s: 1.5, event: "unsent", entity: "call", flow: "call", kind: "video", cause: "expired" },
    drop(2, "call", "channel"),
    drop(2.5, "call", "channel", "feedback"),
    drop(3, "call", "queue_full"),
  ]),
);
const lines = (flow: string | null, end = 4) =>
  lossesByCause(events, flow, end).map(({ cause, times, values }) => [cause, [...times], [...values]]);

describe("lost packets by cause", () => {
  it("are the data packets that were lost since the start of the run", () => {
    expect(lines(null)).toEqual([
      ["channel", [0, 2, 4], [0, 1, 1]],
      ["queue_full", [0, 1, 1, 3, 4], [0, 1, 2, 3, 3]],
    ]);
  });

  it("are those of one flow, which may have none", () => {
    expect(lines("ftp")).toEqual([["queue_full", [0, 1, 4], [0, 1, 1]]]);
    expect(lines("none")).toEqual([]);
  });

  it("end with the last one if the record omits events", () => {
    const omitting = readEvents(eventsFile([drop(1, "call", "channel"), drop(2, "call", "channel")], { drop: 1 }));
    expect(lossesByCause(omitting, null, 4).map(({ times }) => [...times])).toEqual([[0, 1, 2]]);
  });

  it("may be lost after the end of the interval", () => {
    expect(lines("ftp", 0.5)).toEqual([["queue_full", [0, 1, 1], [0, 1, 1]]]);
  });
});
