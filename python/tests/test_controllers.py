"""Controllers in Python: both halves, all report formats, determinism and exceptions."""

import random
import re

import pyarrow
import pytest

import headway
from headway import Controller, Flow, Link, ReceiverHalf, Scenario, ScenarioError, SenderHalf, Status


def scenario(transport="tfrc", source=None, **keys) -> Scenario:
    source = source or {"kind": "cbr", "rate": "4Mbps", "size": "1000B"}
    return Scenario(
        duration="10s",
        links=[Link(("a", "b"), rate="2Mbps", delay="10ms", queue={"kind": "droptail", "limit": "20packets"})],
        flows=[Flow("f", "a", "b", transport=transport, source=source)],
        **keys,
    )


class Even(SenderHalf):
    """Sends a packet every 10 ms."""

    gap_ns = 10_000_000

    def __init__(self, context):
        self.next_ns = context.now_ns

    def poll_send(self, now_ns, size_bytes):
        return self.next_ns

    def on_send(self, now_ns, number, size_bytes):
        self.next_ns = max(now_ns, self.next_ns) + self.gap_ns


def test_sender_without_receiver():
    record = scenario().run(controllers={"f": Controller(Even)})
    (flow,) = record.summary["flows"]
    assert flow["kind"] == "external"
    assert flow["sent_packets"] == 1000
    assert flow["lost_packets"]["queue_full"] == 0


@pytest.mark.parametrize("transport", ["tfrc", {"kind": "dccp", "ccid": 248}])
def test_halves_exchange_own_bytes(transport):
    """The receiver reports its packet count after every tenth packet, and the sender speeds up."""
    reported = []

    class Receiver(ReceiverHalf):
        reports = "own"
        needs = ("sender_clock",)

        def __init__(self, context):
            self.packets = 0
            self.sent_ns = -1
            self.due = False

        def on_packet(self, now_ns, packet):
            if not packet.data:
                return
            assert packet.own == b"to receiver"
            # The sender clock has an arbitrary origin.
            assert packet.sent_ns > self.sent_ns
            self.sent_ns = packet.sent_ns
            assert packet.size_bytes > 0
            self.packets += 1
            self.due = self.packets % 10 == 0

        def poll_report(self, now_ns):
            if not self.due:
                return None
            self.due = False
            return self.packets.to_bytes(4, "big")

    class Sender(Even):
        def on_send(self, now_ns, number, size_bytes):
            super().on_send(now_ns, number, size_bytes)
            return b"to receiver"

        def on_feedback(self, now_ns, feedback):
            reported.append(int.from_bytes(feedback.own, "big"))
            assert feedback.rtt_sample_ns >= 20_000_000
            # Send faster once reports arrive.
            self.gap_ns = 5_000_000

    record = scenario(transport).run(controllers={"*": Controller(Sender, Receiver)})
    assert reported == list(range(10, 10 * len(reported) + 1, 10))
    assert len(reported) > 150
    assert record.summary["flows"][0]["sent_packets"] > 1900


@pytest.mark.parametrize("reports", ["arrivals", "timed"])
def test_reports_cover_each_packet(reports):
    counts = {"received": 0, "not received": 0}

    class Receiver(ReceiverHalf):
        pass

    Receiver.reports = reports

    class EachSecond(Receiver):
        def __init__(self, context):
            self.got = 0

        def on_packet(self, now_ns, packet):
            self.got += 1

        def poll_report(self, now_ns):
            due = self.got >= 20
            self.got = 0 if due else self.got
            return due

    class Sender(Even):
        gap_ns = 2_000_000

        def on_feedback(self, now_ns, feedback):
            runs = feedback.runs or [("received" if one else "not received", 1) for one in feedback.arrivals]
            assert runs
            assert runs[0][0] == "received"
            if reports == "timed":
                assert feedback.clock_ns > 0
                assert feedback.arrivals[0][0] in ("not-ect", "ect0")
                assert feedback.arrivals[0][1] >= 0
            for status, packets in runs:
                counts[status] += packets

    record = scenario().run(controllers={"f": Controller(Sender, EachSecond)})
    # The offered rate is twice the link rate, so about half of the packets are lost.
    assert record.summary["flows"][0]["loss_ratio"] > 0.4
    assert counts["received"] > 0
    assert counts["not received"] > 0


