"""Reads the results of a case and checks them. A check returns a list of complaints, which is empty if it passes."""

import dataclasses
import errno
import json
import math
import subprocess

# Packet types by their numbers.
TYPES = ["Request", "Response", "Data", "Ack", "DataAck", "CloseReq", "Close", "Reset", "Sync", "SyncAck"]
FIELDS = ["frame.time_epoch", "ip.src", "ipv6.src", "dccp.srcport", "dccp.dstport", "dccp.type", "dccp.reset_code", "dccp.seq_raw",
          "dccp.checksum.status", "_ws.malformed", "dccp.option_type", "dccp.feature_number"]


@dataclasses.dataclass
class Packet:
    """A packet of the capture at the TUN device, as read by tshark."""

    at: float
    by: str
    kind: str
    code: int | None
    # Sequence number of 48 bits; None for a short one.
    seq: int | None
    good: bool
    malformed: bool
    # The options of feature negotiation: (32 Change L, 33 Confirm L, 34 Change R or 35 Confirm R, the feature).
    negotiated: list


@dataclasses.dataclass
class Seen:
    """A case and its results. In a session between two sockets of the kernel, `headway` is the server."""

    case: object
    headway: dict | None
    kernel: dict
    packets: list
    dropped: dict
    # The other cases, by name.
    others: dict = dataclasses.field(default_factory=dict)

    def of(self, kind, by=None, code=None):
        """Returns the packets of a type."""
        return [packet for packet in self.packets if packet.kind == kind and by in (None, packet.by) and code in (None, packet.code)]


def capture(path, spoiling):
    """Returns every packet of the capture by the server's port. Paths of the ports in `spoiling` damage bits."""
    fields = [argument for field in FIELDS for argument in ("-e", field)]
    listed = subprocess.run(["tshark", "-r", path, "-o", "dccp.check_checksum:true", "-T", "fields", "-E", "occurrence=a", *fields], capture_output=True, text=True, check=True)
    ports, port, waiting = {}, None, []
    for line in listed.stdout.splitlines():
        at, four, six, source, destination, kind, code, seq, status, malformed, options, features = line.split("\t")
        if not kind:
            continue
        by = "headway" if (four or six).endswith((".2", ":2")) else "kernel"
        # The feature numbers belong to the options 32 to 35, in this order.
        negotiation = [int(option) for option in options.split(",") if option and 32 <= int(option) <= 35]
        negotiated = list(zip(negotiation, [int(feature) for feature in features.split(",") if feature]))
        kind = TYPES[int(kind)] if int(kind) < len(TYPES) else "Reserved"
        packet = Packet(float(at), by, kind, int(code) if code else None, int(seq) if seq else None, status == "1", bool(malformed), negotiated)
        # A packet damaged by the path may have any port. It belongs to the previous session or to the next one.
        if not packet.good and by == "kernel" and port not in spoiling:
            waiting.append(packet)
            continue
        if packet.good or by == "headway":
            port = min(int(source), int(destination))
        ports.setdefault(port, []).extend([*waiting, packet])
        waiting.clear()
    ports.setdefault(port, []).extend(waiting)
    return ports


def read(folder, case, packets):
    """Reads the results of a case from the folder."""

    def report(end):
        text = (folder / f"{case.name}.{end}").read_text()
        found = json.loads(text) if text.strip() else {"failed": "it ended without a report"}
        return found

    server, client = report("server"), report("client")
    headway, kernel = (client, server) if case.client == "headway" else (server, client)
    dropped = {}
    for line in (folder / f"{case.name}.path").read_text().splitlines():
        device, sent, lost = line.split()
        dropped["to_headway" if device == "tun0" else "to_kernel"] = int(lost)
    return Seen(case, headway, kernel, packets.get(case.port, []), dropped)


