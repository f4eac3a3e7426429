import { afterEach, describe, expect, it, vi } from "vitest";
import { openSource } from "../../src/lib/source.ts";

afterEach(() => vi.unstubAllGlobals());

function page(data: string | null, search = "") {
  vi.stubGlobal("document", { getElementById: () => (data === null ? null : { textContent: data }) });
  vi.stubGlobal("location", { search });
}

describe("a report", () => {
  const bytes = Uint8Array.from({ length: 1000 }, (_, i) => (i * 7) % 256);
  const files = {
    "a.bin": Buffer.from(bytes).toString("base64"),
    "findings.json": Buffer.from("[]").toString("base64"),
  };

  it("has its files in the page, and any part of them", async () => {
    page(JSON.stringify({ records: [{ id: "0", name: "demo", files }] }));
    const source = openSource();
    expect((await source.list())[0].name).toBe("demo");
    expect(await source.file("0", "a.bin")).toEqual(bytes);
    for (const [offset, length] of [
      [0, 1],
      [1, 5],
      [2, 300],
      [997, 3],
      [500, 1],
    ])
      expect(await source.range("0", "a.bin", offset, length)).toEqual(bytes.slice(offset, offset + length));
    await expect(source.file("0", "packets.arrow")).rejects.toThrow("made without packets.arrow");
  });
});

describe("findings", () => {
  const found = [{ time_from_s: 1, time_to_s: 1, severity: "note", subject: null, text: "ended." }];
  const report = (files: Record<string, string>, more: object = {}) =>
    page(JSON.stringify({ records: [{ id: "0", name: "demo", files }], ...more }));
  const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64");

  it("of a report are in it, none of them too, and an older one has no word of them", async () => {
    report({ "findings.json": encoded(found) });
    expect(await openSource().findings(["0"])).toEqual(found);
    report({ "findings.json": encoded([]) });
    expect(await openSource().findings(["0"])).toEqual([]);
    report({});
    expect(await openSource().findings(["0"])).toBeNull();
  });

  it("between the records of a report are in it for those that were compared", async () => {
    report({}, { between: { "0,1": found } });
    expect(await openSource().findings(["0", "1"])).toEqual(found);
    expect(await openSource().findings(["0", "2"])).toBeNull();
    report({});
    expect(await openSource().findings(["0", "1"])).toBeNull();
  });

  it("of a server are those of the record that is asked for", async () => {
    page(null, "?token=abc");
    const fetch = vi.fn(async (_url: string) => new Response(JSON.stringify(found)));
    vi.stubGlobal("fetch", fetch);
    expect(await openSource().findings(["7"])).toEqual(found);
    expect(await openSource().findings(["7", "2"])).toEqual(found);
    expect(fetch.mock.calls.map(([url]) => url)).toEqual([
      "/api/findings?record=7&token=abc",
      "/api/findings?record=7&record=2&token=abc",
    ]);
  });
});

describe("a server", () => {
  it("is asked with the token of the page's address", async () => {
    page(null, "?token=abc");
    const fetch = vi.fn(async (_url: string, _init: object) => new Response("[]"));
    vi.stubGlobal("fetch", fetch);
    await openSource().list();
    expect(fetch.mock.calls[0][0]).toBe("/api/records?token=abc");
  });

  it("is asked one thing at a time, whatever became of the one before", async () => {
    page(null);
    let [asked, most] = [0, 0];
    vi.stubGlobal("fetch", async (path: string) => {
      most = Math.max(most, ++asked);
      await new Promise((done) => setTimeout(done, 1));
      asked--;
      return new Response("[]", { status: path.includes("gone") ? 404 : 200 });
    });
    const source = openSource();
    const answers = await Promise.allSettled([source.file("0", "gone"), source.list(), source.findings(["0"])]);
    expect(answers.map(({ status }) => status)).toEqual(["rejected", "fulfilled", "fulfilled"]);
    expect(most).toBe(1);
  });

  it("that knows no ranges sends all, of which a part is taken", async () => {
    page(null);
    vi.stubGlobal("fetch", async () => new Response(Uint8Array.of(1, 2, 3, 4)));
    expect(await openSource().range("0", "x", 1, 2)).toEqual(Uint8Array.of(2, 3));
  });

  it("that has gone, or has another token, is told from one that lacks a file", async () => {
    page(null);
    vi.stubGlobal("fetch", () => Promise.reject(new TypeError("failed")));
    await expect(openSource().list()).rejects.toThrow("The command that showed this has ended");
    vi.stubGlobal("fetch", async () => new Response("", { status: 403 }));
    await expect(openSource().list()).rejects.toThrow("token");
    vi.stubGlobal("fetch", async () => new Response("", { status: 404 }));
    await expect(openSource().file("0", "x")).rejects.toThrow("404");
  });
});

describe("a server that does not have a file", () => {
  const answer = (status: number, words: string) => {
    page(null, "?token=abc");
    vi.stubGlobal("fetch", async () => new Response(`${words}\n`, { status }));
  };

  it("names the damaged file (the page asked whether the record was moved)", async () => {
    answer(500, "cannot read out/call/series.arrow: not an Arrow file");
    const why =
      "The server cannot answer (500: cannot read out/call/series.arrow: not an Arrow file). If a file is damaged";
    await expect(openSource().findings(["0"])).rejects.toThrow(why);
  });

  it("has no file of a record that was moved", async () => {
    answer(404, "there is no such record");
    const why = "The server has no records/0/summary.json (404: there is no such record). Was the record moved?";
    await expect(openSource().file("0", "summary.json")).rejects.toThrow(why);
  });
});
