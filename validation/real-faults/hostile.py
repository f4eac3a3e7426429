"""Sends datagrams with spoofed addresses, with raw sockets in the router, which is on the path."""

import random
import socket
import struct
import time

# Only sockets of this protocol get outgoing packets.
ETH_P_ALL = 3


def udp(source, destination, payload):
    """Returns an IP packet with a UDP datagram. The kernel fills in the remaining fields of the IP header."""
    (address, port), (there, to) = source, destination
    address, there, length = socket.inet_aton(address), socket.inet_aton(there), 8 + len(payload)
    header = struct.pack("!HHHH", port, to, length, 0)
    pseudo = address + there + struct.pack("!BBH", 0, socket.IPPROTO_UDP, length) + header + payload
    total = sum(struct.unpack(f"!{(len(pseudo) + 1) // 2}H", pseudo + b"\0" * (len(pseudo) % 2)))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    checksum = ~total & 0xffff or 0xffff
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + length, 0, 0, 64, socket.IPPROTO_UDP, 0, address, there)
    return ip + header[:6] + struct.pack("!H", checksum) + payload


def raw(host):
    with host.inside():
        out = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
    out.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
    return out


def capture(host, interface, seconds=1.0):
    """Returns the UDP datagrams that pass this interface: source, destination, payload."""
    with host.inside():
        tap = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_P_ALL))
    tap.bind((interface, ETH_P_ALL))
    tap.settimeout(0.1)
    seen, until = [], time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            packet = tap.recv(1 << 16)
        except TimeoutError:
            continue
        if len(packet) > 28 and packet[0] == 0x45 and packet[9] == socket.IPPROTO_UDP:
            port, to = struct.unpack("!HH", packet[20:24])
            seen.append(((socket.inet_ntoa(packet[12:16]), port), (socket.inet_ntoa(packet[16:20]), to), packet[28:]))
    tap.close()
    return seen


def flood(host, payload, destination, seconds, rate):
    """Sends the same datagram from random addresses. Returns the number of sent datagrams."""
    draw, sent, out = random.Random(1), 0, raw(host)
    began = time.monotonic()
    while (elapsed := time.monotonic() - began) < seconds:
        while sent < elapsed * rate:
            source = (f"198.{draw.randrange(18, 20)}.{draw.randrange(256)}.{draw.randrange(1, 255)}", draw.randrange(1024, 65536))
            try:
                out.sendto(udp(source, destination, payload), destination)
            except OSError:
                break  # the queue is full
            sent += 1
        time.sleep(0.001)
    out.close()
    return sent


def spoil(host, seen, seconds, rate):
    """Sends captured datagrams again with their addresses: cut short, with a flipped bit, unchanged, or with random bytes. Returns the number of
    sent datagrams."""
    draw, sent, out = random.Random(2), 0, raw(host)
    began = time.monotonic()
    while (elapsed := time.monotonic() - began) < seconds:
        while sent < elapsed * rate:
            source, destination, payload = draw.choice(seen)
            kind = draw.randrange(4)
            if kind == 0:
                payload = payload[:draw.randrange(len(payload))]
            elif kind == 1:
                payload = draw.randbytes(draw.randrange(1400))
            elif kind == 2:
                spoilt, at = bytearray(payload), draw.randrange(len(payload))
                spoilt[at] ^= 1 << draw.randrange(8)
                payload = bytes(spoilt)
            try:
                out.sendto(udp(source, destination, payload), destination)
            except OSError:
                break
            sent += 1
        time.sleep(0.001)
    out.close()
    return sent