def judge(seen):
    """Returns the complaints about a case, one sentence each."""
    for end in (seen.headway, seen.kernel):
        if end and "failed" in end:
            return [f"an end failed: {end['failed']}"]
    wrong = [complaint for question in seen.case.expect for complaint in question(seen)]
    if not seen.case.tampered and any(packet.malformed and packet.good for packet in seen.packets):
        wrong.append("tshark calls a packet malformed")
    bad = sum(not packet.good and (packet.by == "headway" or "corrupt" not in seen.case.to_headway) for packet in seen.packets)
    if bad and not seen.case.tampered:
        wrong.append(f"{bad} packets have a wrong checksum")
    return wrong


def same(what, found, wanted):
    """Returns a complaint unless the values are equal."""
    return [] if found == wanted else [f"{what}: {found}, not {wanted}"]


def within(what, found, low, high):
    """Returns a complaint unless the value is in the range."""
    return [] if found is not None and low <= found <= high else [f"{what}: {found}, not {low} to {high}"]


def connected(seen):
    """Checks that both ends report that they are connected."""
    if seen.headway.get("connect_s") is None:
        return ["Headway is not connected"]
    return [f"the kernel is not connected: {name(seen.kernel)}"] if "connect_errno" in seen.kernel else []


def quick(seen):
    """Checks that the client is connected after one round trip of 40 ms plus a few ticks of 4 ms."""
    client = seen.headway if seen.case.client == "headway" else seen.kernel
    return within("the client's handshake took", client.get("connect_s"), 0.040, 0.060)


def agreed(to_kernel, to_headway):
    """Checks the CCIDs of the data in each direction at both ends."""

    def question(seen):
        found = [(seen.headway["send_ccid"], seen.headway["receive_ccid"]), (seen.kernel.get("receive_ccid"), seen.kernel.get("send_ccid"))]
        return same("CCIDs (to the kernel, to Headway) at Headway", found[0], (to_kernel, to_headway)) + \
            same("the same at the kernel", found[1], (to_kernel, to_headway))

    return question


def honest(seen):
    """Checks that no datagram was delivered twice or changed, and that no more were delivered than sent."""
    wrong = []
    for end, other in ((seen.headway, seen.kernel), (seen.kernel, seen.headway)):
        if end is None or "tally" not in end or "sent" not in other:
            continue
        # Linux delivers what the network duplicates.
        if end["tally"]["twice"] and not (end is seen.kernel and "duplicate" in seen.case.to_kernel):
            wrong.append(f"{end['tally']['twice']} datagrams were delivered twice")
        if end["tally"]["spoilt"] and not seen.case.partial:
            wrong.append(f"{end['tally']['spoilt']} datagrams were delivered with other bytes")
        if end["tally"]["received"] - end["tally"]["twice"] > other["sent"]:
            wrong.append("more was delivered than was sent")
    return wrong


def delivered(to_kernel, to_headway):
    """Checks that these numbers of datagrams were sent and delivered, in order."""

    def question(seen):
        wrong = same("datagrams to the kernel", (seen.headway["sent"], tally(seen.kernel)["received"]), (to_kernel, to_kernel))
        wrong += same("datagrams to Headway", (seen.kernel.get("sent"), tally(seen.headway)["received"]), (to_headway, to_headway))
        return wrong + same("datagrams out of order", (tally(seen.kernel)["overtaken"], tally(seen.headway)["overtaken"]), (0, 0))

    return question


def tally(end):
    """Returns the counts of an end's received datagrams; zeros if it was never connected."""
    return end.get("tally", {"received": 0, "twice": 0, "overtaken": 0, "spoilt": 0, "bytes": 0})


def accounted(seen):
    """Checks that at most as many datagrams are missing as netem and Headway's program dropped."""
    wrong = []
    for way, sender, receiver in (("to_kernel", seen.headway, seen.kernel), ("to_headway", seen.kernel, seen.headway)):
        missing = sender.get("sent", 0) - tally(receiver)["received"] + tally(receiver)["twice"]
        lost = seen.dropped[way] + seen.headway["lost"]
        if missing > lost:
            wrong.append(f"{missing} datagrams {way.replace('_', ' ')} are missing, and only {lost} packets were lost")
    return wrong


