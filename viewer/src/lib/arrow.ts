/** Reads columns of Arrow files. */
import { CompressionType, setCompressionCodec, tableFromIPC, type Column, type Table } from "@uwdata/flechette";
import { decodeLz4Frame } from "./lz4.ts";

setCompressionCodec(CompressionType.LZ4_FRAME, {
  decode: decodeLz4Frame,
  encode: () => {
    throw new Error("compression is not supported");
  },
});

/** A column of strings: for each row an index into `names`, or -1 for null. */
export interface Words {
  codes: Int32Array;
  names: string[];
}

export function readTable(bytes: Uint8Array | Uint8Array[]): Table {
  try {
    return tableFromIPC(bytes);
  } catch {
    // The errors of the library are about its code, not about the file.
    throw new Error("it is damaged or not an Arrow file");
  }
}

export function column(table: Table, name: string): Column<unknown> {
  const found = table.getChild(name) as Column<unknown> | null | undefined;
  if (!found) throw new Error(`the column ${name} is missing`);
  return found;
}

/** Returns a column as numbers, with NaN for null. Nanoseconds are exact up to 104 days. */
export function numbers(table: Table, name: string): Float64Array {
  const source = column(table, name);
  const out = new Float64Array(source.length);
  let row = 0;
  for (const batch of source.data) {
    for (let i = 0; i < batch.length; i++) {
      const value = batch.at(i);
      out[row++] = value === null ? NaN : Number(value);
    }
  }
  return out;
}

export function words(table: Table, name: string): Words {
  const source = column(table, name);
  const codes = new Int32Array(source.length);
  const names: string[] = [];
  const known = new Map<string, number>();
  const code = (word: string) => {
    let found = known.get(word);
    if (found === undefined) {
      found = names.push(word) - 1;
      known.set(word, found);
    }
    return found;
  };
  let row = 0;
  for (const batch of source.data) {
    // Convert each dictionary key once, not once per row.
    const keys = "cache" in batch ? batch.values : undefined;
    const ours: number[] = [];
    for (let i = 0; i < batch.length; i++, row++) {
      if (keys) {
        const key = Number(keys[i]);
        if (batch.nullCount > 0 && !batch.isValid(i)) codes[row] = -1;
        else codes[row] = ours[key] ??= code(String(batch.value(i)));
      } else {
        const value = batch.at(i);
        codes[row] = value === null ? -1 : code(String(value));
      }
    }
  }
  return { codes, names };
}
