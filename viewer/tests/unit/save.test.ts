import { expect, it } from "vitest";
import { csv } from "../../src/lib/save.ts";

it("names in CSV files cannot become formulas", () => {
  expect(
    csv([
      ["time_s", "=cmd()", 'a "b", c'],
      [0.1, 5, NaN],
    ]),
  ).toBe('time_s,\'=cmd(),"a ""b"", c"\n0.1,5,\n');
});
