"""Headway's programs: found or built, and run."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def headway():
    """The headway that the variable HEADWAY names, by a path or by a name in the PATH; without it, one that is built now."""
    named = os.environ.get("HEADWAY")
    if not named:
        return build("--package", "headway-cli", instead=", or HEADWAY=PROGRAM names a built headway")
    found = shutil.which(named) or shutil.which(os.path.abspath(named))
    if not found:
        sys.exit(f"HEADWAY names {named}, and there is no such program: name a built headway, or leave it out to build one")
    try:
        told = subprocess.run([found, "--version"], stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace").stdout
    except OSError:  # made for another machine, or no program at all
        told = ""
    if not told.startswith("headway "):
        sys.exit(f"HEADWAY names {named}, which is another program: name a built headway, or leave it out to build one")
    return os.path.abspath(found)


def build(*what, folder=ROOT, instead=""):
    """The program that `cargo build --release` makes of what is named, in the workspace of the folder. Cargo tells where it is:
    that is the business of CARGO_TARGET_DIR, of other variables and of its configuration."""
    if not shutil.which("cargo"):
        sys.exit(f"there is no cargo: Headway needs Rust (https://rustup.rs){instead}")
    command = ["cargo", "build", "--release", "--quiet", "--message-format", "json-render-diagnostics", *what]
    made = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True)
    if made.returncode:
        raise subprocess.CalledProcessError(made.returncode, command)
    program, = filter(None, (json.loads(line).get("executable") for line in made.stdout.splitlines()))
    return program


def words(program, scenario, record, seed=None, settings=()):
    """The command that runs a scenario with some keys set (`key=value`)."""
    seeds = [] if seed is None else ["--seed", str(seed)]
    sets = [word for setting in settings for word in ("--set", setting)]
    return [program, "run", scenario, "--out", record, "--again", "--quiet", *seeds, *sets]


def simulate(program, scenario, record, *more, seed=None, settings=()):
    """Runs a scenario. Returns its summary; all else is in the folder of the record."""
    command = [*words(program, scenario, record, seed, settings), *more]
    done = subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    # Warnings.
    sys.stderr.write(done.stderr)
    return json.loads((pathlib.Path(record) / "summary.json").read_text())
