/** Columns of tables of flows. Their units are in the head, so that the cells are narrow. */
import type { Worst } from "./aggregate.ts";
import { count, number } from "./format.ts";

type Value = number | null | undefined;

export interface Column<Of> {
  title: string;
  unit: string;
  /** The value in the unit of the column; absent if there is none. */
  valueOf: (of: Of) => Value;
  format: (value: Value) => string;
  additive: boolean;
  /** Absent if no value is better than another. */
  worst?: Worst;
}

type ValueOf<Of> = Column<Of>["valueOf"];

function scaled<Of>(valueOf: ValueOf<Of>, factor: number): ValueOf<Of> {
  return (of) => {
    const value = valueOf(of);
    return value == null ? value : value * factor;
  };
}

export function rateColumn<Of>(title: string, valueOf: ValueOf<Of>): Column<Of> {
  return { title, unit: "Mb/s", valueOf: scaled(valueOf, 1e-6), format: number, additive: true, worst: "lowest" };
}
export function countColumn<Of>(title: string, unit: string, valueOf: ValueOf<Of>, worst?: Worst): Column<Of> {
  return { title, unit, valueOf, format: count, additive: true, worst };
}
export function shareColumn<Of>(title: string, valueOf: ValueOf<Of>, worst: Worst): Column<Of> {
  return { title, unit: "%", valueOf: scaled(valueOf, 100), format: number, additive: false, worst };
}
export function delayColumn<Of>(title: string, valueOf: ValueOf<Of>): Column<Of> {
  return { title, unit: "ms", valueOf: scaled(valueOf, 1000), format: number, additive: false, worst: "highest" };
}
