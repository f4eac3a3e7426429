/** Where records come from: the server of `headway view`, or the page itself (a report). */
import type { Finding, Listing } from "./types.ts";

export interface Source {
  list(): Promise<Listing[]>;
  file(id: string, name: string): Promise<Uint8Array>;
  /** `length` bytes of a file from `offset` on. */
  range(id: string, name: string, offset: number, length: number): Promise<Uint8Array>;
  /** What stands out in a record, or between several, which may be nothing; null where nobody has looked. */
  findings(ids: string[]): Promise<Finding[] | null>;
  /** Where the replication report of the papers is, if there is one. */
  papers(): Promise<string | null>;
}

/** What went wrong, in words that say what to do. */
export class SourceError extends Error {}

/** What an answer without the data means. `words` are the server's: they name a file that is damaged. */
function refused(path: string, status: number, words: string): SourceError {
  const why = [status, words.trim()].filter(Boolean).join(": ");
  if (status === 404)
    return new SourceError(`The server has no ${path} (${why}). Was the record moved? Load the page again.`);
  return new SourceError(`The server cannot answer (${why}). If a file is damaged, run the scenario again.`);
}

interface Answer {
  status: number;
  bytes: Uint8Array;
}

class Server implements Source {
  private last: Promise<unknown> = Promise.resolve();

  constructor(private readonly token: string | null) {}

  /** One at a time: then one connection is enough, and answers arrive in the order of the questions. */
  private get(path: string, keys: string[][] = [], headers: Record<string, string> = {}): Promise<Answer> {
    const answer = this.last.then(() => this.ask(path, keys, headers));
    this.last = answer.catch(() => undefined);
    return answer;
  }

  private async ask(path: string, keys: string[][], headers: Record<string, string>): Promise<Answer> {
    const query = new URLSearchParams(keys);
    if (this.token !== null) query.set("token", this.token);
    let answer: Answer;
    try {
      const response = await fetch(`/api/${path}${query.size > 0 ? `?${query}` : ""}`, { headers });
      answer = { status: response.status, bytes: new Uint8Array(await response.arrayBuffer()) };
    } catch {
      throw new SourceError(
        "The server does not answer. The command that showed this has ended: `headway view` of a record that is left shows it again.",
      );
    }
    const { status } = answer;
    if (status === 401 || status === 403)
      throw new SourceError(
        "The server does not know this page's token. Open the address that `headway view` printed.",
      );
    if (status < 200 || status > 299) throw refused(path, status, new TextDecoder().decode(answer.bytes));
    return answer;
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
    // A server that knows no ranges sends everything.
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
  /** Base64, by file. */
  files: Record<string, string>;
}

interface EmbeddedData {
  records: EmbeddedRecord[];
  /** What stands out between records, by their numbers, as `0,1`. */
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
    if (text === undefined) throw new SourceError(`This report was made without ${name}.`);
    const binary = atob(text);
    const bytes = new Uint8Array(binary.length);
    for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
    return bytes;
  }

  /** Four characters are three bytes: only those that hold the range are decoded. */
  async range(id: string, name: string, offset: number, length: number) {
    const text = this.records.get(id)?.files[name];
    if (text === undefined) throw new SourceError(`This report was made without ${name}.`);
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

/** The page's own records if it has any, otherwise the server that it came from. */
export function openSource(): Source {
  const data = document.getElementById("headway-data");
  if (data) return new Embedded(JSON.parse(data.textContent ?? ""));
  return new Server(new URLSearchParams(location.search).get("token"));
}
