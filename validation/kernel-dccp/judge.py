"""What was seen of a case, and what can be asked of it. A question answers what is wrong, or nothing."""

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
    """A packet as the capture at the TUN device has it, read by tshark."""

    at: float
    by: str
    kind: str
    code: int | None
    # Of 48 bits; none where it is short.
    seq: int | None
    good: bool
    malformed: bool
    # The options of feature negotiation: (32 Change L, 33 Confirm L, 34 Change R or 35 Confirm R, the feature).
    negotiated: list


@dataclasses.dataclass
class Seen:
    """A case and what came of it. Where two of the kernel's sockets talk, `headway` is the server."""

    case: object
    headway: dict | None
    kernel: dict
    packets: list
    dropped: dict
    # The other cases, by name.
    others: dict = dataclasses.field(default_factory=dict)

    def of(self, kind, by=None, code=None):
        """The packets of a type."""
        return [packet for packet in self.packets if packet.kind == kind and by in (None, packet.by) and code in (None, packet.code)]


def capture(path, spoiling):
    """Every packet of the capture, by the server's port. On the paths of the ports in `spoiling` bits are spoilt."""
    fields = [argument for field in FIELDS for argument in ("-e", field)]
    listed = subprocess.run(["tshark", "-r", path, "-o", "dccp.check_checksum:true", "-T", "fields", "-E", "occurrence=a", *fields], capture_output=True, text=True, check=True)
    ports, port, waiting = {}, None, []
    for line in listed.stdout.splitlines():
        at, four, six, source, destination, kind, code, seq, status, malformed, options, features = line.split("\t")
        if not kind:
            continue
        by = "headway" if (four or six).endswith((".2", ":2")) else "kernel"
        # The numbers of the features belong to the options 32 to 35, in their order.
        negotiation = [int(option) for option in options.split(",") if option and 32 <= int(option) <= 35]
        negotiated = list(zip(negotiation, [int(feature) for feature in features.split(",") if feature]))
        kind = TYPES[int(kind)] if int(kind) < len(TYPES) else "Reserved"
        packet = Packet(float(at), by, kind, int(code) if code else None, int(seq) if seq else None, status == "1", bool(malformed), negotiated)
        # What the path has spoilt may have any port: it belongs to the session before, or to the one behind.
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
    """What a case left in the folder."""

    def report(end):
        text = (folder / f"{case.name}.{end}").read_text()
        found = json.loads(text) if text.strip() else {"failed": "it ended without a word"}
        return found

    server, client = report("server"), report("client")
    headway, kernel = (client, server) if case.client == "headway" else (server, client)
    dropped = {}
    for line in (folder / f"{case.name}.path").read_text().splitlines():
        device, sent, lost = line.split()
        dropped["to_headway" if device == "tun0" else "to_kernel"] = int(lost)
    return Seen(case, headway, kernel, packets.get(case.port, []), dropped)


def judge(seen):
    """What is wrong, a sentence each."""
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
    """Equal, or a complaint."""
    return [] if found == wanted else [f"{what}: {found}, not {wanted}"]


def within(what, found, low, high):
    """In a range, or a complaint."""
    return [] if found is not None and low <= found <= high else [f"{what}: {found}, not {low} to {high}"]


def connected(seen):
    """Both ends say that they are connected."""
    if seen.headway.get("connect_s") is None:
        return ["Headway is not connected"]
    return [f"the kernel is not connected: {name(seen.kernel)}"] if "connect_errno" in seen.kernel else []


def quick(seen):
    """A client is connected after one round trip of 40 ms, and a few ticks of 4 ms."""
    client = seen.headway if seen.case.client == "headway" else seen.kernel
    return within("the client's handshake took", client.get("connect_s"), 0.040, 0.060)


def agreed(to_kernel, to_headway):
    """The CCIDs of data in each direction, and that both ends know them."""

    def question(seen):
        found = [(seen.headway["send_ccid"], seen.headway["receive_ccid"]), (seen.kernel.get("receive_ccid"), seen.kernel.get("send_ccid"))]
        return same("CCIDs (to the kernel, to Headway) at Headway", found[0], (to_kernel, to_headway)) + \
            same("the same at the kernel", found[1], (to_kernel, to_headway))

    return question


