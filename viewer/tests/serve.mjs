/**
 * Serves the page and records with the HTTP interface of `headway view`, for tests and development.
 *
 *     node tests/serve.mjs [--port N] [--token HEX] FOLDER...
 */
import { createReadStream, existsSync, readFileSync, readdirSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { basename, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

/** Marker file in a folder whose run is in progress. */
export const RUNNING = "running";
/** Additional marker file in a folder whose run was killed. */
export const KILLED = "killed";

const PAGE = fileURLToPath(new URL("../dist/index.html", import.meta.url));

/**
 * @param {string[]} folders
 * @param {{ port?: number, token?: string | null, between?: object[] }} [options] `between`: findings between several records
 * @returns {Promise<{ url: string, close: () => Promise<void> }>}
 */
export async function serve(folders, { port = 0, token = null, between = [] } = {}) {
  const records = folders.map((folder, i) => ({ id: String(i), folder, name: basename(folder) }));
  const listing = () =>
    records.map(({ id, folder, name }) => ({
      id,
      name,
      complete: existsSync(join(folder, "summary.json")) && !existsSync(join(folder, RUNNING)),
      killed: existsSync(join(folder, KILLED)),
      revision: existsSync(join(folder, "summary.json")) ? String(statSync(join(folder, "summary.json")).mtimeMs) : "",
      in_progress: !existsSync(join(folder, "summary.json")) || existsSync(join(folder, RUNNING)),
      files: readdirSync(folder).map((file) => ({ name: file, bytes: statSync(join(folder, file)).size })),
    }));

  const server = createServer((request, response) => {
    const url = new URL(request.url ?? "/", "http://localhost");
    /** @param {number} status @param {string} text */
    const fail = (status, text) => response.writeHead(status, { "Content-Type": "text/plain" }).end(text);
    /** @param {unknown} value */
    const json = (value) => response.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify(value));
    if (url.pathname === "/") return response.writeHead(200, { "Content-Type": "text/html" }).end(readFileSync(PAGE));
    if (token !== null && url.searchParams.get("token") !== token) return fail(403, "unknown token");
    if (url.pathname === "/api/records") return json(listing());
    if (url.pathname === "/api/papers") return json(false);
    /** @param {string | null} id */
    const find = (id) => records.find((record) => record.id === id);
    if (url.pathname === "/api/findings") {
      const requested = url.searchParams.getAll("record").map(find);
      if (requested.length === 0 || requested.includes(undefined)) return fail(404, "no such record");
      if (requested.length > 1) return json(between);
      const file = join(/** @type {{ folder: string }} */ (requested[0]).folder, "findings.json");
      return json(existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : []);
    }
    const [, id, name] = url.pathname.match(/^\/api\/records\/([^/]+)\/([\w.-]+)$/) ?? [];
    const record = find(id ?? null);
    if (!record || !readdirSync(record.folder).includes(name)) return fail(404, "no such file");
    const file = join(record.folder, name);
    const { size } = statSync(file);
    const range = request.headers.range?.match(/^bytes=(\d+)-(\d+)$/);
    if (!range) {
      response.writeHead(200, { "Content-Length": size });
      return createReadStream(file).pipe(response);
    }
    const [start, end] = [Number(range[1]), Math.min(Number(range[2]), size - 1)];
    if (start > end) return response.writeHead(416, { "Content-Range": `bytes */${size}` }).end();
    response.writeHead(206, { "Content-Length": end - start + 1, "Content-Range": `bytes ${start}-${end}/${size}` });
    return createReadStream(file, { start, end }).pipe(response);
  });
  await new Promise((done) => server.listen(port, "127.0.0.1", () => done(undefined)));
  const address = /** @type {import("node:net").AddressInfo} */ (server.address());
  return {
    url: `http://127.0.0.1:${address.port}/${token === null ? "" : `?token=${token}`}`,
    close: () =>
      new Promise((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
}

if (process.argv[1] && resolve(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const args = process.argv.slice(2);
  /** @param {string} name */
  const option = (name) => {
    const at = args.indexOf(name);
    return at < 0 ? undefined : args.splice(at, 2)[1];
  };
  const port = Number(option("--port") ?? 0);
  const token = option("--token") ?? null;
  const { url } = await serve(args, { port, token });
  console.log(url);
}
