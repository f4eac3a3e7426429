"""Send queues in Python: decisions, return values, and equality with the built-in queues."""

import pytest

import headway
from headway import Flow, Link, Scenario, ScenarioError, SendQueue


def call(queue, transport="tfrc", **keys) -> Scenario:
    """Returns a conference that needs more than the link rate."""
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


def is_in_time(packet, now_ns, travel_ns):
    return packet.expires_ns is None or now_ns + travel_ns <= packet.expires_ns


class Fifo(SendQueue):
    def choose(self, now_ns, waiting, travel_ns):
        return 0


class Sfdps2(SendQueue):
    """Sends the most urgent packet, and among these the one that expires first.

    A late packet is sent only if no other packet is waiting.
    """

    def order(self, waiting):
        def sort_key(index):
            packet = waiting[index]
            return packet.priority, packet.expires_ns is None, packet.expires_ns or 0, index

        return sorted(range(len(waiting)), key=sort_key)

    def choose(self, now_ns, waiting, travel_ns):
        order = self.order(waiting)
        fitting = [index for index in order if is_in_time(waiting[index], now_ns, travel_ns)]
        self.none_fits = not fitting
        self.chosen = waiting[(fitting or order[-1:])[0]]
        return (fitting or order[-1:])[0]

    def discard(self, now_ns, waiting, travel_ns):
        return [index for index, packet in enumerate(waiting) if self.is_discarded(packet, now_ns, travel_ns)]

    def is_discarded(self, packet, now_ns, travel_ns):
        def sort_key(packet):
            return packet.priority, packet.expires_ns

        return not is_in_time(packet, now_ns, travel_ns) and (
            self.none_fits or sort_key(packet) <= sort_key(self.chosen)
        )


class DropOldest(Fifo):
    def make_room(self, now_ns, waiting, newcomer, travel_ns):
        return 0


class Edf(SendQueue):
    """Sends the packet that expires first, and no late packet."""

    def choose(self, now_ns, waiting, travel_ns):
        fitting = [
            (packet.expires_ns, index) for index, packet in enumerate(waiting) if is_in_time(packet, now_ns, travel_ns)
        ]
        return min(fitting)[1] if fitting else None


@pytest.mark.parametrize("transport", ["tfrc", {"kind": "dccp", "ccid": 3}])
@pytest.mark.parametrize(
    ("custom", "built_in"),
    [
        (Fifo, "fifo"),
        (Sfdps2, "sfdps2"),
        (DropOldest, {"kind": "fifo", "full": "drop-oldest"}),
    ],
)
@pytest.mark.parametrize("dialect", ["rfc", "ns2"])
def test_copies_of_built_in_queues_give_identical_runs(custom, built_in, transport, dialect):
    expected = call(built_in, transport, dialect=dialect)
    # The limit and the travel time of the scenario's queue also apply to the custom queue.
    actual = expected.run(queues={"call": custom})
    expected = expected.run()
    assert actual.fingerprint == expected.fingerprint
    assert actual.summary["flows"][0]["send_queue"] == expected.summary["flows"][0]["send_queue"]
    unsent = ("refused_packets", "pushed_out_packets", "expired_packets")
    assert sum(kind[why] for kind in actual.summary["flows"][0]["send_queue"].values() for why in unsent) > 0


def test_queue_that_sends_nothing_is_called_again():
    """Late packets stay in the queue until it is full."""
    record = call("fifo").run(queues={"*": Edf})
    queue = record.summary["flows"][0]["send_queue"]
    assert sum(kind["refused_packets"] for kind in queue.values()) > 0
    assert sum(kind["expired_packets"] for kind in queue.values()) == 0


def test_attributes_of_waiting_packets():
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


class CustomError(Exception):
    pass


def raises(*_):
    raise CustomError("no")


@pytest.mark.parametrize("method", ["choose", "discard", "make_room"])
def test_exceptions_are_propagated(method):
    with pytest.raises(CustomError):
        call("fifo").run(queues={"call": type("Broken", (Fifo,), {method: raises})})


@pytest.mark.parametrize("method", ["choose", "discard", "make_room"])
@pytest.mark.parametrize("answer", [1000, -1, "0"])
def test_invalid_return_values_are_refused(method, answer):
    def wrong(*_):
        return [answer] if method == "discard" else answer

    broken = type("Broken", (Fifo,), {method: wrong})
    with pytest.raises(TypeError if answer == "0" else IndexError) as caught:
        call("fifo").run(queues={"call": broken})
    if answer != "0":
        assert method in str(caught.value)


def test_constructor_errors_and_missing_choose():
    with pytest.raises(CustomError):
        call("fifo").run(queues={"call": raises})
    with pytest.raises(NotImplementedError):
        call("fifo").run(queues={"call": SendQueue})


def test_flows_that_accept_no_queue():
    with pytest.raises(ScenarioError, match="tcp-newreno has no rate controller") as caught:
        call(None, "tcp-newreno").run(queues={"call": Fifo})
    assert caught.value.key == "flow[call].send_queue"
    with pytest.raises(ValueError, match='there is no flow "cal"; did you mean "call"'):
        call("fifo").run(queues={"cal": Fifo})