def resets(*codes):
    """Checks that the capture has these Resets, as (sender, code), and no others."""

    def question(seen):
        return same("Resets", [(packet.by, packet.code) for packet in seen.of("Reset")], list(codes))

    return question


def gaps_in_numbers(least):
    """Checks that Headway skipped at least this many sequence numbers."""

    def question(seen):
        numbers = [packet.seq for packet in seen.packets if packet.by == "headway"]
        return within("numbers that Headway skipped", sum(after - before - 1 for before, after in zip(numbers, numbers[1:])), least, len(numbers))

    return question


def calm(seen):
    """Checks that neither end sent a Sync, and that Headway ignored no packet."""
    return same("Syncs", len(seen.of("Sync")), 0) + same("packets that Headway ignored", seen.headway["ignored"], {})


def closed(by, code):
    """Checks that the connection ended at Headway by a Reset of the peer or of Headway, with this code."""

    def question(seen):
        found = seen.headway["closed"] or {}
        return same("end of Headway's connection (sender and code of the Reset)", (found.get("by"), found.get("code")), (by, code))

    return question


def kernel_end(wanted):
    """Checks the last result of read of the kernel's application: None if it closed first, 0 for the end, or an errno."""
    return lambda seen: same("the kernel's last read", name(seen.kernel, "end"), errno.errorcode.get(wanted, wanted) if wanted else wanted)


def refused(wanted):
    """Checks that the kernel's connect failed with this errno."""
    return lambda seen: same("the kernel's connect", name(seen.kernel), errno.errorcode[wanted])


def name(end, key="connect_errno"):
    """Returns the name of an errno."""
    return errno.errorcode.get(end.get(key), end.get(key))


def exchange(*kinds):
    """Checks the order of the packets, such as "headway Close". Other types than those listed are not checked."""

    def question(seen):
        named = {kind.split()[1] for kind in kinds}
        return same("the exchange", [f"{packet.by} {packet.kind}" for packet in seen.packets if packet.kind in named], list(kinds))

    return question


def count(kind, by, low, high):
    """Checks how many packets of a type an end sent."""
    return lambda seen: within(f"{kind} packets of {by}", len(seen.of(kind, by)), low, high)


def gaps(kind, by, *seconds):
    """Checks the times between an end's packets of a type. Linux's timers are up to an eighth late, since they have steps."""

    def question(seen):
        times = [packet.at for packet in seen.of(kind, by)]
        found = [round(later - earlier, 3) for earlier, later in zip(times, times[1:])]
        good = len(found) == len(seconds) and all(other <= one <= other * 1.125 + 0.01 for one, other in zip(found, seconds))
        return [] if good else [f"the times between {by}'s {kind} packets: {found}, not {list(seconds)}"]

    return question


def round_trip(seen):
    """Checks that Headway measured the round trip of 40 ms."""
    return within("Headway's round trip", seen.headway["rtt_s"], 0.040, 0.050)


def renegotiated(by, feature):
    """Checks that after the handshake an end changed one of its non-negotiable features, and that the other end confirmed it."""

    def question(seen):
        later = [packet for packet in seen.packets if packet.kind in ("Ack", "DataAck")]
        asked = sum((32, feature) in packet.negotiated and packet.by == by for packet in later)
        confirmed = sum((35, feature) in packet.negotiated and packet.by != by for packet in later)
        return [] if asked and confirmed else [f"feature {feature} of {by}: {asked} Changes and {confirmed} Confirms after the handshake"]

    return question


def unanswered(by, feature):
    """Checks that the other end does not confirm a Change L."""
    return lambda seen: same(f"Confirms of feature {feature} after the handshake", sum((35, feature) in packet.negotiated and packet.by != by
                             for packet in seen.packets if packet.kind in ("Ack", "DataAck")), 0)


