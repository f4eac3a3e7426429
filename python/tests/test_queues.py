"""Send queues of one's own: what they decide is done; rules of the book written once more give the very same runs."""

import pytest

import headway
from headway import Flow, Link, Scenario, ScenarioError, SendQueue


def call(queue, transport="tfrc", **keys) -> Scenario:
    """A conference that wants more than there is."""
    source = {
        "kind": "conference",
        "sizes": "payload",
        "audio_size": "160B",
        "video_packet": "400B",
        "lifetime": "150ms",
    }
    return Scenario(
        duration="20s",
        links=[Link(("a", "b"), rate="200kbps", delay="20ms", queue={"kind": "droptail", "limit": "20packets"})],
        flows=[Flow("call", "a", "b", transport=transport, source=source, send_queue=queue)],
        **keys,
    )


def in_time(packet, now_ns, travel_ns):
    return packet.expires_ns is None or now_ns + travel_ns <= packet.expires_ns


class Fifo(SendQueue):
    def choose(self, now_ns, waiting, travel_ns):
        return 0


class Sfdps2(SendQueue):
    """Most urgent first, of those what expires first; what is late goes only if it is the last."""

    def order(self, waiting):
        def place(index):
            packet = waiting[index]
            return packet.priority, packet.expires_ns is None, packet.expires_ns or 0, index

        return sorted(range(len(waiting)), key=place)

    def choose(self, now_ns, waiting, travel_ns):
        order = self.order(waiting)
        fitting = [index for index in order if in_time(waiting[index], now_ns, travel_ns)]
        self.none_fits = not fitting
        self.chosen = waiting[(fitting or order[-1:])[0]]
        return (fitting or order[-1:])[0]

    def discard(self, now_ns, waiting, travel_ns):
        return [index for index, packet in enumerate(waiting) if self.goes_before(packet, now_ns, travel_ns)]

    def goes_before(self, packet, now_ns, travel_ns):
        def place(packet):
            return packet.priority, packet.expires_ns

        return not in_time(packet, now_ns, travel_ns) and (self.none_fits or place(packet) <= place(self.chosen))


class DropOldest(Fifo):
    def make_room(self, now_ns, waiting, newcomer, travel_ns):
        return 0


class Edf(SendQueue):
    """What expires first goes first; what is late is thrown away, even if nothing is left."""

    def choose(self, now_ns, waiting, travel_ns):
        fitting = [
            (packet.expires_ns, index) for index, packet in enumerate(waiting) if in_time(packet, now_ns, travel_ns)
        ]
        return min(fitting)[1] if fitting else None


@pytest.mark.parametrize("transport", ["tfrc", {"kind": "dccp", "ccid": 3}])
@pytest.mark.parametrize(
    ("mine", "built_in"),
    [
        (Fifo, "fifo"),
        (Sfdps2, "sfdps2"),
        (DropOldest, {"kind": "fifo", "full": "drop-oldest"}),
    ],
)
@pytest.mark.parametrize("dialect", ["rfc", "ns2"])
def test_a_rule_of_the_book_gives_the_very_run(mine, built_in, transport, dialect):
    theirs = call(built_in, transport, dialect=dialect)
    # Of the scenario's own queue the limit is kept, and the way.
    ours = theirs.run(queues={"call": mine})
    theirs = theirs.run()
    assert ours.fingerprint == theirs.fingerprint
    assert ours.summary["flows"][0]["send_queue"] == theirs.summary["flows"][0]["send_queue"]
    unsent = ("refused_packets", "pushed_out_packets", "expired_packets")
    assert sum(kind[why] for kind in ours.summary["flows"][0]["send_queue"].values() for why in unsent) > 0


def test_one_that_lets_nothing_go_is_asked_again():
    """What is late stays where it is, and in the way of others, until the queue is full of it."""
    record = call("fifo").run(queues={"*": Edf})
    queue = record.summary["flows"][0]["send_queue"]
    assert sum(kind["refused_packets"] for kind in queue.values()) > 0
    assert sum(kind["expired_packets"] for kind in queue.values()) == 0


def test_what_it_is_told():
    seen = []

    class Watching(Fifo):
        def choose(self, now_ns, waiting, travel_ns):
            seen.extend((packet.kind, packet.size_bytes, packet.ends_frame) for packet in waiting)
            assert isinstance(waiting[0], headway.Waiting)
            assert all(packet.created_ns <= now_ns < packet.expires_ns + 10**10 for packet in waiting)
            assert [packet.priority for packet in waiting if packet.kind == "audio"][:1] in ([], [0])
            return 0

    call("fifo").run(queues={"call": Watching})
    assert ("audio", 160, True) in seen
    assert {kind for kind, _, _ in seen} == {"audio", "video"}
    assert {ends for kind, _, ends in seen if kind == "video"} == {True, False}


class Wrong(Exception):
    pass


def raises(*_):
    raise Wrong("no")


@pytest.mark.parametrize("method", ["choose", "discard", "make_room"])
def test_what_it_raises_comes_out(method):
    with pytest.raises(Wrong):
        call("fifo").run(queues={"call": type("Broken", (Fifo,), {method: raises})})


@pytest.mark.parametrize("method", ["choose", "discard", "make_room"])
@pytest.mark.parametrize("answer", [1000, -1, "0"])
def test_answers_that_are_none(method, answer):
    def wrong(*_):
        return [answer] if method == "discard" else answer

    broken = type("Broken", (Fifo,), {method: wrong})
    with pytest.raises(TypeError if answer == "0" else IndexError) as caught:
        call("fifo").run(queues={"call": broken})
    if answer != "0":
        assert method in str(caught.value)


def test_one_that_cannot_be_made_or_does_not_choose():
    with pytest.raises(Wrong):
        call("fifo").run(queues={"call": raises})
    with pytest.raises(NotImplementedError):
        call("fifo").run(queues={"call": SendQueue})


def test_where_there_is_no_place_for_it():
    with pytest.raises(ScenarioError, match="tcp-newreno decides itself") as caught:
        call(None, "tcp-newreno").run(queues={"call": Fifo})
    assert caught.value.key == "flow[call].send_queue"
    with pytest.raises(ValueError, match="no flow 'cal'"):
        call("fifo").run(queues={"cal": Fifo})