def test_timeouts_are_called_on_time():
    fired = []

    class Timed(Even):
        at_ns = 1_000_000_000

        def poll_timeout(self):
            return self.at_ns

        def handle_timeout(self, now_ns):
            fired.append(now_ns)
            self.at_ns = now_ns + 1_000_000_000

    scenario().run(controllers={"f": Controller(Timed)})
    assert fired == [second * 1_000_000_000 for second in range(1, 10)]


def test_status_is_in_the_series():
    class Reporting(Even):
        def status(self):
            return Status(target_rate_bps=123e3, window_packets=7.5, rtt_ns=20_000_000)

    record = scenario().run(controllers={"f": Controller(Reporting)})
    ((_, rates),) = [record.samples("allowed_rate_bps")["f"]]
    assert set(rates) == {123e3}
    assert set(record.samples("rtt_s")["f"][1]) == {0.02}


def test_runs_are_deterministic():
    class Random(Even):
        def __init__(self, context):
            super().__init__(context)
            self.random = random.Random(context.seed)

        def on_send(self, now_ns, number, size_bytes):
            self.gap_ns = self.random.randrange(1_000_000, 20_000_000)
            super().on_send(now_ns, number, size_bytes)

    runs = [scenario().run(seed=seed, controllers={"f": Controller(Random)}) for seed in (1, 1, 2)]
    assert runs[0].fingerprint == runs[1].fingerprint != runs[2].fingerprint
    assert pyarrow.table(runs[0].series) == pyarrow.table(runs[1].series)


class CustomError(Exception):
    pass


@pytest.mark.parametrize("method", ["__init__", "poll_send", "on_send", "on_feedback", "poll_timeout", "status"])
def test_exceptions_of_a_sender_are_propagated(method):
    class Receiver(ReceiverHalf):
        reports = "own"
        due = False

        def on_packet(self, now_ns, packet):
            self.due = True

        def poll_report(self, now_ns):
            due, self.due = self.due, False
            return b"x" if due else None

    def fail(self, *arguments):
        raise CustomError(method)

    sender = type("Sender", (Even,), {method: fail})
    with pytest.raises(CustomError, match=method) as raised:
        scenario().run(controllers={"f": Controller(sender, Receiver)})
    assert raised.traceback[-1].name == "fail"


@pytest.mark.parametrize("method", ["__init__", "on_packet", "poll_report", "poll_timeout"])
def test_exceptions_of_a_receiver_are_propagated(method):
    def fail(self, *arguments):
        raise CustomError(method)

    receiver = type("Receiver", (ReceiverHalf,), {method: fail, "reports": "own"})
    with pytest.raises(CustomError, match=method):
        scenario().run(controllers={"f": Controller(Even, receiver)})


def test_invalid_return_values_are_refused():
    class LongBytes(Even):
        def on_send(self, now_ns, number, size_bytes):
            return b"sixteen bytes!!!"

    with pytest.raises(
        TypeError, match=r"on_send returned b'sixteen.*expected bytes, at most 15, or None; 16 bytes are too many"
    ):
        scenario().run(controllers={"f": Controller(LongBytes)})

    class FloatTime(Even):
        def poll_send(self, now_ns, size_bytes):
            return 1.5

    with pytest.raises(TypeError, match=r"^poll_send returned 1.5 \(float\); expected a time as an integer in ns"):
        scenario().run(controllers={"f": Controller(FloatTime)})

    with pytest.raises(NotImplementedError):
        scenario().run(controllers={"f": Controller(SenderHalf)})


@pytest.mark.parametrize(
    ("reports", "answer", "expected"),
    [
        ("arrivals", b"ignored", 'True or False, as the class has reports = "arrivals"'),
        ("timed", 1, 'True or False, as the class has reports = "timed"'),
        ("nothing", b"ignored", 'None, as the class has reports = "nothing"'),
        ("nothing", True, 'None, as the class has reports = "nothing"'),
        ("own", b"", "1 to 15 bytes, or None when no report is due"),
        ("own", True, "bytes, at most 15, or None"),
        ("own", "text", "bytes, at most 15, or None"),
        ("own", [1, 2], "bytes, at most 15, or None"),
    ],
)
def test_reports_of_another_format_are_refused(reports, answer, expected):
    receiver = type("Receiver", (ReceiverHalf,), {"reports": reports, "poll_report": lambda self, now_ns: answer})
    with pytest.raises(TypeError, match="^poll_report returned .*" + re.escape(expected)):
        scenario().run(controllers={"f": Controller(Even, receiver)})


