/** Sorting of tables by a column. */

/** The column `by` which a table is sorted, and whether the largest is first. */
export type Sorted<Column> = { by: Column; down: boolean } | null;

type Key = string | number | null | undefined;

/** Returns the order after a click on a column: the second click on it reverses the first, for which `down` holds. */
export function clicked<Column>(sorted: Sorted<Column>, by: Column, down: boolean): Sorted<Column> {
  return sorted?.by === by ? { by, down: !sorted.down } : { by, down };
}

/** Returns the rows in the order of their keys. Missing keys are last: null, undefined and NaN. */
export function ordered<Row>(rows: Row[], keyOf: (row: Row) => Key, down: boolean): Row[] {
  const keyed = rows.map((row) => ({ row, key: keyOf(row) }));
  keyed.sort(({ key: a }, { key: b }) => {
    if (isMissing(a) || isMissing(b)) return Number(isMissing(a)) - Number(isMissing(b));
    const difference = typeof a === "string" ? a.localeCompare(String(b), "en", { numeric: true }) : a - Number(b);
    return down ? -difference : difference;
  });
  return keyed.map(({ row }) => row);
}

const isMissing = (key: Key): key is null | undefined => key == null || Number.isNaN(key);

/** Returns the mark of a column in the head of the table, and its `aria-sort`. */
export const arrow = <Column>(sorted: Sorted<Column>, by: Column) =>
  sorted?.by === by ? (sorted.down ? " ↓" : " ↑") : "";
export const ariaSort = <Column>(sorted: Sorted<Column>, by: Column) =>
  sorted?.by === by ? (sorted.down ? "descending" : "ascending") : undefined;
