"""Records the UDP packets of a call on both sides of an emulated link, and computes its figures."""

import csv
import dataclasses
import math
import socket
import statistics
import struct
import threading

# <linux/if_packet.h>, <linux/if_ether.h>, <asm-generic/socket.h>
PACKET_OUTGOING = 4
ETH_P_IP = 0x0800
SO_TIMESTAMPNS = 35
SOL_PACKET, PACKET_STATISTICS = 263, 6
SO_RCVBUFFORCE = 33
BUFFER_BYTES = 8 << 20
UDP = 17
CE = 3
# Packet types of RTCP (RFC 5761 section 4), and transport feedback (RFC 4585).
RTCP_TYPES = range(192, 224)
RTPFB = 205


@dataclasses.dataclass
class Packet:
    """An IP packet that arrived at the link."""

    at: float
    size: int
    ecn: int
    is_media: bool
    # Identifies the packet on the other side of the link.
    key: int
    # Of an RTP packet: its stream and the time of its frame.
    ssrc: int = 0
    timestamp: int = 0
    # Of an RTCP packet.
    kind: int = 0


class Capture(threading.Thread):
    """Records the packets that pass an interface, with the times of the kernel."""

    def __init__(self, interface, link_port, receiver_port):
        super().__init__(daemon=True)
        self.link_port, self.receiver_port = link_port, receiver_port
        self.arrived, self.reports = [], []
        # Departures from the link: time and ECN field.
        self.departed = {}
        self.media_started = threading.Event()
        self.is_over = False
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_P_IP))
        self.socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER_BYTES)
        self.socket.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        self.socket.bind((interface, ETH_P_IP))
        self.socket.settimeout(0.2)

    def run(self):
        while not self.is_over:
            try:
                data, control, _, address = self.socket.recvmsg(65535, 64)
            except TimeoutError:
                continue
            # The loopback interface shows each packet twice.
            if address[2] == PACKET_OUTGOING or data[9] != UDP:
                continue
            seconds, nanoseconds = struct.unpack("qq", control[0][2][:16])
            self._add(seconds + 1e-9 * nanoseconds, data)

    def end(self):
        """Stops the recording. Returns the number of packets that the kernel did not pass on."""
        self.is_over = True
        self.join()
        _, dropped = struct.unpack("II", self.socket.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8))
        self.socket.close()
        return dropped

    def write(self, path):
        """Writes the packets to a CSV file, in the order of their arrival at the link."""
        with open(path, "w", newline="") as file:
            table = csv.writer(file, lineterminator="\n")
            table.writerow(["arrived_s", "departed_s", "bytes", "ecn", "departed_ecn", "media", "stream", "timestamp", "rtcp"])
            for packet in self.arrived:
                at, ecn = self.departed.get(packet.key, ("", ""))
                table.writerow([packet.at, at, packet.size, packet.ecn, ecn, int(packet.is_media), packet.ssrc, packet.timestamp, packet.kind])

    def _add(self, at, data):
        start = 4 * (data[0] & 15)
        from_port, to_port = struct.unpack_from("!HH", data, start)
        payload = data[start + 8:]
        if to_port not in (self.link_port, self.receiver_port) and from_port != self.receiver_port or len(payload) < 12:
            return
        is_rtp_or_rtcp = payload[0] >> 6 == 2
        is_media = is_rtp_or_rtcp and payload[1] not in RTCP_TYPES
        packet = Packet(at, len(data), data[1] & 3, is_media, hash(payload))
        if is_media:
            packet.timestamp, packet.ssrc = struct.unpack_from("!II", payload, 4)
        elif is_rtp_or_rtcp:
            packet.kind = payload[1]
        if to_port == self.link_port:
            self.arrived.append(packet)
            if is_media:
                self.media_started.set()
        elif to_port == self.receiver_port:
            self.departed[packet.key] = (at, packet.ecn)
        elif packet.kind == RTPFB:
            self.reports.append(packet)


def percentile(values, share):
    """Returns a percentile by nearest rank."""
    return sorted(values)[max(math.ceil(share * len(values)) - 1, 0)]


def figures(capture, delay_s, begin, end):
    """Returns the figures of the packets that the sender sent from `begin` to `end`. Delays exclude the propagation delay."""
    sent = [packet for packet in capture.arrived if begin <= packet.at < end]
    media = [packet for packet in sent if packet.is_media]
    by_stream = {}
    for packet in capture.arrived:
        if packet.is_media:
            by_stream[packet.ssrc] = by_stream.get(packet.ssrc, 0) + packet.size
    video = max(by_stream, key=by_stream.get, default=None)
    sizes = {packet.key: packet.size for packet in capture.arrived}
    delivered = [sizes[key] for key, (at, _) in capture.departed.items() if begin <= at < end and key in sizes]
    passed = [(packet, *capture.departed[packet.key]) for packet in media if packet.key in capture.departed]
    delays = [at - packet.at - delay_s for packet, at, _ in passed]
    reports = [packet for packet in capture.reports if begin <= packet.at < end]

    frames = {}
    for packet in media:
        if packet.ssrc == video:
            frames.setdefault(packet.timestamp, []).append(packet.at)

    def kbps(sizes):
        return 8e-3 * sum(sizes) / (end - begin)

    return {
        "sent_kbps": kbps(packet.size for packet in sent),
        "delivered_kbps": kbps(delivered),
        # Retransmissions, padding and probes without video.
        "other_kbps": kbps(packet.size for packet in media if packet.ssrc != video),
        "delay_ms": 1e3 * statistics.fmean(delays) if delays else None,
        "delay_p95_ms": 1e3 * percentile(delays, 0.95) if delays else None,
        # Time from the first to the last packet of a frame.
        "frame_ms": 1e3 * statistics.fmean(times[-1] - times[0] for times in frames.values()) if frames else None,
        "sent_packets": len(media),
        "lost_packets": len(media) - len(passed),
        "ce_marks": sum(ecn == CE and packet.ecn != CE for packet, _, ecn in passed),
        "packet_bytes": statistics.fmean(packet.size for packet in media) if media else None,
        "reports_per_s": len(reports) / (end - begin),
        "report_bytes": statistics.fmean(packet.size for packet in reports) if reports else None,
    }