@pytest.mark.parametrize(
    ("method", "answer"),
    [
        ("poll_send", True),
        ("poll_send", -1),
        ("on_send", 5),
        ("on_feedback", b"feedback"),
        ("on_application_limited", 1),
        ("handle_timeout", 1),
        ("poll_timeout", 0.5),
        ("status", 7),
        ("status", Status(target_rate_bps="fast")),
        ("status", Status(pacing_rate_bps=float("nan"))),
        ("status", Status(window_packets=-1.0)),
    ],
)
def test_errors_on_return_values_name_the_method(method, answer):
    class Receiver(ReceiverHalf):
        reports = "arrivals"

        def __init__(self, context):
            self.due = False

        def on_packet(self, now_ns, packet):
            self.due = True

        def poll_report(self, now_ns):
            due, self.due = self.due, False
            return due

    at = {"poll_timeout": lambda self: 1_000_000_000} if method == "handle_timeout" else {}
    sender = type("Sender", (Even,), {**at, method: lambda self, *arguments: answer})
    with pytest.raises(TypeError, match=f"^{method} returned ") as wrong:
        scenario(source={"kind": "cbr", "rate": "100kbps", "size": "1000B"}).run(
            controllers={"f": Controller(sender, Receiver)}
        )
    assert "cannot be" not in str(wrong.value), "this is a message of PyO3"


def test_return_value_of_on_packet_is_refused():
    receiver = type("Receiver", (ReceiverHalf,), {"on_packet": lambda self, now_ns, packet: b"report"})
    with pytest.raises(TypeError, match=r"^on_packet returned b'report' \(bytes\); expected None"):
        scenario().run(controllers={"f": Controller(Even, receiver)})


def test_endless_calls_at_the_same_time_are_refused():
    class AlwaysSending(SenderHalf):
        def poll_send(self, now_ns, size_bytes):
            return now_ns

    class AlwaysReporting(ReceiverHalf):
        reports = "own"

        def poll_report(self, now_ns):
            return b"x"

    for controller in [Controller(AlwaysSending), Controller(Even, AlwaysReporting)]:
        with pytest.raises(RuntimeError, match="times at one instant"):
            scenario(source="ftp").run(controllers={"f": controller})


def test_flows_that_accept_no_controller():
    with pytest.raises(ScenarioError, match="no rate controller to replace"):
        scenario("udp").run(controllers={"f": Controller(Even)})
    with pytest.raises(ScenarioError, match="use an experimental CCID") as wrong:
        scenario({"kind": "dccp", "ccid": 3}).run(controllers={"f": Controller(Even)})
    assert wrong.value.key == "flow[f].transport.ccid"
    with pytest.raises(ValueError, match='there is no flow "g"'):
        scenario().run(controllers={"g": Controller(Even)})


def test_replicas_have_separate_halves():
    many = scenario().set({"flow[0].count": 3, "flow[0].source.rate": "500kbps"})
    made = []

    class Counted(Even):
        def __init__(self, context):
            super().__init__(context)
            made.append(self)

    record = many.run(controllers={"f*": Controller(Counted)})
    assert len(made) == 3
    assert {flow["kind"] for flow in record.summary["flows"]} == {"external"}
    mixed = many.run(controllers={"f2": Controller(Even)})
    assert [flow["kind"] for flow in mixed.summary["flows"]] == ["tfrc", "external", "tfrc"]


def test_ctrl_c_stops_a_run_with_a_controller():
    import os
    import signal

    class Interrupting(Even):
        def on_send(self, now_ns, number, size_bytes):
            super().on_send(now_ns, number, size_bytes)
            if number == 10:
                os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt) as stopped:
        scenario().set("duration", "1000s").run(controllers={"f": Controller(Interrupting)})
    assert not headway.Record.of(stopped.value).complete
