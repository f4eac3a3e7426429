#!/usr/bin/env python3
"""A cable between two interfaces: forwards frames after a delay, loses some, and drops frames that are too long.

usage: wire.py INTERFACE INTERFACE

Reads commands from the standard input, one per line: delay MILLISECONDS, loss PERCENT, limit BYTES (of the IP packet; 0: none), seed NUMBER.
Prints a line after each command. Replaces netem on kernels without it.
"""

import collections
import ctypes
import fcntl
import random
import select
import socket
import struct
import sys
import time

ETH_P_ALL, PACKET_OUTGOING, ETHERNET = 3, 4, 14
# ethtool: checksums and segments must be made before a frame arrives here.
SIOCETHTOOL, OFFLOADS = 0x8946, (0x17, 0x1f, 0x24, 0x2c)


def plain(name):
    """Switches off offloads that the far end of this cable would have to complete."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        for command in OFFLOADS:
            value = ctypes.create_string_buffer(struct.pack("II", command, 0))
            request = struct.pack("16sP", name.encode(), ctypes.addressof(value))
            try:
                fcntl.ioctl(any_socket, SIOCETHTOOL, request)
            except OSError:
                pass  # it has none


def carry(names):
    ends = []
    for name in names:
        end = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
        end.bind((name, 0))
        end.setblocking(False)
        ends.append(end)
    delay, loss, limit, draw = 0.0, 0.0, 0, random.Random(1)
    waiting = collections.deque()
    while True:
        now = time.monotonic()
        timeout = max(0.0, waiting[0][0] - now) if waiting else None
        readable, _, _ = select.select([*ends, sys.stdin], [], [], timeout)
        if sys.stdin in readable:
            line = sys.stdin.readline()
            if not line:
                return
            word, number = line.split()
            if word == "delay":
                delay = float(number) / 1e3
            elif word == "loss":
                loss = float(number) / 100
            elif word == "limit":
                limit = int(number)
            elif word == "seed":
                draw = random.Random(int(number))
            print(word, flush=True)
        for end, other in ((ends[0], ends[1]), (ends[1], ends[0])):
            if end not in readable:
                continue
            for _ in range(64):
                try:
                    frame, address = end.recvfrom(1 << 16)
                except BlockingIOError:
                    break
                except OSError:
                    break  # it is down
                is_ip = frame[12:14] == b"\x08\x00"
                if address[2] == PACKET_OUTGOING or is_ip and (draw.random() < loss or limit and len(frame) > limit + ETHERNET):
                    continue
                waiting.append((time.monotonic() + delay, other, frame))
        now = time.monotonic()
        while waiting and waiting[0][0] <= now:
            _, other, frame = waiting.popleft()
            try:
                other.send(frame)
            except OSError:
                pass  # it is down, or full


if __name__ == "__main__":
    if sys.argv[1] == "--plain":
        plain(sys.argv[2])
    else:
        carry(sys.argv[1:3])
