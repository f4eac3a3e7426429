"""Checks the packets of connections over paths that lose or mark packets, as decoded by Wireshark.

Each run is a flow of one CCID over path.toml. The links at both ends lose nothing: a capture of the first link has all packets that the sender
sent, and one of the last link has all that the receiver got. So the contents of an acknowledgement can be compared with the fates of the
packets. tshark dissects; this module only counts, and decodes the options whose bytes tshark does not decode.
"""

import collections
import pathlib
import subprocess

from common import program

PATH = (pathlib.Path(__file__).resolve().parent / "path.toml").read_text()
LOSS, RARE, NONE = (f'{{ kind = "bernoulli", probability = {p} }}' for p in (0.02, 0.005, 0))
TAIL = '{ kind = "droptail", limit = "30packets" }'
RED = '{ kind = "red", limit = "50packets", min_threshold = "3packets", max_threshold = "9packets", gentle = true, ecn = true }'
# The runs: name, CCID, options of the connection, loss, queue.
RUNS = [(f"CCID {ccid}, {name}", ccid, connection, loss, queue)
        for ccid in (2, 3, 4)
        for name, connection, loss, queue in [("losses", "", LOSS, TAIL), ("marks", "", NONE, RED), ("losses and marks", "", RARE, RED),
                                              ("all options", "data_checksum = true, ndp_counts = true, timestamps = true", LOSS, TAIL),
                                              ("partial coverage", "minimum_coverage = 1, send_coverage = 1", LOSS, TAIL)]]

# Range of sequence numbers (48 bits); rate of the middle link in bytes per second; time on the last link in ns per byte plus ns.
TURN = 1 << 48
BOTTLENECK = 125_000
FAR_PER_BYTE, FAR_DELAY = 80, 1_000_000
# Number of packets after a missing one that make it lost (RFC 4342 section 6.1).
NDUPACK = 3
# Longest wait of an acknowledgement for the packet in transmission, in ns: 1500 bytes.
ACK_WAIT = 1500 * FAR_PER_BYTE
FIELDS = ["frame.interface_name", "frame.time_epoch", "frame.protocols", "frame.len", "ip.src", "ip.dsfield.ecn", "dccp.type", "dccp.x", "dccp.seq_raw",
          "dccp.ack_raw", "dccp.ccval", "dccp.cscov", "dccp.checksum.status", "dccp.option_type", "_ws.expert.severity", "dccp.elapsed_time",
          "dccp.timestamp_echo", "dccp.ccid3_receive_rate", "dccp.ccid3_loss_intervals", "dccp.ack_vector.nonce_0",
          "dccp.ccid_option_data", "data.len"]
TYPES = ["Request", "Response", "Data", "Ack", "DataAck", "CloseReq", "Close", "Reset", "Sync", "SyncAck", "Listen"]
CONGESTION_EXPERIENCED = "3"


class Row(dict):
    """A packet on a link: the fields of tshark, some as numbers."""

    def __init__(self, line):
        super().__init__(zip(FIELDS, line.split("\t")))
        self.link, self.time = self["frame.interface_name"], int(self["frame.time_epoch"].replace(".", "")) # in nanoseconds
        self.kind = TYPES[int(self["dccp.type"])] if self["dccp.type"] else "none"
        self.seq, self.ack = (int(self[field]) if self[field] else None for field in ("dccp.seq_raw", "dccp.ack_raw"))
        self.marked = self["ip.dsfield.ecn"] == CONGESTION_EXPERIENCED
        self.options = self["dccp.option_type"].split(",") if self["dccp.option_type"] else []
        self.data = self["data.len"] != ""

    def bytes_of(self, field):
        """Returns all options of a type, each as bytes."""
        return [bytes.fromhex(text.replace(":", "")) for text in self[field].split(",")] if self[field] else []


def compare(headway, seed, folder):
    cases = []
    for name, ccid, connection, loss, queue in RUNS:
        text = PATH
        for key, value in [("CCID", str(ccid)), ("CONNECTION", connection), ("LOSS", loss), ("QUEUE", queue)]:
            text = text.replace(f"= {key}", f"= {value}").replace(f"{{ {key} }}", f"{{ {value} }}")
        out = folder / name.replace(" ", "-").replace(",", "")
        out.mkdir(parents=True, exist_ok=True)
        scenario = out / "path.toml"
        scenario.write_text(text)
        record = out / "record"
        summary = program.simulate(headway, scenario, record, "--trace", "pcapng", seed=seed)
        checks = Checks(dissect(record / "trace.pcapng"), summary, ccid)
        checks.all()
        wrong = [f"{count} times: {what}" for what, count in checks.wrong.items()]
        cases.append({"name": f"runs: {name}", "pass": not wrong, **checks.counts, "wrong": wrong})
    return cases


