#!/usr/bin/env python3
"""One end of the media: writes datagrams, or receives them and reports how many arrived in time.

usage: ends.py send CONTESTANT HOST LATENCY_MS [OPTION]...
       ends.py receive CONTESTANT HOST LATENCY_MS FILE [OPTION]...

CONTESTANT is udp, srt or headway; LATENCY_MS is the latency of SRT in ms, and the options are those of `headway send` and `headway recv`. Both
ends read the same clock. FILE gets the counts and delays as JSON. The environment variable HEADWAY names the program.
"""

import json
import os
import signal
import socket
import struct
import subprocess
import sys
import time

from cells import CONNECT_S, DATAGRAM, DEADLINE_MS, MEDIA_S, RATE_BPS

PORT, LOCAL = 5000, 6000
# Time between two datagrams.
GAP_NS = 8e9 * DATAGRAM / RATE_BPS
# Seven packets of MPEG-TS with a null payload; number and time of the datagram are in the payload of the first one.
PACKET = b"\x47\x1f\xff\x10" + bytes(184)
STAMP = struct.Struct("!QQ")
# Time for the program of the receiver to listen.
LISTEN_S = 0.5


def datagram(number):
    return PACKET[:4] + STAMP.pack(number, time.monotonic_ns()) + PACKET[4 + STAMP.size:] + PACKET * (DATAGRAM // len(PACKET) - 1)


def transmit(role, contestant, host, latency_ms, options):
    """Starts the program that carries the datagrams, and returns it with the address of its local socket."""
    latency = f"latency={latency_ms}"
    local = ("127.0.0.1", LOCAL)
    if contestant == "udp":
        return None, (host, PORT)
    if contestant == "srt":
        inner, outer = f"udp://127.0.0.1:{LOCAL}", f"srt://{host}:{PORT}?{latency}&transtype=live"
        way = [inner, outer] if role == "send" else [outer + "&mode=listener", inner]
        return ["srt-live-transmit", "-q", "-a:no", *way], local
    headway = os.environ["HEADWAY"]
    if role == "send":
        return [headway, "send", f"{host}:{PORT}", "--insecure", "--quiet", "--udp", f"127.0.0.1:{LOCAL}", *options], local
    return [headway, "recv", f"{host}:{PORT}", "--insecure", "--quiet", "--to", f"127.0.0.1:{LOCAL}", *options], local


def send(to):
    time.sleep(CONNECT_S - LISTEN_S)
    out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    start = time.monotonic_ns()
    for number in range(int(MEDIA_S * 1e9 / GAP_NS)):
        time.sleep(max(0, start + number * GAP_NS - time.monotonic_ns()) / 1e9)
        try:
            out.sendto(datagram(number), to)
        except ConnectionRefusedError:
            pass


class Arrivals:
    """Counts of datagrams by their number."""

    def __init__(self):
        self.times, self.late, self.overtaken, self.newest = {}, 0, 0, -1
        # Time of writing, less the time of the datagram in the stream; the least of them is on schedule.
        self.written_ns = []

    def add(self, data):
        number, written = STAMP.unpack_from(data, 4)
        delay_ms = (time.monotonic_ns() - written) / 1e6
        if number in self.times:
            return
        self.times[number] = delay_ms
        self.written_ns.append(written - number * GAP_NS)
        self.late += delay_ms > DEADLINE_MS
        self.overtaken += number < self.newest
        self.newest = max(self.newest, number)

    def report(self):
        return {
            "written": int(MEDIA_S * RATE_BPS / (8 * DATAGRAM)), "received": len(self.times), "on_time": len(self.times) - self.late,
            "overtaken": self.overtaken, "median_ms": self.quantile(0.5), "p95_ms": self.quantile(0.95),
            "write_late_ms": self.write_late_ms(),
        }

    def write_late_ms(self):
        """Returns the 99th percentile of the lateness of the datagrams at their writing: the processors are too busy for the run if it is high."""
        lateness = sorted(self.written_ns)
        return round((lateness[int(0.99 * len(lateness))] - lateness[0]) / 1e6, 2) if lateness else None

    def quantile(self, share):
        delays = sorted(self.times.values())
        return round(delays[int(share * len(delays))], 2) if delays else None


class Stopped(Exception):
    pass


def stop(*_):
    raise Stopped


def main():
    role, contestant, host, latency_ms, *options = sys.argv[1:]
    file = options.pop(0) if role == "receive" else None
    command, address = transmit(role, contestant, host, latency_ms, options)
    signal.signal(signal.SIGTERM, stop)
    arrivals = Arrivals()
    inbound = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    if role == "receive":
        inbound.bind(address)
    if role == "send":
        time.sleep(LISTEN_S)
    program = subprocess.Popen(command) if command else None
    try:
        if role == "send":
            send(address)
            time.sleep(1)
        else:
            while True:
                arrivals.add(inbound.recv(2048))
    except Stopped:
        pass
    finally:
        if file:
            with open(file, "w") as out:
                json.dump(arrivals.report(), out)
        if program:
            program.terminate()
            program.wait()


main()
