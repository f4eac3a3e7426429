/**
 * Inlines the script and the style into the page, and adds a content security policy that allows only these two.
 *
 * The file has two uses. `headway view` serves it unchanged. A report is the same page with embedded records; it
 * must work when opened from a disk, where a page cannot load other files.
 */
import { createHash } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { Plugin } from "vite";

const hash = (text: string) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

/** Returns the policy: the page may run this script, use this style, and send requests to its own server. */
function policy(script: string, style: string): string {
  return [
    "default-src 'none'",
    `script-src ${hash(script)}`,
    `style-src ${hash(style)}`,
    "connect-src 'self'",
    "img-src data:",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
}

/** Returns a comment with the licenses of the bundled packages, which must accompany each copy. */
function licenses(modules: string[]): string {
  const folders = new Set(modules.flatMap((module) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(module)?.[0] ?? []));
  const texts = [...folders].sort().map((folder) => {
    const file = readdirSync(folder).find((name) => /^licen[cs]e/i.test(name));
    if (!file) throw new Error(`${folder} has no license file`);
    return `${folder.replace(/^.*\/node_modules\//, "")}\n\n${readFileSync(join(folder, file), "utf8").trim()}`;
  });
  return `<!--\nThis page contains:\n\n${texts.join("\n\n").replaceAll("--", "- -")}\n-->`;
}

export function onePage(): Plugin {
  return {
    name: "one-page",
    apply: "build",
    enforce: "post",
    generateBundle: {
      order: "post",
      handler(_, bundle) {
        const files = Object.values(bundle);
        const page = files.find((file) => file.fileName === "index.html");
        const script = files.find((file) => file.type === "chunk");
        const style = files.find((file) => file.fileName.endsWith(".css"));
        if (page?.type !== "asset" || script?.type !== "chunk" || style?.type !== "asset")
          throw new Error("expected one page, one script and one style");
        // Escape sequences that would end the script element. In JavaScript, "<\/" equals "</".
        const code = script.code.replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--");
        const css = String(style.source);
        const html = String(page.source)
          .replace(/<script type="module"[^>]*><\/script>\s*/, "")
          .replace(/<link rel="stylesheet"[^>]*>\s*/, "")
          .replace(
            "<!--headway-policy-->",
            () =>
              `<meta http-equiv="Content-Security-Policy" content="${policy(code, css)}" />\n    <style>${css}</style>`,
          )
          .replace(
            "</body>",
            () => `<script type="module">${code}</script>\n${licenses(Object.keys(script.modules))}\n  </body>`,
          );
        page.source = html;
        for (const file of files) if (file !== page) delete bundle[file.fileName];
      },
    },
  };
}