def honest(seen):
    """Nothing was delivered twice or invented, and no more than was sent."""
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
    """So many datagrams were sent and delivered, in order."""

    def question(seen):
        wrong = same("datagrams to the kernel", (seen.headway["sent"], tally(seen.kernel)["received"]), (to_kernel, to_kernel))
        wrong += same("datagrams to Headway", (seen.kernel.get("sent"), tally(seen.headway)["received"]), (to_headway, to_headway))
        return wrong + same("datagrams that were overtaken", (tally(seen.kernel)["overtaken"], tally(seen.headway)["overtaken"]), (0, 0))

    return question


def tally(end):
    """What an end received; nothing if it was never connected."""
    return end.get("tally", {"received": 0, "twice": 0, "overtaken": 0, "spoilt": 0, "bytes": 0})


def accounted(seen):
    """Datagrams that are missing were dropped on the way: no more are missing than netem dropped."""
    wrong = []
    for way, sender, receiver in (("to_kernel", seen.headway, seen.kernel), ("to_headway", seen.kernel, seen.headway)):
        missing = sender.get("sent", 0) - tally(receiver)["received"] + tally(receiver)["twice"]
        lost = seen.dropped[way] + seen.headway["lost"]
        if missing > lost:
            wrong.append(f"{missing} datagrams {way.replace('_', ' ')} are missing, and only {lost} packets were lost")
    return wrong


def resets(*codes):
    """These Resets were seen, (who, code) each, and no others."""

    def question(seen):
        return same("Resets", [(packet.by, packet.code) for packet in seen.of("Reset")], list(codes))

    return question


def gaps_in_numbers(least):
    """Headway passed over so many numbers at least."""

    def question(seen):
        numbers = [packet.seq for packet in seen.packets if packet.by == "headway"]
        return within("numbers that Headway passed over", sum(after - before - 1 for before, after in zip(numbers, numbers[1:])), least, len(numbers))

    return question


def calm(seen):
    """Nobody had to ask with a Sync where the other is, and Headway ignored nothing."""
    return same("Syncs", len(seen.of("Sync")), 0) + same("what Headway ignored", seen.headway["ignored"], {})


def closed(by, code):
    """How the connection ended at Headway: by a Reset of the peer's or of ours, with this code."""

    def question(seen):
        found = seen.headway["closed"] or {}
        return same("Headway's end: by whom, with which Reset", (found.get("by"), found.get("code")), (by, code))

    return question


def kernel_end(wanted):
    """What the kernel's application read last: None if it closed by itself, 0 for the end, or an errno."""
    return lambda seen: same("the kernel's last read", name(seen.kernel, "end"), errno.errorcode.get(wanted, wanted) if wanted else wanted)


def refused(wanted):
    """The kernel's connect failed with this errno."""
    return lambda seen: same("the kernel's connect", name(seen.kernel), errno.errorcode[wanted])


def name(end, key="connect_errno"):
    """An errno's name."""
    return errno.errorcode.get(end.get(key), end.get(key))


def exchange(*kinds):
    """The packets, in their order: "headway Close" and so on. Only types that are named are looked at."""

    def question(seen):
        named = {kind.split()[1] for kind in kinds}
        return same("the exchange", [f"{packet.by} {packet.kind}" for packet in seen.packets if packet.kind in named], list(kinds))

    return question


def count(kind, by, low, high):
    """How many packets of a type an end sent."""
    return lambda seen: within(f"{kind} packets of {by}", len(seen.of(kind, by)), low, high)


def gaps(kind, by, *seconds):
    """The times between an end's packets of a type; Linux's timers go late by up to an eighth, as they come in steps."""

    def question(seen):
        times = [packet.at for packet in seen.of(kind, by)]
        found = [round(later - earlier, 3) for earlier, later in zip(times, times[1:])]
        good = len(found) == len(seconds) and all(other <= one <= other * 1.125 + 0.01 for one, other in zip(found, seconds))
        return [] if good else [f"the times between {by}'s {kind} packets: {found}, not {list(seconds)}"]

    return question


def round_trip(seen):
    """Headway knows the round trip of 40 ms."""
    return within("Headway's round trip", seen.headway["rtt_s"], 0.040, 0.050)


def renegotiated(by, feature):
    """After the handshake an end changed a non-negotiable feature of its own, and the other confirmed."""

    def question(seen):
        later = [packet for packet in seen.packets if packet.kind in ("Ack", "DataAck")]
        asked = sum((32, feature) in packet.negotiated and packet.by == by for packet in later)
        told = sum((35, feature) in packet.negotiated and packet.by != by for packet in later)
        return [] if asked and told else [f"feature {feature} of {by}: {asked} Changes and {told} Confirms after the handshake"]

    return question


