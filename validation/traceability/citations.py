"""Finds the sections of RFCs that sources cite.

A citation is the word `section`, `sections` or `appendix` in a comment, followed by one or more numbers: "RFC 4342 section 8.6.1",
"sections 5.1, 5.2 and 6.6.1", "sections 6.1 to 6.3", "appendix A.2". It belongs to the RFC that is named right before it. Without one, it
belongs to the first RFC in the head of the file (`//!`), or else in the head of the enclosing module or of the crate. If no head names an RFC,
a section without an RFC is not a citation. "Section 4 of the paper" is not a citation: the text after "of" is another document.
"""

import dataclasses
import re

NUMBER = r"(?:\d{1,2}(?:\.\d{1,2}){0,3}|[A-C](?:\.\d{1,2}){0,2})(?![\w%])(?!\.\d)"
CITATION = re.compile(rf"(?:RFC (\d{{4}}),? (?:also )?)?\b(?:[Ss]ections?|[Aa]ppendix|[Aa]ppendices) ({NUMBER}(?:(?:, | and | or |, and | to |-){NUMBER})*)")
OF = re.compile(r" of (?:RFC (\d{4}))?")
HEAD_RFC = re.compile(r"RFC (\d{4})")
FUNCTION = re.compile(r"^( *)(?:pub(?:\([a-z]+\))? )?(?:const )?(?:async )?(?:unsafe )?fn (\w+)|^( *)def (\w+)")
MODULE = re.compile(r"^( *)(?:pub(?:\([a-z]+\))? )?mod (\w+)")


@dataclasses.dataclass(frozen=True)
class Citation:
    """A citation of `section` of `rfc` in `line` of `path`, in a test or in code. `item` is the function of a test."""

    rfc: str
    section: str
    path: str
    line: int
    test: bool
    item: str


def numbers(text, known):
    """Returns the sections of "5.1, 5.2 and 6.1 to 6.3"; those within a range in the order of `known`."""
    found = []
    for part in re.split(r", and |, | and | or ", text):
        ends = re.split(r" to |-", part)
        if len(ends) == 2 and all(end in known for end in ends):
            first, last = known.index(ends[0]), known.index(ends[1])
            depth = ends[0].count(".")
            found += [section for section in known[first:last + 1] if section.count(".") == depth]
        else:
            found += ends
    return found


def comments(path, text):
    """Returns [(first line, text)]: each run of comment lines as one text, with the line of each of its characters."""
    blocks = []
    if path.suffix == ".rs":
        marker = re.compile(r"//[/!]?\s?(.*)$")
        lines = [(number, line, marker.search(line)) for number, line in enumerate(text.split("\n"), 1)]
        last = None
        for number, line, match in lines:
            if not match:
                last = None
                continue
            alone = line.lstrip().startswith("//")
            kind = match.group(0)[:3] if alone else None
            if alone and last == kind:
                blocks[-1].append((number, match.group(1)))
            else:
                blocks.append([(number, match.group(1))])
            last = kind
    else:
        blocks.append([(number, line.strip().lstrip("#").strip()) for number, line in enumerate(text.split("\n"), 1)])
    return blocks


def head(path, text):
    """Returns the head of the file: `//!` lines, or the text before the first import."""
    if path.suffix == ".rs":
        return "\n".join(line for line in text.split("\n") if line.startswith("//!"))
    return re.split(r"^(?:import|from) ", text, maxsplit=1, flags=re.M)[0]


def default_rfc(root, path):
    """Returns the first RFC that is named in the head of the file, or of the enclosing modules."""
    candidates = [path]
    if path.suffix == ".rs":
        for folder in path.parents:
            candidates += [folder / "mod.rs", folder.parent / f"{folder.name}.rs"]
            if folder.name in ("src", "tests", "fuzz") or folder == root:
                candidates.append(folder.parent / "src" / "lib.rs")
                break
    for candidate in candidates:
        if candidate.is_file():
            named = HEAD_RFC.search(head(candidate, candidate.read_text()))
            if named:
                return named.group(1)
    return None