def took(low, high):
    """Checks when the client was connected or, if it never was, when it gave up."""

    def question(seen):
        client = seen.headway if seen.case.client == "headway" else seen.kernel
        at = client.get("connect_s") or (client.get("closed") or {}).get("at")
        return within("seconds until the client was connected or gave up", at, low, high)

    return question


def all_sent(seen):
    """Checks that the client's application sent all of its datagrams."""
    client = seen.headway if seen.case.client == "headway" else seen.kernel
    return same("datagrams sent", client.get("sent"), (seen.case.headway if seen.case.client == "headway" else seen.case.kernel)["send"]["packets"])


def arrivals_in(*ranges):
    """Checks that the number of the client's datagrams that arrived is in one of these ranges."""
    def judged(seen):
        received = tally(seen.kernel if seen.case.client == "headway" else seen.headway)["received"]
        # The range that contains the number, or else the first one, for the complaint.
        low, high = next((one for one in ranges if one[0] <= received <= one[1]), ranges[0])
        return within("datagrams that arrived", received, low, high)
    return judged


def missing(low, high):
    """Checks how many of the client's datagrams never arrived."""

    def question(seen):
        sender, receiver = (seen.headway, seen.kernel) if seen.case.client == "headway" else (seen.kernel, seen.headway)
        return within("datagrams that never arrived", sender.get("sent", 0) - tally(receiver)["received"] + tally(receiver)["twice"], low, high)

    return question


def ignored(why, number):
    """Checks that Headway ignored this many packets for this reason, and no others."""
    return lambda seen: same("packets that Headway ignored", seen.headway["ignored"], {why: number})


def spoilt(seen):
    """Checks that Headway ignored packets, and at most those with wrong checksums in the capture plus 40 with damaged addresses or lengths."""
    wrong = sum(not packet.good for packet in seen.packets if packet.by == "kernel")
    return within("packets that Headway ignored", sum(seen.headway["ignored"].values()), 1, wrong + 40)


def some_spoilt(seen):
    """Checks that data outside of the checksum's coverage were delivered although the path had damaged them: 1 to 40 datagrams."""
    receiver = seen.kernel if seen.case.client == "headway" else seen.headway
    return within("datagrams with other bytes", tally(receiver)["spoilt"], 1, 40)


def resumes(low, high):
    """Checks that after a blackout the first acknowledgement of the server is sent in this range of seconds after the Request."""

    def question(seen):
        server = "kernel" if seen.case.client == "headway" else "headway"
        start = seen.packets[0].at
        later = [packet.at - start for packet in seen.packets if packet.by == server and packet.kind == "Ack" and packet.at - start > low]
        return within("seconds until acknowledgements resumed", round(later[0], 2) if later else None, low, high)

    return question


def equation_of(p, ccid, low=0.67, high=1.5):
    """Checks the number of datagrams that arrived in 20 s with round trips of 40 ms and a loss of p: within a factor of the number that
    the equation of RFC 5348 section 3.1 gives. For CCID 2 the equation is used without the term of timeouts, which SACK TCP avoids."""

    def question(seen):
        rtt_s = 0.040
        timeouts_s = 4 * rtt_s * 3 * math.sqrt(3 * p / 8) * p * (1 + 32 * p * p) if ccid == 3 else 0
        wanted = 20 / (rtt_s * math.sqrt(2 * p / 3) + timeouts_s)
        mine = tally(seen.kernel if seen.case.client == "headway" else seen.headway)["received"]
        return within(f"datagrams that arrived, compared with {wanted:.0f}", round(mine / wanted, 2), low, high)

    return question


def like(reference, low=0.67, high=1.5):
    """Checks that as many datagrams arrived as between two sockets of the kernel, within a factor."""

    def question(seen):
        other = seen.others.get(reference)
        if other is None:
            return []
        mine = tally(seen.kernel if seen.case.client == "headway" else seen.headway)["received"]
        theirs = tally(other.headway)["received"]
        return within(f"datagrams that arrived, compared with {theirs} between kernels", round(mine / max(theirs, 1), 2), low, high)

    return question
