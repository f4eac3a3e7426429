import { expect, it } from "vitest";
import { csv } from "../../src/lib/save.ts";

it("numbers are saved so that a spreadsheet takes no name for a formula", () => {
  expect(
    csv([
      ["time_s", "=cmd()", 'a "b", c'],
      [0.1, 5, NaN],
    ]),
  ).toBe('time_s,\'=cmd(),"a ""b"", c"\n0.1,5,\n');
});
