"""Tests that a stopped command leaves no processes and no files: `python3 -m unittest discover validation/common`."""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
# Two sleeps in threads, as the simulations of a command; one under `timeout`, as a guest; a temporary folder.
COMMAND = """
import pathlib, subprocess, sys, tempfile
sys.path.insert(0, {validation!r})
from common import command
def main():
    with tempfile.TemporaryDirectory() as scratch, command.pool(2) as pool:
        pathlib.Path(scratch, "file").write_text("text")
        words = [["sleep", {mark!r}], ["timeout", "--foreground", "1000", "sleep", {mark!r}]] * 2
        print("begun", flush=True)
        list(pool.map(lambda each: subprocess.run(each, check=True), words))
command.run(main)
"""


def running(mark):
    """Returns the processes that have this word on their command line."""
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if mark.encode() in words and words[0] in (b"sleep", b"timeout"):
            found.append(int(process.name))
    return found


@unittest.skipUnless(pathlib.Path("/proc/self/cmdline").exists(), "needs /proc to find processes")
class Stopped(unittest.TestCase):
    def stop(self, number, **more):
        with tempfile.TemporaryDirectory() as scratch:
            # No other sleep has this duration.
            mark = f"{os.getpid()}.{number}"
            text = COMMAND.format(validation=str(HERE.parent), mark=mark)
            with subprocess.Popen([sys.executable, "-c", text], env=os.environ | {"TMPDIR": scratch}, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True, **more) as process:
                self.assertEqual(process.stdout.readline(), "begun\n")
                while len(running(mark)) < 3:
                    time.sleep(0.01)
                process.send_signal(number)
                _, said = process.communicate(timeout=30)
            self.assertEqual((process.returncode, said, running(mark), os.listdir(scratch)), (130, "stopped\n", [], []))

    def test_each_signal_ends_all_that_was_started(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number=number):
                self.stop(number)

    def test_the_status_of_a_command_is_its_own(self):
        text = COMMAND.replace("command.run(main)", "command.run(lambda: 3)").format(validation=str(HERE.parent), mark="1")
        self.assertEqual(subprocess.run([sys.executable, "-c", text], check=False).returncode, 3)


if __name__ == "__main__":
    unittest.main()
