import { expect, it } from "vitest";
import { readEvents, rowsOf, word } from "../../src/lib/events.ts";
import { eventsFile } from "../arrow-file.ts";

it("events.arrow is read as columns", () => {
  const events = readEvents(
    eventsFile([
      {
        time_s: 1.25,
        event: "drop",
        entity: "a->b",
        flow: "ftp",
        kind: "data",
        cause: "early",
        sequence: 7,
        bytes: 1040,
      },
      { time_s: 2, event: "timeout", entity: "ftp", flow: "ftp" },
      {
        time_s: 3,
        event: "unsent",
        entity: "call",
        flow: "call",
        kind: "audio",
        cause: "expired",
        bytes: 160,
        late_s: 0.034,
      },
    ]),
  );
  expect([...events.time]).toEqual([1.25, 2, 3]);
  expect(rowsOf(events, "drop", "unsent")).toEqual([0, 2]);
  expect(word(events.cause, 0)).toBe("early");
  expect(word(events.cause, 1)).toBeNull();
  expect(events.sequence[0]).toBe(7);
  expect(events.sequence[1]).toBeNaN();
  expect(events.late[2]).toBeCloseTo(0.034, 12);
});

it("events.arrow has the number of omitted events", () => {
  const rows = [{ time_s: 1, event: "drop", entity: "a->b" }];
  expect(readEvents(eventsFile(rows, { drop: 37856, late: 4 })).leftOut).toBe(37860);
  expect(readEvents(eventsFile(rows)).leftOut).toBe(0);
});
