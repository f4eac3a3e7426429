"""Reads the events of one queue discipline from the kernel's trace and a capture: arrivals, requests for a packet, decisions."""

import collections
import re
import struct
import sys

LINE = re.compile(r"\s(\d+)\.(\d{6}): (\w+): (.*)")
# Unit of the clock of sch_pie, in ns.
PSCHED_NS = 64
ETHERNET, IP_TOS, IP_ID, UDP_SOURCE = 14, 1, 4, 20


def captured(path):
    """Returns (number, whether it is CE) of each packet in a capture, in the order of departure. The number is the IP identification."""
    data = path.read_bytes()
    found, at = [], 24
    while at + 16 <= len(data):
        length, = struct.unpack_from("<I", data, at + 8)
        ip = at + 16 + ETHERNET
        found.append((struct.unpack_from(">H", data, ip + IP_ID)[0], data[ip + IP_TOS] & 3 == 3))
        at += 16 + length
    return found


class Played:
    """One run of a discipline. `given` are the sent packets: (ns, flow, bytes, traffic class)."""

    def __init__(self, path, capture, given):
        self.given = given
        # [ns, number, or None if the discipline was asked for a packet, [(event, number)]] in order. ns is the clock of the discipline.
        self.calls = []
        self.odd = []
        # The waiting packets by address; the current request and the last arrival; whether the clock was read in it; number of arrivals.
        self._numbers, self._asked, self._last, self._read, self._came = {}, None, None, True, 0
        # Random numbers of 64 bits by the index of the call; where PIE stores its random number; [(ns, index of the call)] of PIE's updates.
        self._drawn, self._place, self._updates = collections.defaultdict(list), None, []
        for line in path.open():
            found = LINE.search(line)
            if found:
                seconds, micros, event, rest = found.groups()
                getattr(self, f"_on_{event}", lambda *_: None)((int(seconds) * 1_000_000 + int(micros)) * 1000, rest)
        if self._came != len(given):
            sys.exit(f"{path.name}: {self._came} packets arrived at the queue, and {len(given)} were sent")
        self._mark(captured(capture))

    def _pointer(self, rest, key):
        return int(re.search(rf"{key}=(?:0x)?([0-9a-f]+)", rest)[1], 16)

    def _on_arrives(self, ns, rest):
        self._numbers[self._pointer(rest, "skb")] = self._came
        self._last, self._read = [ns, self._came, []], False
        self.calls.append(self._last)
        self._came += 1

    def _on_asked(self, ns, _rest):
        self._asked, self._read = [ns, None, []], False
        self.calls.append(self._asked)

    def _on_clock(self, _ns, rest):
        """Stores the clock as the discipline reads it. Only the first reading of a call counts, since fq_codel reads the clock again for its
        next queue if it drops all packets of one. CAKE reads it again if an arrival makes it drop another packet, and this reading counts:
        the arrival time of a packet that waits this long makes no difference."""
        if not self._read or "(cake_enqueue+" in rest:
            (self._asked or self._last)[0], self._read = int(rest.rsplit("=", 1)[1]), True

    def _on_leaves(self, _ns, rest):
        pointer = self._pointer(rest, "skb")
        if pointer:
            self._asked[2].append(("-", self._numbers.pop(pointer)))
        self._asked = None

    def _on_kfree_skb(self, _ns, rest):
        number = self._numbers.pop(self._pointer(rest, "skbaddr"), None)
        if number is not None:
            # Packets that are dropped because of an arrival are freed at the end, in no particular order.
            call = self._asked or self._last
            call[2].append(("d", number))
            if call is self._last:
                call[2].sort()

    def _on_draws(self, _ns, rest):
        self._place = self._pointer(rest, "to") - self._pointer(rest, "stack")

    def _on_drawn(self, _ns, rest):
        """Stores a random number, which is read from the end of the caller's stack, after the return address."""
        if self._place != 8:
            self.odd.append("the random number is not at the place that the trace reads")
        self._drawn[len(self.calls) - 1].append(self._pointer(rest, "bits"))

    def _on_drawn16(self, _ns, rest):
        self._drawn[len(self.calls) - 1].append(int(rest.rsplit("=", 1)[1]) << 48)

    def _on_drawn32(self, _ns, rest):
        self._drawn[len(self.calls) - 1].append(int(rest.rsplit("=", 1)[1]) << 32)

    def _on_update(self, ns, _rest):
        self._updates.append((ns, len(self.calls)))

    def straighten(self, period):
        """Shifts all times so that PIE's updates are due at whole periods, in steps of the kernel's clock. A call between the due time of an
        update and the update is moved to before the due time."""
        late = [ns - self._updates[0][0] - period * place for place, (ns, _) in enumerate(self._updates)]
        if max(late) - min(late) > period // 4:
            self.odd.append(f"updates are not {period} ns apart")
        # The trace rounds to microseconds.
        begun = (self._updates[0][0] + min(late) - 1000) // PSCHED_NS * PSCHED_NS - period
        done = 0
        for place, call in enumerate(self.calls):
            while done < len(self._updates) and self._updates[done][1] <= place:
                done += 1
            call[0] = min(call[0] // PSCHED_NS * PSCHED_NS - begun, (done + 1) * period - PSCHED_NS)

    def forget_refusals(self):
        """Removes the requests that a shaping discipline refused because they were too early although packets waited."""
        waiting, kept = 0, []
        for place, call in enumerate(self.calls):
            if call[1] is not None or call[2] or not waiting:
                kept.append((call, self._drawn[place]))
            waiting += (call[1] is not None) - sum(what in "-d" for what, _ in call[2])
        self.calls = [call for call, _ in kept]
        self._drawn = collections.defaultdict(list, enumerate(drawn for _, drawn in kept))

    def _mark(self, captured):
        """Adds the marks that the capture shows: for PIE at the arrival of a packet, for other disciplines before its departure."""
        left = [call for call in self.calls if call[2] and call[2][-1][0] == "-"]
        if [call[2][-1][1] for call in left] != [number for number, _ in captured]:
            self.odd.append(f"{len(left)} departures in the trace and {len(captured)} in the capture differ")
        marked = {number for number, ce in captured if ce}
        for call in self.calls if self._updates else left:
            number = call[1] if self._updates else call[2][-1][1]
            if number in marked:
                call[2].insert(max(len(call[2]) - 1, 0), ("m", number))

    def asked(self):
        """Returns the input of `departures`, for a queue that is asked for a packet when the kernel's was."""
        return "".join(" ".join(map(str, [ns, *self._packet(number), *self._drawn[place]])) + "\n" for place, (ns, number, _) in enumerate(self.calls))

    def _packet(self, number):
        if number is None:
            return ["-"]
        _, flow, size, traffic_class = self.given[number]
        return [flow, size + ETHERNET, traffic_class]

    def events(self):
        """Returns the kernel's events in the format of `departures`."""
        return [f"{ns} {what} {number}" for ns, _, did in self.calls for what, number in did]
