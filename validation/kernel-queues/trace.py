"""What the kernel's trace and a capture tell of one queue discipline: what came, when it was asked, and what it did."""

import collections
import re
import struct
import sys

LINE = re.compile(r"\s(\d+)\.(\d{6}): (\w+): (.*)")
# The clock of sch_pie counts these.
PSCHED_NS = 64
ETHERNET, IP_TOS, IP_ID, UDP_SOURCE = 14, 1, 4, 20


def captured(path):
    """(number, whether it is CE) of each packet in a capture, as they left: its number is its IP identification."""
    data = path.read_bytes()
    found, at = [], 24
    while at + 16 <= len(data):
        length, = struct.unpack_from("<I", data, at + 8)
        ip = at + 16 + ETHERNET
        found.append((struct.unpack_from(">H", data, ip + IP_ID)[0], data[ip + IP_TOS] & 3 == 3))
        at += 16 + length
    return found


class Played:
    """One run of a discipline. `given` are the packets that were sent: (ns, flow, bytes, traffic class)."""

    def __init__(self, path, capture, given):
        self.given = given
        # [ns, number or None where the discipline was asked for a packet, [(what, number)]] in order, ns as the discipline read its clock.
        self.calls = []
        self.odd = []
        # The packets that wait, by their addresses; the calls that are under way and that came last, and whether the clock was read in it.
        self._numbers, self._asked, self._last, self._read, self._came = {}, None, None, True, 0
        # What was drawn, 64 bits each, by the place of the call; where PIE draws to; [(ns, place among the calls)] of PIE's updates.
        self._drawn, self._place, self._updates = collections.defaultdict(list), None, []
        for line in path.open():
            found = LINE.search(line)
            if found:
                seconds, micros, event, rest = found.groups()
                getattr(self, f"_on_{event}", lambda *_: None)((int(seconds) * 1_000_000 + int(micros)) * 1000, rest)
        if self._came != len(given):
            sys.exit(f"{path.name}: {self._came} packets came to the queue, and {len(given)} were sent")
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
        """The clock, where the discipline itself reads it: at first, as fq_codel reads it again for its next queue if it drops all of one. CAKE reads it again where an
        arrival makes it drop another packet, and that counts: when a packet came that waits so long makes no difference."""
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
            # What an arrival makes the discipline drop is freed last of all, and in no order.
            call = self._asked or self._last
            call[2].append(("d", number))
            if call is self._last:
                call[2].sort()

    def _on_draws(self, _ns, rest):
        self._place = self._pointer(rest, "to") - self._pointer(rest, "stack")

    def _on_drawn(self, _ns, rest):
        """What is drawn is read where the caller's stack ends, behind the address that it returns to."""
        if self._place != 8:
            self.odd.append("what was drawn is not where the trace looked for it")
        self._drawn[len(self.calls) - 1].append(self._pointer(rest, "bits"))

    def _on_drawn16(self, _ns, rest):
        self._drawn[len(self.calls) - 1].append(int(rest.rsplit("=", 1)[1]) << 48)

    def _on_drawn32(self, _ns, rest):
        self._drawn[len(self.calls) - 1].append(int(rest.rsplit("=", 1)[1]) << 32)

    def _on_update(self, ns, _rest):
        self._updates.append((ns, len(self.calls)))

    def straighten(self, period):
        """Moves time so that PIE's updates are due at whole periods, and no call to the other side of one that was microseconds late. In steps of the kernel's."""
        late = [ns - self._updates[0][0] - period * place for place, (ns, _) in enumerate(self._updates)]
        if max(late) - min(late) > period // 4:
            self.odd.append(f"updates are not each {period} ns")
        # The trace rounds to microseconds.
        begun = (self._updates[0][0] + min(late) - 1000) // PSCHED_NS * PSCHED_NS - period
        done = 0
        for place, call in enumerate(self.calls):
            while done < len(self._updates) and self._updates[done][1] <= place:
                done += 1
            call[0] = min(call[0] // PSCHED_NS * PSCHED_NS - begun, (done + 1) * period - PSCHED_NS)

    def forget_refusals(self):
        """Leaves out where a discipline that shapes was asked before its time, though packets waited: there it does nothing."""
        waiting, kept = 0, []
        for place, call in enumerate(self.calls):
            if call[1] is not None or call[2] or not waiting:
                kept.append((call, self._drawn[place]))
            waiting += (call[1] is not None) - sum(what in "-d" for what, _ in call[2])
        self.calls = [call for call, _ in kept]
        self._drawn = collections.defaultdict(list, enumerate(drawn for _, drawn in kept))

    def _mark(self, captured):
        """Puts in what was marked, as the capture tells: by PIE when it came, by the others before it left."""
        left = [call for call in self.calls if call[2] and call[2][-1][0] == "-"]
        if [call[2][-1][1] for call in left] != [number for number, _ in captured]:
            self.odd.append(f"{len(left)} packets left as traced, {len(captured)} as captured, or others")
        marked = {number for number, ce in captured if ce}
        for call in self.calls if self._updates else left:
            number = call[1] if self._updates else call[2][-1][1]
            if number in marked:
                call[2].insert(max(len(call[2]) - 1, 0), ("m", number))

    def asked(self):
        """The lines that `departures` takes, for a queue that is asked when the kernel's was."""
        return "".join(" ".join(map(str, [ns, *self._packet(number), *self._drawn[place]])) + "\n" for place, (ns, number, _) in enumerate(self.calls))

    def _packet(self, number):
        if number is None:
            return ["-"]
        _, flow, size, traffic_class = self.given[number]
        return [flow, size + ETHERNET, traffic_class]

    def events(self):
        """What the kernel did, as `departures` prints it."""
        return [f"{ns} {what} {number}" for ns, _, did in self.calls for what, number in did]
