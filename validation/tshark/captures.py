"""Compares packet captures as read by Headway's source `capture` with tshark.

text2pcap, editcap and mergecap convert the frames of this file to their formats: pcap in microseconds and in nanoseconds, pcapng, several
interfaces, several link types, cut packets. This file writes formats that no tool writes (the other byte order, obsolete packet blocks,
`if_tsresol`, `if_tsoffset`), by the drafts. The example `capture` of headway-media prints each datagram, and tshark prints the fields of the
same file. Fragments are not reassembled: the first one has the UDP length.

tshark prints an RTP payload type only for ports that an option declares as RTP (`-d udp.port==5004,rtp`).
"""

import struct
import subprocess

from common import program

A, B = bytes([192, 0, 2, 1]), bytes([192, 0, 2, 2])
A6, B6 = (bytes.fromhex("20010db8" + 23 * "0" + end) for end in "12")
FIELDS = ["frame.number", "frame.time_epoch", "ip.src", "ipv6.src", "udp.srcport", "udp.dstport", "udp.length", "rtp.p_type"]
# Options with which tshark interprets the formats as Headway does.
OPTIONS = ["-o", "ip.defragment:FALSE", "-o", "ipv6.defragment:FALSE", "-d", "udp.port==5004,rtp"]


def compare(folder):
    """Returns a case for each file."""
    example = program.build("--package", "headway-media", "--example", "capture")
    cases = []
    for name, path in files(folder):
        found, wanted = shown(example, path), dissected(path)
        wrong = [f"Headway has {one}, tshark {other}" for one, other in zip(found, wanted) if one != other]
        if len(found) != len(wanted):
            wrong.append(f"Headway has {len(found)} datagrams, tshark {len(wanted)}")
        cases.append({"name": f"captures: {name}", "pass": not wrong and bool(found), "datagrams": len(found), "wrong": wrong})
    return cases


def shown(example, path):
    lines = subprocess.run([example, path], check=True, capture_output=True, text=True).stdout.splitlines()
    rows = [line.split() for line in lines]
    return [(int(number), int(at), start, int(size), None if kind == "-" else int(kind)) for number, at, start, _, size, kind in rows]


def dissected(path):
    command = ["tshark", "-r", path, *OPTIONS, "-T", "fields", *(word for field in FIELDS for word in ("-e", field))]
    # A truncated file: the packets before the cut, and status 2.
    lines = subprocess.run(command, capture_output=True, text=True).stdout.splitlines()
    rows = [line.split("\t") for line in lines]
    first = ns(rows[0][1])
    return [(int(number), ns(at) - first, f"[{ip6}]:{port}" if ip6 else f"{ip}:{port}", int(length) - 8, int(kind) if kind else None)
            for number, at, ip, ip6, port, _, length, kind in rows if length]


def ns(seconds):
    whole, _, fraction = seconds.partition(".")
    return int(whole) * 10**9 + int(fraction.ljust(9, "0"))


def udp(payload, length=None, ports=(5004, 5006)):
    return struct.pack(">HHHH", *ports, 8 + (len(payload) if length is None else length), 0) + payload


def ip4(protocol, payload, fragment=0, ends=(A, B)):
    return struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(payload), 1, fragment, 64, protocol, 0, *ends) + payload


def ip6(next_header, payload):
    return struct.pack(">IHBB16s16s", 6 << 28, len(payload), next_header, 64, A6, B6) + payload


def rtp(payload_type, length):
    return struct.pack(">BBHII", 0x80, payload_type, 1, 1, 1) + bytes(length - 12)


def frames():
    """Returns Ethernet frames: tags, padding, fragments, extension headers, and packets without a datagram."""
    macs = bytes(12)
    plain = macs + b"\x08\x00"
    yield plain + ip4(17, udp(rtp(0, 172)))
    yield plain + ip4(17, udp(rtp(0x80 | 96, 1000)))
    yield plain + ip4(17, udp(rtp(0, 172), ports=(5006, 5004)), ends=(B, A))
    yield macs + b"\x81\x00\x00\x05\x08\x00" + ip4(17, udp(rtp(8, 20)))
    yield macs + b"\x88\xa8\x00\x01\x81\x00\x00\x05\x08\x00" + ip4(17, udp(rtp(9, 20)))
    yield (plain + ip4(17, udp(b"ping"))).ljust(60, b"\0")
    yield plain + ip4(17, udp(rtp(96, 48), 2000), 0x2000)
    yield plain + ip4(17, bytes(40), 7)
    options = bytes([60, 0, 1, 4, 0, 0, 0, 0, 17, 0, 1, 4, 0, 0, 0, 0])  # hop-by-hop, destination options
    yield macs + b"\x86\xdd" + ip6(0, options + udp(rtp(0, 20)))
    yield macs + b"\x86\xdd" + ip6(44, struct.pack(">BBHI", 17, 0, 1, 9) + udp(rtp(97, 24), 1500))
    yield macs + b"\x86\xdd" + ip6(44, struct.pack(">BBHI", 17, 0, 4 << 3, 9) + bytes(16))
    yield plain + ip4(6, bytes(20))
    yield macs + b"\x08\x06" + bytes(28)
    yield plain + ip4(17, udp(b""))


