import { expect, test } from "vitest";
import { ariaSort, arrow, clicked, ordered } from "../../src/lib/sort.ts";

test("numbers and names are in order, and missing values are last in both directions", () => {
  const rows = [3, NaN, 1, null, 2, undefined];
  expect(ordered(rows, (row) => row, false)).toEqual([1, 2, 3, NaN, null, undefined]);
  expect(ordered(rows, (row) => row, true)).toEqual([3, 2, 1, NaN, null, undefined]);
  expect(ordered(["call10", "call9", "b"], (row) => row, false)).toEqual(["b", "call9", "call10"]);
  expect(rows).toEqual([3, NaN, 1, null, 2, undefined]);
});

test("the second click on a column reverses the order", () => {
  const first = clicked<string>(null, "loss", true);
  expect(first).toEqual({ by: "loss", down: true });
  expect(clicked(first, "loss", true)).toEqual({ by: "loss", down: false });
  expect(clicked(first, "flow", false)).toEqual({ by: "flow", down: false });
  expect([arrow(first, "loss"), arrow(first, "flow"), ariaSort(first, "loss"), ariaSort(first, "flow")]).toEqual([
    " ↓",
    "",
    "descending",
    undefined,
  ]);
});
