/** Sources of records: the server of `headway view`, or the page itself (a report). */
import type { Finding, Listing } from "./types.ts";

export interface Source {
  list(): Promise<Listing[]>;
  file(id: string, name: string): Promise<Uint8Array>;
  /** Returns `length` bytes of a file, starting at `offset`. */
  range(id: string, name: string, offset: number, length: number): Promise<Uint8Array>;
  /** Returns the findings of a record, or between several records; null if they were not computed. */
  findings(ids: string[]): Promise<Finding[] | null>;
  /** Returns the address of the replication report of the papers, or null. */
  papers(): Promise<string | null>;
}

/** An error whose message includes advice for the user. */
export class SourceError extends Error {}

/** Returns the error for a response without data. `message` is that of the server, which names a damaged file. */
function statusError(path: string, status: number, message: string): SourceError {
  const reason = [status, message.trim()].filter(Boolean).join(": ");
  if (status === 404)
    return new SourceError(`The server has no ${path} (${reason}). The record may have been moved. Reload the page.`);
  return new SourceError(`The server reported an error (${reason}). If a file is damaged, run the scenario again.`);
}

interface Reply {
  status: number;
  bytes: Uint8Array;
}

class Server implements Source {
  private last: Promise<unknown> = Promise.resolve();

  constructor(private readonly token: string | null) {}

  /** Sends one request at a time: one connection is enough, and responses arrive in order. */
  private get(path: string, keys: string[][] = [], headers: Record<string, string> = {}): Promise<Reply> {
    const reply = this.last.then(() => this.request(path, keys, headers));
    this.last = reply.catch(() => undefined);
    return reply;
  }

  private async request(path: string, keys: string[][], headers: Record<string, string>): Promise<Reply> {
    const query = new URLSearchParams(keys);
    if (this.token !== null) query.set("token", this.token);
    let reply: Reply;
    try {
      const response = await fetch(`/api/${path}${query.size > 0 ? `?${query}` : ""}`, { headers });
      reply = { status: response.status, bytes: new Uint8Array(await response.arrayBuffer()) };
    } catch {
      throw new SourceError(
        "The server does not answer: the command that served this page has ended. If the record was kept, open it with `headway view`.",
      );
    }
    const { status } = reply;
    if (status === 401 || status === 403)
      throw new SourceError(
        "The server rejected the token of this page. Open the address that `headway view` printed.",
      );
    if (status < 200 || status > 299) throw statusError(path, status, new TextDecoder().decode(reply.bytes));
    return reply;
  }

  private async json<T>(path: string, keys: string[][] = []): Promise<T> {
    return JSON.parse(new TextDecoder().decode((await this.get(path, keys)).bytes)) as T;
  }

  list() {
    return this.json<Listing[]>("records");
  }

  async file(id: string, name: string) {
    return (await this.get(`records/${encodeURIComponent(id)}/${name}`)).bytes;
  }

  async range(id: string, name: string, offset: number, length: number) {
    const headers = { Range: `bytes=${offset}-${offset + length - 1}` };
    const { status, bytes } = await this.get(`records/${encodeURIComponent(id)}/${name}`, [], headers);
    // A server without range support sends the whole file.
    return status === 206 ? bytes : bytes.subarray(offset, offset + length);
  }

  findings(ids: string[]) {
    return this.json<Finding[] | null>(
      "findings",
      ids.map((id) => ["record", id]),
    );
  }

  async papers() {
    if (!(await this.json<boolean>("papers"))) return null;
    return this.token === null ? "/papers" : `/papers?token=${encodeURIComponent(this.token)}`;
  }
}

interface EmbeddedRecord {
  id: string;
  name: string;
  /** Contents in base64, by file name. */
  files: Record<string, string>;
}

interface EmbeddedData {
  records: EmbeddedRecord[];
  /** Findings between records, by the list of record numbers, such as `0,1`. */
  between?: Record<string, Finding[]>;
}

class Embedded implements Source {
  private readonly records: Map<string, EmbeddedRecord>;
  private readonly between: Map<string, Finding[]>;

  constructor({ records, between = {} }: EmbeddedData) {
    this.records = new Map(records.map((record) => [record.id, record]));
    this.between = new Map(Object.entries(between));
  }

  async list() {
    return [...this.records.values()].map(({ id, name, files }) => ({
      id,
      name,
      complete: true,
      files: Object.entries(files).map(([file, text]) => ({ name: file, bytes: Math.floor((text.length * 3) / 4) })),
    }));
  }

  async file(id: string, name: string) {
    const text = this.records.get(id)?.files[name];
    if (text === undefined) throw new SourceError(`This report does not contain ${name}.`);
    const binary = atob(text);
    const bytes = new Uint8Array(binary.length);
    for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
    return bytes;
  }

  /** Decodes only the characters of the range: four characters are three bytes. */
  async range(id: string, name: string, offset: number, length: number) {
    const text = this.records.get(id)?.files[name];
    if (text === undefined) throw new SourceError(`This report does not contain ${name}.`);
    const first = Math.floor(offset / 3);
    const binary = atob(text.slice(first * 4, Math.ceil((offset + length) / 3) * 4));
    const bytes = new Uint8Array(length);
    for (let i = 0; i < length; i++) bytes[i] = binary.charCodeAt(offset - first * 3 + i);
    return bytes;
  }

  async findings(ids: string[]) {
    if (ids.length > 1) return this.between.get(ids.join(",")) ?? null;
    const [id] = ids;
    if (this.records.get(id)?.files["findings.json"] === undefined) return null;
    return JSON.parse(new TextDecoder().decode(await this.file(id, "findings.json"))) as Finding[];
  }

  async papers() {
    return null;
  }
}

/** Returns the records in the page if it has any, otherwise the server of the page. */
export function openSource(): Source {
  const data = document.getElementById("headway-data");
  if (data) return new Embedded(JSON.parse(data.textContent ?? ""));
  return new Server(new URLSearchParams(location.search).get("token"));
}