def unanswered(by, feature):
    """A Change L that nobody confirms."""
    return lambda seen: same(f"Confirms of feature {feature} after the handshake", sum((35, feature) in packet.negotiated and packet.by != by
                             for packet in seen.packets if packet.kind in ("Ack", "DataAck")), 0)


def took(low, high):
    """When the client was connected; or, if it never was, when it gave up."""

    def question(seen):
        client = seen.headway if seen.case.client == "headway" else seen.kernel
        at = client.get("connect_s") or (client.get("closed") or {}).get("at")
        return within("seconds until the client knew", at, low, high)

    return question


def all_sent(seen):
    """The client's application got rid of everything."""
    client = seen.headway if seen.case.client == "headway" else seen.kernel
    return same("datagrams sent", client.get("sent"), (seen.case.headway if seen.case.client == "headway" else seen.case.kernel)["send"]["packets"])


def came(*ranges):
    """So many of the client's datagrams came, in one of these ranges."""
    def judged(seen):
        received = tally(seen.kernel if seen.case.client == "headway" else seen.headway)["received"]
        # The range in which it is, or else the first one, which says what is wrong.
        low, high = next((one for one in ranges if one[0] <= received <= one[1]), ranges[0])
        return within("datagrams that came", received, low, high)
    return judged


def missing(low, high):
    """So many of the client's datagrams never came."""

    def question(seen):
        sender, receiver = (seen.headway, seen.kernel) if seen.case.client == "headway" else (seen.kernel, seen.headway)
        return within("datagrams that never came", sender.get("sent", 0) - tally(receiver)["received"] + tally(receiver)["twice"], low, high)

    return question


def ignored(why, number):
    """Headway ignored so many packets for this reason, and no others."""
    return lambda seen: same("what Headway ignored", seen.headway["ignored"], {why: number})


def spoilt(seen):
    """Headway ignored as many packets for their checksums as the capture has with wrong ones, or whose addresses or lengths were hit."""
    wrong = sum(not packet.good for packet in seen.packets if packet.by == "kernel")
    return within("packets that Headway ignored", sum(seen.headway["ignored"].values()), 1, wrong + 40)


def some_spoilt(seen):
    """Data that no checksum covers were delivered although the path had hit them: some, and most of them where they were hit."""
    receiver = seen.kernel if seen.case.client == "headway" else seen.headway
    return within("datagrams with other bytes", tally(receiver)["spoilt"], 1, 40)


def resumes(low, high):
    """After a blackout the first acknowledgement of the server's comes between these seconds after the Request."""

    def question(seen):
        server = "kernel" if seen.case.client == "headway" else "headway"
        start = seen.packets[0].at
        later = [packet.at - start for packet in seen.packets if packet.by == server and packet.kind == "Ack" and packet.at - start > low]
        return within("seconds until acknowledgements came again", round(later[0], 2) if later else None, low, high)

    return question


def equation_of(p, ccid, low=0.67, high=1.5):
    """As many datagrams came as the equation of RFC 5348 section 3.1 lets through at a loss of p in 20 s of 40 ms round trips, within a
    factor. Under CCID 2 without its timeouts, which SACK TCP does without."""

    def question(seen):
        rtt_s = 0.040
        timeouts_s = 4 * rtt_s * 3 * math.sqrt(3 * p / 8) * p * (1 + 32 * p * p) if ccid == 3 else 0
        wanted = 20 / (rtt_s * math.sqrt(2 * p / 3) + timeouts_s)
        mine = tally(seen.kernel if seen.case.client == "headway" else seen.headway)["received"]
        return within(f"datagrams that came, beside {wanted:.0f}", round(mine / wanted, 2), low, high)

    return question


def like(reference, low=0.67, high=1.5):
    """As many datagrams came as between two sockets of the kernel's, within a factor."""

    def question(seen):
        other = seen.others.get(reference)
        if other is None:
            return []
        mine = tally(seen.kernel if seen.case.client == "headway" else seen.headway)["received"]
        theirs = tally(other.headway)["received"]
        return within(f"datagrams that came, beside {theirs} between kernels", round(mine / max(theirs, 1), 2), low, high)

    return question
