// Lints Markdown, comments and texts in Rust and Python, and the help of every command with textlint.
// usage: node lint.mjs [--suspects N] [PATH_PREFIX]...
// With HEADWAY=PROGRAM it also reads the help texts. --suspects prints a sample of N uses of words that are ordinary
// English in some sentences and not in others, for a reader. Needs `npm ci` in this folder.
import { createHash } from "node:crypto";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { createLinter, loadTextlintrc } from "textlint";

const COLUMNS = 100;
/** Findings that stay, each with the text of its line and the reason. */
const EXCEPTIONS = [];
/** Words whose uses a reader judges. */
const SUSPECTS = /\b(?:comes?|came|coming|takes?|took|behind|stands?|gives?|gave|lets?|goes|went|who|whose|what|likewise|else|alone)\b/i;
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

/** Keeps the comments of a Rust file, and the texts in quotes that have at least three words. */
function rustTexts(text) {
  const quoted = (line) => [...line.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map((match) => match[1]);
  const isText = (words) => words.trim().split(/\s+/).length >= 3;
  return text
    .split("\n")
    .map((line) => /^\s*\/\/[/!]? ?(.*)$/.exec(line)?.[1] ?? quoted(line).filter(isText).join(" | ").replaceAll("`", "'"))
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
const sample = prefixes[0] === "--suspects" ? Number(prefixes.splice(0, 2)[1]) : 0;
const listed = execFileSync("git", ["ls-files", "-z", "*.md", "*.rs", "*.py", "*.toml"], { cwd: root, encoding: "utf8" });
const isChosen = (file) => prefixes.length === 0 || prefixes.some((prefix) => file.startsWith(prefix));
const files = listed.split("\0").filter((file) => file && isChosen(file));
const texts = files.map((file) => {
  const text = readFileSync(join(root, file), "utf8");
  if (file.endsWith(".md")) return [file, text, longLines(text)];
  if (file.endsWith(".rs")) return [file, rustTexts(text), []];
  return [file, comments(text, /^\s*#(?!!) ?(.*)$/), []];
});
if (process.env.HEADWAY && prefixes.length === 0) texts.push(...helpTexts(process.env.HEADWAY).map(([name, text]) => [name, text, []]));

if (sample > 0) {
  const lines = texts.flatMap(([name, text]) => text.split("\n").map((line, index) => [`${name}:${index + 1}`, line.trim()]));
  const order = ([place]) => createHash("sha256").update(place).digest("hex");
  const uses = lines.filter(([, line]) => SUSPECTS.test(line)).sort((a, b) => (order(a) < order(b) ? -1 : 1));
  for (const [place, line] of uses.slice(0, sample)) console.log(`${place}: ${line}`);
  console.log(`${Math.min(sample, uses.length)} of ${uses.length} lines`);
  process.exit(0);
}

let count = 0;
for (const [name, text, wrong] of texts) {
  const { messages } = await linter.lintText(text, name.endsWith(".md") ? name : `${name}.md`);
  const lines = text.split("\n");
  const isAccepted = ({ line }) => EXCEPTIONS.some((one) => one.file === name && one.line.test(lines[line - 1]));
  for (const { line, column, message } of [...messages, ...wrong].filter((finding) => !isAccepted(finding))) {
    console.log(`${name}:${line}:${column}: ${message.split("\n")[0]}`);
    count += 1;
  }
}
console.log(`${texts.length} texts, ${count} findings`);
process.exitCode = count > 0 ? 1 : 0;