def dissect(capture):
    command = ["tshark", "-r", capture, "-o", "dccp.check_checksum:TRUE", "-o", "dccp.relative_sequence_numbers:FALSE", "-T", "fields"]
    lines = subprocess.run(command + [part for field in FIELDS for part in ("-e", field)], check=True, capture_output=True, text=True).stdout
    return [Row(line) for line in lines.splitlines()]


class Checks:
    """The checks of the packets of a run, with the number of failures and an example of each."""

    def __init__(self, rows, summary, ccid):
        self.rows, self.summary, self.ccid = rows, summary, ccid
        self.wrong, self.counts = collections.Counter(), collections.Counter()
        self.examples = {}

    def expect(self, holds, what, row=None):
        self.counts["checks"] += 1
        if not holds:
            if what not in self.examples:
                self.examples[what] = f"{what}, such as {dict((k, v[:60]) for k, v in row.items() if v)}" if row else what
            self.wrong[self.examples[what]] += 1

    def on(self, link):
        return [row for row in self.rows if row.link == link]

    def all(self):
        self.counts["packets"] = len(self.rows)
        for row in self.rows:
            self.dissected(row)
        self.counted()
        for out, back in [("a->m", "m->a"), ("b->n", "n->b")]:
            self.numbered(self.on(out))
            self.acknowledged(self.on(out), self.on(back))
        self.window_counters(self.on("a->m"))
        self.feedback(self.on("a->m"), self.on("n->b"), self.on("b->n"))

    def dissected(self, row):
        self.expect(row["frame.protocols"] in ("raw:ip:dccp", "raw:ip:dccp:data"), "DCCP, and nothing more", row)
        self.expect(row["dccp.checksum.status"] == "1", "the checksum is good", row)
        self.expect(row["dccp.x"] in ("1", "True"), "whole sequence numbers", row)
        # Packets that open or close have severity 2097152 (Chat).
        self.expect(set(row["_ws.expert.severity"].split(",")) <= {"", "2097152"}, "no warning", row)

    def counted(self):
        for link in self.summary["links"]:
            rows = self.on(link["name"])
            self.expect(len(rows) == link["arrived_packets"] - sum(link["dropped_packets"].values()), f"{link['name']} transmits all packets that it does not drop")
        flow = self.summary["flows"][0]
        self.expect(len(self.on("a->m")) == flow["sent_packets"], "sent_packets")
        self.expect(len(self.on("n->b")) == flow["received_packets"], "received_packets")
        marks = sum(link["marked_packets"] for link in self.summary["links"] if link["name"] == "m->n")
        self.expect(sum(row.marked for row in self.on("n->b")) == marks, "marked_packets")
        self.counts |= {"lost": len(self.on("a->m")) - len(self.on("n->b")), "marked": marks}

    def numbered(self, sent):
        for before, row in zip(sent, sent[1:]):
            self.expect(row.seq == (before.seq + 1) % TURN, "sequence numbers rise by one", row)

    def acknowledged(self, sent, received):
        """Checks that acknowledgement numbers are those of packets that had arrived, and never fall."""
        arrived, arrivals, newest = set(), iter(received), None
        following = next(arrivals, None)
        for row in sent:
            while following and arrival(following) <= row.time:
                arrived.add(following.seq)
                following = next(arrivals, None)
            if row.ack is not None:
                self.expect(row.ack in arrived, "acknowledged packets have arrived", row)
                self.expect(newest is None or (row.ack - newest) % TURN < TURN // 2, "acknowledgement numbers do not fall", row)
                newest = row.ack

    def window_counters(self, sent):
        """Checks RFC 4342 section 8.1: the counter rises by at most 5; CCID 2 has none."""
        data = [row for row in sent if row.data]
        for before, row in zip(data, data[1:]):
            if self.ccid == 2:
                self.expect(row["dccp.ccval"] == "0", "CCID 2 leaves CCVal zero", row)
            else:
                self.expect((int(row["dccp.ccval"]) - int(before["dccp.ccval"])) % 16 <= 5, "CCVal rises by 5 at most", row)

    def feedback(self, sent, received, back):
        """Checks the receiver's feedback on the packets that arrived."""
        fate = {row.seq: "lost" for row in sent} | {row.seq: "marked" if row.marked else "received" for row in received}
        data = {row.seq for row in sent if row.data}
        arrived_at = {row.seq: arrival(row) for row in received}
        for row in back:
            if row.ack is None or row.ack not in fate:
                continue
            if row["dccp.elapsed_time"] and not row["dccp.timestamp_echo"]:
                # In units of 10 us. It is less than the true time by the rounding and by the time that the packet waited for its link.
                short = row.time - arrived_at[row.ack] - int(row["dccp.elapsed_time"]) * 10_000
                self.expect(0 <= short < 10_000 + ACK_WAIT, "Elapsed Time is the time since then", row)
                self.counts["elapsed_times"] += 1
            if row["dccp.ccid3_receive_rate"]:
                # Zero in the first report (RFC 5348 section 6.3); at most the rate of the bottleneck, except for the ends of a round trip.
                rate, first = int(row["dccp.ccid3_receive_rate"]), self.counts["receive_rates"] == 0
                self.expect(rate == 0 if first else 0 < rate <= 1.2 * BOTTLENECK, "Receive Rate is one of this path", row)
                self.counts["receive_rates"] += 1
            self.ack_vectors(row, fate)
            self.loss_intervals(row, fate, data)
        wanted = {2: ["ack_vectors"], 3: ["receive_rates", "elapsed_times"], 4: ["receive_rates", "elapsed_times"]}[self.ccid]
        for kind in wanted:
            self.expect(self.counts[kind] > 50, f"there are {kind}")

    def ack_vectors(self, row, fate):
        """Checks RFC 4340 section 11.4: from the acknowledgement number downwards, as far as packets were sent."""
        states = {0: "received", 1: "marked", 3: "lost"}
        number = row.ack
        for byte in b"".join(row.bytes_of("dccp.ack_vector.nonce_0")):
            for _ in range((byte & 63) + 1):
                self.expect(fate.get(number) == states.get(byte >> 6), "Ack Vectors report the true states", row)
                number = (number - 1) % TURN
        self.counts["ack_vectors"] += row["dccp.ack_vector.nonce_0"] != ""

    def loss_intervals(self, row, fate, data):
        """Checks RFC 4342 section 8.6 and RFC 5622 section 8.7: lossless parts have no loss, lossy parts begin with one."""
        options = row.bytes_of("dccp.ccid3_loss_intervals")
        if not options:
            return
        self.counts["loss_intervals"] += 1
        skip, body = options[0][0], options[0][1:]
        self.expect(skip <= NDUPACK, "Skip Length is 3 at most", row)
        dropped = [int.from_bytes(option[at:at + 3], "big") for option in row.bytes_of("dccp.ccid_option_data")[:1] for at in range(0, len(option), 3)]
        intervals = [body[at:at + 9] for at in range(0, len(body), 9)]
        self.expect(self.ccid == 3 or len(dropped) == len(intervals), "CCID 4 has a count for each interval", row)
        above = (row.ack - skip) % TURN
        for n, interval in enumerate(intervals):
            lossless, loss, length = (int.from_bytes(interval[at:at + 3], "big") for at in (0, 3, 6))
            loss &= (1 << 23) - 1
            whole = [(above - k) % TURN for k in range(lossless)]
            # Skip Length is at most 3. If more packets at the end are undecided, the others count as received until three packets have arrived after them.
            open_fate = [number for number in whole if fate.get(number) == "lost" and skip == NDUPACK and behind(row.ack, number, fate) < NDUPACK]
            sound = all(fate.get(number) == "received" or number in open_fate or number not in data for number in whole)
            self.expect(sound, "a lossless part has no lost or marked data packet", row)
            self.counts["undecided"] += len(open_fate)
            begins = (above - lossless - loss + 1) % TURN
            lossy = [(begins + k) % TURN for k in range(loss)]
            if loss:
                self.expect(fate.get(begins) in ("lost", "marked"), "a lossy part begins with a loss", row)
            # The interval before the first loss event represents the rate that was reached (RFC 5348 section 6.3.1).
            before_any = loss == 0 and n == len(intervals) - 1
            self.expect(before_any or length <= sum(number in data for number in lossy + whole), "Data Length counts data packets", row)
            if n < len(dropped):
                self.expect(dropped[n] == sum(fate.get(number) in ("lost", "marked") for number in lossy), "Dropped Packets counts losses", row)
            above = (begins - 1) % TURN


def arrival(row):
    """Returns the time at which a packet of the last link had arrived at its end."""
    return row.time + int(row["frame.len"]) * FAR_PER_BYTE + FAR_DELAY


def behind(newest, number, fate):
    """Returns how many packets had arrived between a missing packet and the newest one, including the newest one."""
    return sum(fate.get((number + k) % TURN) != "lost" for k in range(1, (newest - number) % TURN + 1))
