"""Finds, builds and runs Headway's programs."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def headway():
    """Returns the headway that the variable HEADWAY names, by a path or by a name in the PATH. Builds one if HEADWAY is not set."""
    named = os.environ.get("HEADWAY")
    if not named:
        return build("--package", "headway-cli", instead=", or HEADWAY=PROGRAM names a built headway")
    found = shutil.which(named) or shutil.which(os.path.abspath(named))
    if not found:
        sys.exit(f"HEADWAY names {named}, which does not exist: name a built headway, or unset HEADWAY to build one")
    try:
        version = subprocess.run([found, "--version"], stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace").stdout
    except OSError:  # built for another machine, or not a program
        version = ""
    if not version.startswith("headway "):
        sys.exit(f"HEADWAY names {named}, which is another program: name a built headway, or unset HEADWAY to build one")
    return os.path.abspath(found)


def build(*what, folder=ROOT, instead=""):
    """Runs `cargo build --release` with these arguments in the folder's workspace and returns the path of the program. Cargo reports
    the path, which depends on CARGO_TARGET_DIR, other variables and Cargo's configuration."""
    if not shutil.which("cargo"):
        sys.exit(f"cargo was not found: Headway needs Rust (https://rustup.rs){instead}")
    command = ["cargo", "build", "--release", "--quiet", "--message-format", "json-render-diagnostics", *what]
    made = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True)
    if made.returncode:
        raise subprocess.CalledProcessError(made.returncode, command)
    program, = filter(None, (json.loads(line).get("executable") for line in made.stdout.splitlines()))
    return program


def words(program, scenario, record, seed=None, settings=()):
    """Returns the command that runs a scenario with some keys set (`key=value`)."""
    seeds = [] if seed is None else ["--seed", str(seed)]
    sets = [word for setting in settings for word in ("--set", setting)]
    return [program, "run", scenario, "--out", record, "--again", "--quiet", *seeds, *sets]


def simulate(program, scenario, record, *more, seed=None, settings=()):
    """Runs a scenario and returns its summary. The rest of the record is in its folder."""
    command = [*words(program, scenario, record, seed, settings), *more]
    done = subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    # Warnings.
    sys.stderr.write(done.stderr)
    return json.loads((pathlib.Path(record) / "summary.json").read_text())
