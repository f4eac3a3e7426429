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

  it("contains its files, and returns any range of them", async () => {
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
    await expect(source.file("0", "packets.arrow")).rejects.toThrow("does not contain packets.arrow");
  });
});

describe("findings", () => {
  const found = [{ time_from_s: 1, time_to_s: 1, severity: "note", subject: null, text: "ended." }];
  const report = (files: Record<string, string>, more: object = {}) =>
    page(JSON.stringify({ records: [{ id: "0", name: "demo", files }], ...more }));
  const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64");

  it("of a report are embedded, also if there are none; an older report has null", async () => {
    report({ "findings.json": encoded(found) });
    expect(await openSource().findings(["0"])).toEqual(found);
    report({ "findings.json": encoded([]) });
    expect(await openSource().findings(["0"])).toEqual([]);
    report({});
    expect(await openSource().findings(["0"])).toBeNull();
  });

  it("between records of a report are embedded for compared records", async () => {
    report({}, { between: { "0,1": found } });
    expect(await openSource().findings(["0", "1"])).toEqual(found);
    expect(await openSource().findings(["0", "2"])).toBeNull();
    report({});
    expect(await openSource().findings(["0", "1"])).toBeNull();
  });

  it("of a server are requested by record", async () => {
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
  it("receives the token in the address of the page", async () => {
    page(null, "?token=abc");
    const fetch = vi.fn(async (_url: string, _init: object) => new Response("[]"));
    vi.stubGlobal("fetch", fetch);
    await openSource().list();
    expect(fetch.mock.calls[0][0]).toBe("/api/records?token=abc");
  });

  it("receives one request at a time, also after an error", async () => {
    page(null);
    let [pending, maxPending] = [0, 0];
    vi.stubGlobal("fetch", async (path: string) => {
      maxPending = Math.max(maxPending, ++pending);
      await new Promise((done) => setTimeout(done, 1));
      pending--;
      return new Response("[]", { status: path.includes("gone") ? 404 : 200 });
    });
    const source = openSource();
    const answers = await Promise.allSettled([source.file("0", "gone"), source.list(), source.findings(["0"])]);
    expect(answers.map(({ status }) => status)).toEqual(["rejected", "fulfilled", "fulfilled"]);
    expect(maxPending).toBe(1);
  });

  it("without range support sends the whole file, from which the range is cut", async () => {
    page(null);
    vi.stubGlobal("fetch", async () => new Response(Uint8Array.of(1, 2, 3, 4)));
    expect(await openSource().range("0", "x", 1, 2)).toEqual(Uint8Array.of(2, 3));
  });

  it("that has ended, has another token, or lacks a file causes different errors", async () => {
    page(null);
    vi.stubGlobal("fetch", () => Promise.reject(new TypeError("failed")));
    await expect(openSource().list()).rejects.toThrow("the command that served this page has ended");
    vi.stubGlobal("fetch", async () => new Response("", { status: 403 }));
    await expect(openSource().list()).rejects.toThrow("token");
    vi.stubGlobal("fetch", async () => new Response("", { status: 404 }));
    await expect(openSource().file("0", "x")).rejects.toThrow("404");
  });
});

describe("a server without a file", () => {
  const reply = (status: number, message: string) => {
    page(null, "?token=abc");
    vi.stubGlobal("fetch", async () => new Response(`${message}\n`, { status }));
  };

  it("names the damaged file", async () => {
    reply(500, "cannot read out/call/series.arrow: not an Arrow file");
    const why =
      "The server reported an error (500: cannot read out/call/series.arrow: not an Arrow file). If a file is damaged";
    await expect(openSource().findings(["0"])).rejects.toThrow(why);
  });

  it("suggests a reload for a record that was moved", async () => {
    reply(404, "there is no such record");
    const why =
      "The server has no records/0/summary.json (404: there is no such record). The record may have been moved.";
    await expect(openSource().file("0", "summary.json")).rejects.toThrow(why);
  });
});
