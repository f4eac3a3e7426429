/**
 * Decodes one LZ4 frame, the format of compressed Arrow buffers (LZ4 frame format 1.6, lz4_Frame_format.md).
 *
 * Checksums are not verified: `checksums.txt` of a record has stronger ones. Lengths that exceed the input or the
 * output are an error.
 */
const MAGIC = 0x184d2204;
/** Maximum block size by the three bits of the descriptor. Values below 4 are reserved. */
const BLOCK_SIZES = [0, 0, 0, 0, 1 << 16, 1 << 18, 1 << 20, 1 << 22];

const damaged = () => new Error("a compressed buffer is damaged");

export function decodeLz4Frame(source: Uint8Array): Uint8Array {
  const view = new DataView(source.buffer, source.byteOffset, source.byteLength);
  if (source.length < 7 || view.getUint32(0, true) !== MAGIC) throw damaged();
  const flags = source[4];
  if (flags >> 6 !== 1) throw damaged();
  const blockChecksum = (flags & 0x10) !== 0;
  const contentSize = (flags & 0x08) !== 0;
  const dictionary = (flags & 0x01) !== 0;
  const blockSize = BLOCK_SIZES[(source[5] >> 4) & 7];
  if (blockSize === 0) throw damaged();

  let at = 6 + (contentSize ? 8 : 0) + (dictionary ? 4 : 0) + 1;
  // The content size may be forged: it is only a hint for the first allocation. A byte of LZ4 yields at most 255 bytes.
  const hint = contentSize && source.length >= 14 ? Number(view.getBigUint64(6, true)) : source.length * 4;
  let out = new Uint8Array(Math.min(hint, source.length * 255));
  let length = 0;
  for (;;) {
    if (at + 4 > source.length) throw damaged();
    const header = view.getUint32(at, true);
    at += 4;
    if (header === 0) return out.subarray(0, length);
    const stored = header >>> 31 === 1;
    const size = header & 0x7fffffff;
    if (at + size > source.length) throw damaged();
    if (stored) {
      out = withCapacity(out, length, size);
      out.set(source.subarray(at, at + size), length);
      length += size;
    } else {
      out = withCapacity(out, length, Math.min(blockSize, size * 255));
      length = decodeBlock(source, at, at + size, out, length);
    }
    at += size + (blockChecksum ? 4 : 0);
  }
}

/** Returns a buffer with the first `length` bytes of `out` and space for `more` bytes. */
function withCapacity(out: Uint8Array<ArrayBuffer>, length: number, more: number): Uint8Array<ArrayBuffer> {
  if (length + more <= out.length) return out;
  const larger = new Uint8Array(Math.max(length + more, out.length * 2));
  larger.set(out.subarray(0, length));
  return larger;
}

/** Decodes `source[from..to]` into `out`, starting at `at`. Returns the end of the output. */
function decodeBlock(source: Uint8Array, from: number, to: number, out: Uint8Array, at: number): number {
  let read = from;
  let write = at;
  while (read < to) {
    const token = source[read++];
    let literals = token >> 4;
    if (literals === 15) {
      let more = 255;
      while (more === 255) {
        if (read >= to) throw damaged();
        more = source[read++];
        literals += more;
      }
    }
    if (read + literals > to || write + literals > out.length) throw damaged();
    for (const end = read + literals; read < end;) out[write++] = source[read++];
    // The last sequence has literals only.
    if (read === to) break;

    if (read + 2 > to) throw damaged();
    const distance = source[read] | (source[read + 1] << 8);
    read += 2;
    let match = (token & 15) + 4;
    if (match === 19) {
      let more = 255;
      while (more === 255) {
        if (read >= to) throw damaged();
        more = source[read++];
        match += more;
      }
    }
    if (distance === 0 || distance > write || write + match > out.length) throw damaged();
    // A match may overlap its own output; then it is copied byte by byte. So are short matches, which is faster.
    if (match <= distance && match > 32) {
      out.copyWithin(write, write - distance, write - distance + match);
      write += match;
    } else for (const end = write + match; write < end; write++) out[write] = out[write - distance];
  }
  return write;
}