def files(folder):
    """Writes captures in all formats. Returns their names and paths."""
    def tool(name, *words):
        path = folder / name
        subprocess.run([*words, path], check=True, capture_output=True)
        return path

    def text(name, packets):
        """Returns the input of text2pcap: a packet every 20 ms and a fraction."""
        dump = lambda packet: "".join(f"{at:06x} {packet[at:at + 16].hex(' ')}\n" for at in range(0, len(packet), 16))
        lines = (f"{0.020001 * number:.6f}\n{dump(packet)}\n" for number, packet in enumerate(packets))
        (folder / name).write_text("".join(lines))
        return folder / name

    ethernet = list(frames())
    source = text("ethernet.txt", ethernet)
    ng = tool("ethernet.pcapng", "text2pcap", "-q", "-t", "%S.%f", source)
    yield "pcapng of text2pcap", ng
    for kind in ("pcap", "nsecpcap", "modpcap"):
        yield f"{kind} of editcap", tool(f"{kind}.pcap", "editcap", "-F", kind, ng)
    pcap = folder / "pcap.pcap"
    yield "snap length of 64", tool("short.pcapng", "editcap", "-s", "64", ng)
    # The first IPv4 packets of the frames, with the link types that contain IP.
    packets = [frame[14:] for frame in ethernet[:3]]
    cooked = lambda packet: struct.pack(">HHH8xH", 0, 1, 6, 0x800) + packet
    cooked2 = lambda packet: struct.pack(">HxxIHBB8x", 0x800, 1, 1, 0, 6) + packet
    kinds = [("raw IP", 101, lambda packet: packet), ("IPv4", 228, lambda packet: packet), ("BSD loopback", 0, lambda packet: b"\2\0\0\0" + packet),
             ("Linux cooked", 113, cooked), ("Linux cooked 2", 276, cooked2)]
    others = []
    for name, link_type, wrap in kinds:
        stem = name.lower().replace(" ", "-")
        source = text(f"{stem}.txt", map(wrap, packets))
        others.append(tool(f"{stem}.pcapng", "text2pcap", "-q", "-l", str(link_type), "-t", "%S.%f", source))
        yield name, others[-1]
    yield "interfaces of mergecap", merged(folder / "merged.pcapng", [ng, *others])
    yield "pcap in the other byte order", written(folder / "swapped.pcap", swapped(pcap.read_bytes()))
    yield "pcap that was cut", written(folder / "cut.pcap", pcap.read_bytes()[:-7])
    yield "pcapng that was cut", written(folder / "cut.pcapng", ng.read_bytes()[:-7])
    for name, order in [("little-endian", "<"), ("big-endian", ">")]:
        yield f"pcapng blocks, {name}", written(folder / f"{name}.pcapng", blocks(order, packets[0]))


def merged(path, sources):
    subprocess.run(["mergecap", "-w", path, *sources], check=True, capture_output=True)
    return path


def written(path, data):
    path.write_bytes(data)
    return path


def swapped(data):
    """Returns a little-endian pcap as a big-endian machine writes it."""
    out, at = struct.pack(">IHHiIII", *struct.unpack("<IHHiIII", data[:24])), 24
    while at < len(data):
        record = struct.unpack("<IIII", data[at:at + 16])
        out += struct.pack(">IIII", *record) + data[at + 16:at + 16 + record[2]]
        at += 16 + record[2]
    return out


def blocks(order, packet):
    """Returns two sections: nanoseconds and an offset, units of 1/1024 s, an obsolete packet block, a block of an unknown type."""
    def block(kind, body):
        body += bytes(-len(body) % 4)
        length = struct.pack(order + "I", len(body) + 12)
        return struct.pack(order + "I", kind) + length + body + length

    def option(code, value):
        return struct.pack(order + "HH", code, len(value)) + value + bytes(-len(value) % 4)

    section = block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1))
    interface = lambda *options: block(1, struct.pack(order + "HHI", 101, 0, 0) + b"".join(options) + (option(0, b"") if options else b""))
    times = lambda ticks: (ticks >> 32, ticks & 0xFFFFFFFF)
    enhanced = lambda number, ticks: block(6, struct.pack(order + "IIIII", number, *times(ticks), len(packet), len(packet)) + packet)
    obsolete = lambda number, ticks: block(2, struct.pack(order + "HHIIII", number, 0xFFFF, *times(ticks), len(packet), len(packet)) + packet)
    first = section + interface(option(9, b"\x09")) + interface(option(9, b"\x8a"), option(14, struct.pack(order + "q", 100)))
    first += enhanced(0, 200_000_000_001) + enhanced(1, 100 * 1024 + 512) + obsolete(0, 200_000_000_004)
    # tshark numbers a block of an unknown type as a packet.
    return first + section + interface() + enhanced(0, 200_250_000) + block(0x0BAD, b"xyz")
