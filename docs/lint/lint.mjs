// Lints Markdown, comments in Rust and Python, and the help of every command with textlint.
// usage: node lint.mjs [PATH_PREFIX]...
// With HEADWAY=PROGRAM it also reads the help texts. Needs `npm ci` in this folder.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { createLinter, loadTextlintrc } from "textlint";

const COLUMNS = 100;
const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, "../..");
process.chdir(here);
const linter = createLinter({ descriptor: await loadTextlintrc({ configFilePath: join(here, ".textlintrc.json") }) });

/** Keeps comments in their lines and columns, and blanks the code. */
function comments(text, marker) {
  return text
    .split("\n")
    .map((line) => (marker.exec(line) ?? ["", ""])[1])
    .join("\n");
}

/** Returns the lines of Markdown that are longer than COLUMNS without the targets of links. Tables, code and markers may be longer. */
function longLines(text) {
  const found = [];
  let code = false;
  text.split("\n").forEach((line, index) => {
    if (line.trimStart().startsWith("```")) code = !code;
    const isFree = code || line.trimStart().startsWith("|") || line.includes("<!--");
    const text = line.replace(/\]\([^)]*\)/g, "]").replace(/https?:\/\/\S+/g, "");
    if (!isFree && [...text].length > COLUMNS) found.push({ line: index + 1, column: COLUMNS + 1, message: `more than ${COLUMNS} columns` });
  });
  return found;
}

function helpTexts(program) {
  const run = (words) => execFileSync(program, [...words, "--help"], { encoding: "utf8", env: { ...process.env, COLUMNS: "100" } });
  const texts = [];
  const visit = (words) => {
    const text = run(words);
    texts.push([`headway ${words.join(" ")} --help`, text]);
    const commands = text.split("\nCommands:\n")[1]?.split("\n\n")[0] ?? "";
    for (const [, name] of commands.matchAll(/^ {2}([a-z-]+)/gm)) if (name !== "help") visit([...words, name]);
  };
  visit([]);
  return texts;
}

const prefixes = process.argv.slice(2);
const listed = execFileSync("git", ["ls-files", "-z", "*.md", "*.rs", "*.py", "*.toml"], { cwd: root, encoding: "utf8" });
const isChosen = (file) => prefixes.length === 0 || prefixes.some((prefix) => file.startsWith(prefix));
const files = listed.split("\0").filter((file) => file && isChosen(file));
const texts = files.map((file) => {
  const text = readFileSync(join(root, file), "utf8");
  if (file.endsWith(".md")) return [file, text, longLines(text)];
  if (file.endsWith(".rs")) return [file, comments(text, /^\s*\/\/[/!]? ?(.*)$/), []];
  return [file, comments(text, /^\s*#(?!!) ?(.*)$/), []];
});
if (process.env.HEADWAY && prefixes.length === 0) texts.push(...helpTexts(process.env.HEADWAY).map(([name, text]) => [name, text, []]));

let count = 0;
for (const [name, text, wrong] of texts) {
  const { messages } = await linter.lintText(text, name.endsWith(".md") ? name : `${name}.md`);
  for (const { line, column, message } of [...messages, ...wrong]) {
    console.log(`${name}:${line}:${column}: ${message.split("\n")[0]}`);
    count += 1;
  }
}
console.log(`${texts.length} texts, ${count} findings`);
process.exitCode = count > 0 ? 1 : 0;
