#!/usr/bin/env python3
"""An encoder that follows the rate of `headway send`: follow-rate.py HOST:PORT --fingerprint 3C:5A:.."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

FRAMES_PER_SECOND = 25
encoder = {"rate_bps": 100_000}
reader, writer = os.pipe()
options = ["--stdin", "--expires", "500ms", "--rate-fd", str(writer)]
sender = subprocess.Popen(["headway", "send", *sys.argv[1:], *options], stdin=subprocess.PIPE, pass_fds=[writer])
os.close(writer)


def follow():
    for line in os.fdopen(reader):
        encoder["rate_bps"] = json.loads(line)["encoder_rate_bps"]  # A real encoder gets its new bitrate here.
        print(encoder, flush=True)


signal.signal(signal.SIGINT, signal.default_int_handler)  # Shells ignore it for programs in the background.
threading.Thread(target=follow, daemon=True).start()
try:
    while sender.poll() is None:
        time.sleep(1 / FRAMES_PER_SECOND)
        frame = bytes(encoder["rate_bps"] // 8 // FRAMES_PER_SECOND)
        for part in (frame[at : at + 1000] for at in range(0, len(frame), 1000)):
            sender.stdin.write(len(part).to_bytes(2, "big") + part)
        sender.stdin.flush()
except (KeyboardInterrupt, BrokenPipeError):
    pass
sender.communicate()
sys.exit(sender.returncode)