def test_lines(text):
    """Returns the lines of a Rust file that are compiled only for tests: those after `#[cfg(test)]`, to the end of that item."""
    lines = text.split("\n")
    inside, number = set(), 0
    while number < len(lines):
        if re.match(r"\s*#\[cfg\(test\)\]", lines[number]):
            indent = len(lines[number]) - len(lines[number].lstrip())
            end = number + 1
            while end < len(lines) and not re.match(rf"^ {{{indent}}}(?:\}}.*|[^#\s/}}].*;)$", lines[end]):
                end += 1
            inside.update(range(number + 1, end + 2))
            number = end
        number += 1
    return inside


def test_modules(root):
    """Returns the files that are test modules: those of `#[cfg(test)] mod NAME;` and of modules inside them."""
    files = set()
    for path in root.glob("crates/*/*/src/**/*.rs"):
        for place, name in re.findall(r'#\[cfg\(test\)\]\n\s*(?:#\[path = "([^"]+)"\]\n\s*)?(?:pub(?:\([a-z]+\))? )?mod (\w+);', path.read_text()):
            folder = path.parent if path.name in ("mod.rs", "lib.rs") else path.parent / path.stem
            if place:
                files.add(path.parent / place)
            else:
                files |= {folder / f"{name}.rs", *(folder / name).glob("**/*.rs")}
    return files


def item(lines, number):
    """Returns the function to which the comment in line `number` belongs: the next one, or else the enclosing one; or the next module."""
    at = number - 1
    following = at
    while following < len(lines) and re.match(r"^\s*(//|#\[|$)", lines[following]):
        following += 1
    if lines[at].lstrip().startswith("///") and following < len(lines):
        for pattern in (FUNCTION, MODULE):
            match = pattern.match(lines[following])
            if match:
                return next(group for group in match.groups()[1::2] if group) + ("::*" if pattern is MODULE else "")
    indent = len(lines[at]) - len(lines[at].lstrip())
    for line in reversed(lines[:at]):
        match = FUNCTION.match(line)
        if match and len(match.group(1) or match.group(3) or "") < indent:
            return match.group(2) or match.group(4)
    return ""


def scan(root, known):
    """Returns (all citations of the RFCs in `known`, the errors in others)."""
    modules = test_modules(root)
    found, wrong = [], []
    paths = [*root.glob("crates/*/*/src/**/*.rs"), *root.glob("crates/*/*/tests/**/*.rs"), *root.glob("fuzz/**/*.rs"), *root.glob("validation/**/*.py"),
             *root.glob("validation/*/run")]
    for path in sorted(set(paths)):
        relative = path.relative_to(root).as_posix()
        if "/target/" in relative or relative.startswith("validation/traceability/"):
            continue
        text = path.read_text()
        default = default_rfc(root, path)
        whole = path in modules or not relative.startswith("crates/") or "/tests/" in relative.removeprefix("crates/").split("/src/")[0] + "/"
        tests = test_lines(text) if path.suffix == ".rs" else set()
        lines = text.split("\n")
        for block in comments(path, text):
            joined, starts = "", []
            for number, part in block:
                starts.append((len(joined), number))
                joined += part.rstrip() + " "
            for match in CITATION.finditer(joined):
                of = OF.match(joined, match.end())
                if of and not of.group(1):
                    continue
                rfc = match.group(1) or (of and of.group(1)) or default
                number = next(number for start, number in reversed(starts) if start <= match.start(2))
                if rfc not in known:
                    continue
                order = list(known[rfc])
                for section in numbers(match.group(2), order):
                    if section not in known[rfc]:
                        wrong.append(f"{relative}:{number}: RFC {rfc} has no section {section}")
                        continue
                    test = whole or number in tests
                    found.append(Citation(rfc, section, relative, number, test, item(lines, number) if test else ""))
    return found, wrong
