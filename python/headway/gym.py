"""Rate control as a Gymnasium environment: `gymnasium.make("headway/Rate-v1")`. Requires the
package `gymnasium`.

An agent sets the sending rate of a flow in a scenario. A step is an interval of simulated time.

**Action**: one number from -1 to 1. The new rate is 2^action times the current rate, within
`rates_bps`.

**Observation**: seven 32-bit floats that describe the arrivals that were reported in the last
interval.

| index | content | range |
|---|---|---|
| 0 | log2 of the sending rate in Mb/s, with headers | -20 to 20 |
| 1 | log2 of the receive rate in Mb/s, without headers; -20 if nothing arrived | -20 to 20 |
| 2 | lost packets as a share of the lost and arrived packets | 0 to 1 |
| 3 | minimum round-trip time of the episode, in s | 0 to 10 |
| 4 | mean queueing delay, in s | 0 to 10 |
| 5 | maximum queueing delay, in s | 0 to 10 |
| 6 | gradient of the one-way delay over the sending time, in s per s | -10 to 10 |

The measurements are computed from the arrival time of each packet, which the receiver reports at
once, but at most once in 10 ms or 20 packets. The **receive rate** is the data that arrived after
the last arrival of the preceding intervals, divided by the time up to the last arrival of this
interval. The **queueing delay** of a packet is its one-way delay minus the minimum of the episode.
The **gradient** is the slope of the least-squares line through the one-way delays. It is R/C - 1
while packets are sent at a constant rate R into a queue with the service rate C. Without arrivals
the gradient is 0, and the queueing delays are those of the interval before.

Arrival times are exact to 1 ns, except with DCCP, whose reports have a resolution of 1/1024 s. A
constant difference between the clocks of both nodes cancels. A difference of their speeds changes
the delays, as it does for any receiver.

**Reward**: `arrived Mb/s - 10 * (mean queueing delay, in s) - 5 * lost Mb/s` in the interval. The
weights are `delay_weight` and `loss_weight`. This is the linear reward of Aurora (Jay et al., ICML
2019), with the queueing delay in place of the latency. Each packet that was reported counts in one
interval: that of its first report.

A packet is lost when a report lists three later packets but not it (RFC 4341, section 5.1). Packets
in flight are not counted as lost.

An episode ends (`truncated`) with the duration of the scenario. The last interval can be shorter
than the others; it also has a reward and `info`. `RateEnv.record` is then the `Record` of the
episode. Equal seeds and actions give equal episodes. Without a seed, each episode draws a new one.
`info` has the values of the interval in SI units, and its data in bytes.
"""

from __future__ import annotations

import math
import queue
import threading
from itertools import takewhile
from typing import TYPE_CHECKING, Any, NamedTuple

import gymnasium
import numpy as np

from ._controllers import Controller, ReceiverHalf, SenderHalf
from ._scenario import Scenario

if TYPE_CHECKING:
    from ._controllers import ReceiverContext, SenderContext
    from ._native import Feedback, Packet
    from ._record import Record

_NS = 1_000_000_000
_REPORT_NS = 10_000_000
"""Minimum time between two reports of the receiver."""
_REPORT_PACKETS = 20
"""Number of packets after which a report is sent earlier. A report has at most 120, and each arrival is in six."""
_LOSS_THRESHOLD = 3
"""Number of later acknowledged packets after which a missing packet is lost."""
_LOWEST_LOG = -20.0
_LOW = np.array([_LOWEST_LOG, _LOWEST_LOG, 0.0, 0.0, 0.0, 0.0, -10.0], dtype=np.float32)
_HIGH = np.array([-_LOWEST_LOG, -_LOWEST_LOG, 1.0, 10.0, 10.0, 10.0, 10.0], dtype=np.float32)
"""Limits of the observation."""
_TIMEOUT_S = 60.0
"""Maximum wall-clock time to wait for the other thread."""

DEFAULT = """
name = "gym"
duration = "30s"
link = [{ between = ["a", "b"], rate = "4Mbps", delay = "20ms", queue = { kind = "droptail", limit = "40packets" } }]
[[flow]]
name = "agent"
from = "a"
to = "b"
transport = { kind = "udpm" }
source = { kind = "ftp" }
"""


class _EpisodeStopped(Exception):
    """The environment stopped the run."""


class _Receiver(ReceiverHalf):
    reports = "timed"

    def __init__(self, context: ReceiverContext) -> None:
        self.newest = self.reported = context.upcoming - 1
        self.earliest_ns = context.now_ns
        self.due_ns: int | None = None

    def on_packet(self, now_ns: int, packet: Packet) -> None:
        if not packet.data:
            return
        self.newest = max(self.newest, packet.number)
        is_full = self.newest - self.reported >= _REPORT_PACKETS
        self.due_ns = now_ns if is_full else max(now_ns, self.earliest_ns)

    def poll_report(self, now_ns: int) -> bool:
        if self.due_ns is None or now_ns < self.due_ns:
            return False
        self.due_ns, self.reported, self.earliest_ns = None, self.newest, now_ns + _REPORT_NS
        return True

    def poll_timeout(self) -> int | None:
        return self.due_ns


class _Arrival(NamedTuple):
    sent_ns: int
    size_bytes: int
    arrived_ns: int | None
    """Time by the receiver's clock; None if the report does not contain it."""


class _Path:
    """Measurements of the path from the arrivals of each interval."""

    def __init__(self) -> None:
        self.least_delay_ns: int | None = None
        """Minimum one-way delay of the episode. It includes the difference of both clocks."""
        self.last_ns: int | None = None
        """Time of the last arrival."""
        self.queueing_s = self.peak_queueing_s = 0.0

    def measure(self, arrivals: list[_Arrival]) -> tuple[float, float]:
        """Updates the delays. Returns the receive rate in bit/s and the gradient of the delay."""
        timed = [(arrived, sent, size) for sent, size, arrived in arrivals if arrived is not None]
        if not timed:
            return 0.0, 0.0
        arrived_ns, sent_ns, size_bytes = np.array(timed, dtype=np.int64).T
        # Only the time of the first arrival is used.
        begin_ns = int(arrived_ns.min()) if self.last_ns is None else self.last_ns
        self.last_ns = max(begin_ns, int(arrived_ns.max()))
        bits = int(size_bytes[arrived_ns > begin_ns].sum()) * 8
        receive_rate_bps = bits * _NS / (self.last_ns - begin_ns) if bits else 0.0

        delay_ns = arrived_ns - sent_ns
        least_ns = int(delay_ns.min())
        self.least_delay_ns = least_ns if self.least_delay_ns is None else min(self.least_delay_ns, least_ns)
        queueing_s = (delay_ns - self.least_delay_ns) / _NS
        self.queueing_s, self.peak_queueing_s = float(queueing_s.mean()), float(queueing_s.max())
        at_s = (sent_ns - sent_ns.min()) / _NS
        at_s -= at_s.mean()
        variance = float((at_s * at_s).sum())
        gradient = float((at_s * queueing_s).sum()) / variance if variance > 0.0 else 0.0
        return receive_rate_bps, gradient


class _Sender(SenderHalf):
    """Sends at the rate of the agent and requests a new rate at the end of each interval."""

    def __init__(self, context: SenderContext, env: RateEnv) -> None:
        self.env = env
        self.rate_bps = env.first_rate_bps
        self.next_ns = context.now_ns
        self.end_ns = context.now_ns + env.interval_ns
        self.header = context.header_bytes
        # Sending time and size by number, of packets neither reported nor lost, and of lost packets.
        self.sent: dict[int, tuple[int, int]] = {}
        self.lost: dict[int, tuple[int, int]] = {}
        self.arrivals: list[_Arrival] = []
        self.lost_packets = self.lost_bytes = 0
        self.path = _Path()
        self.least_rtt_s = 0.0

    def poll_send(self, now_ns: int, size_bytes: int) -> int:
        return self.next_ns

    def on_send(self, now_ns: int, number: int, size_bytes: int) -> None:
        self.sent[number] = (now_ns, size_bytes)
        gap_ns = round((size_bytes + self.header) * 8 * _NS / self.rate_bps)
        # Idle time does not accumulate credit.
        self.next_ns = max(self.next_ns, now_ns - gap_ns) + gap_ns

    def on_feedback(self, now_ns: int, feedback: Feedback) -> None:
        clock_ns = feedback.clock_ns or 0
        numbers = []
        for offset, arrival in enumerate(feedback.arrivals):
            if arrival is not None:
                numbers.append(feedback.acknowledged - offset)
                _, before_ns = arrival
                self._on_arrival(numbers[-1], None if before_ns is None else clock_ns - before_ns)
        if len(numbers) >= _LOSS_THRESHOLD:
            self._on_losses_before(numbers[_LOSS_THRESHOLD - 1])
        if feedback.rtt_sample_ns is not None:
            sample_s = feedback.rtt_sample_ns / _NS
            self.least_rtt_s = min(self.least_rtt_s or sample_s, sample_s)

    def poll_timeout(self) -> int:
        return self.end_ns

    def _on_arrival(self, number: int, arrived_ns: int | None) -> None:
        packet = self.sent.pop(number, None)
        if packet is None:
            packet = self.lost.pop(number, None)
            if packet is None:
                return
            # The packet was delayed, not lost.
            self.lost_packets, self.lost_bytes = self.lost_packets - 1, self.lost_bytes - packet[1]
        self.arrivals.append(_Arrival(*packet, arrived_ns))

    def _on_losses_before(self, first: int) -> None:
        for number in list(takewhile(lambda number: number < first, self.sent)):
            self.lost[number] = packet = self.sent.pop(number)
            self.lost_packets, self.lost_bytes = self.lost_packets + 1, self.lost_bytes + packet[1]

    def interval(self, end_ns: int, interval_ns: int) -> dict[str, float]:
        """Returns the measurements of the interval that ends now, and resets the counters."""
        receive_rate_bps, gradient = self.path.measure(self.arrivals)
        arrived, lost = len(self.arrivals), max(0, self.lost_packets)
        numbers = {
            "time_s": end_ns / _NS,
            "interval_s": interval_ns / _NS,
            "rate_bps": self.rate_bps,
            "receive_rate_bps": receive_rate_bps,
            "arrived_bytes": sum(packet.size_bytes for packet in self.arrivals),
            "lost_bytes": max(0, self.lost_bytes),
            "loss_ratio": lost / (arrived + lost) if lost else 0.0,
            "least_rtt_s": self.least_rtt_s,
            "queueing_s": self.path.queueing_s,
            "peak_queueing_s": self.path.peak_queueing_s,
            "delay_gradient": gradient,
        }
        self.arrivals, self.lost_packets, self.lost_bytes = [], 0, 0
        return numbers

    def handle_timeout(self, now_ns: int) -> None:
        numbers = self.interval(now_ns, self.env.interval_ns)
        self.end_ns += self.env.interval_ns
        self.rate_bps = self.env._next_rate_bps(numbers, self.rate_bps)
        self.next_ns = min(self.next_ns, now_ns + round(1500 * 8 * _NS / self.rate_bps))


class _NoData(SenderHalf):
    """Sender half of the end that sends no data, which a DCCP connection starts after the other."""

    def poll_send(self, now_ns: int, size_bytes: int) -> None:
        return None


class RateEnv(gymnasium.Env[Any, Any]):
    """Gymnasium environment for rate control; see the documentation of the module."""

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 - defined by Gymnasium

    def __init__(
        self,
        scenario: Scenario | None = None,
        *,
        flow: str | None = None,
        interval_s: float = 0.1,
        rates_bps: tuple[float, float] = (5e4, 1e9),
        first_rate_bps: float = 5e5,
        delay_weight: float = 10.0,
        loss_weight: float = 5.0,
    ) -> None:
        """`flow` sends at the rate of the agent; by default it is the first flow of the scenario.

        Its transport needs a rate controller, such as `udpm`, which the agent replaces. Other flows
        compete with it. `interval_s` is the simulated time of a step, `rates_bps` the lowest and
        the highest rate, `first_rate_bps` the rate of the first interval.
        """
        self.scenario = scenario or Scenario.from_toml(DEFAULT)
        self.flow = flow or self.scenario.flows[0]
        self.interval_ns = round(interval_s * _NS)
        self.rates_bps, self.first_rate_bps = rates_bps, first_rate_bps
        self.delay_weight, self.loss_weight = delay_weight, loss_weight
        self.record: Record | None = None
        """Record of the last complete episode."""
        self.observation_space = gymnasium.spaces.Box(_LOW, _HIGH, dtype=np.float32)
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), dtype=np.float32)
        self._actions: queue.Queue[float | None] = queue.Queue()
        self._results: queue.Queue[tuple[dict[str, float] | None, bool] | BaseException] = queue.Queue()
        self._thread: threading.Thread | None = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Starts an episode and runs its first interval, at `first_rate_bps`."""
        super().reset(seed=seed)
        self._stop()
        self.record = None
        run_seed = seed if seed is not None else int(self.np_random.integers(2**31))
        self._thread = threading.Thread(target=self._run, args=(run_seed,), daemon=True)
        self._thread.start()
        measured, over = self._next()
        if over or measured is None:
            raise ValueError(
                "the scenario ends within the first interval; use a longer scenario or a smaller interval_s"
            )
        return self._observation(measured), dict(measured)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:  # noqa: ANN401 - defined by the agent
        """Runs one interval of simulated time at the rate that `action` sets."""
        if self._thread is None:
            raise ValueError("no episode is running; call reset()")
        self._actions.put(float(np.clip(np.asarray(action, dtype=np.float64).reshape(-1)[0], -1.0, 1.0)))
        measured, over = self._next()
        if over:
            self._stop()
        if measured is None:
            return self._last, 0.0, False, over, {}
        megabits = (measured["arrived_bytes"] - self.loss_weight * measured["lost_bytes"]) * 8 / 1e6
        reward = megabits / measured["interval_s"] - self.delay_weight * measured["queueing_s"]
        return self._observation(measured), float(reward), False, over, dict(measured)

    def close(self) -> None:
        """Stops the running episode."""
        self._stop()

    def _observation(self, measured: dict[str, float]) -> Any:  # noqa: ANN401 - an array
        def log(bps: float) -> float:
            return math.log2(bps / 1e6) if bps > 0 else _LOWEST_LOG

        numbers = [log(measured["rate_bps"]), log(measured["receive_rate_bps"])]
        numbers += [measured[key] for key in ("loss_ratio", "least_rtt_s", "queueing_s", "peak_queueing_s")]
        self._last = np.clip(np.array([*numbers, measured["delay_gradient"]], dtype=np.float32), _LOW, _HIGH)
        return self._last

    def _run(self, seed: int) -> None:
        """Runs the simulation in a separate thread, which waits for the agent after each interval."""
        senders: list[_Sender] = []

        def sender(context: SenderContext) -> SenderHalf:
            if senders:
                return _NoData(context)
            senders.append(_Sender(context, self))
            return senders[0]

        try:
            record = self.scenario.run(seed=seed, controllers={self.flow: Controller(sender, _Receiver)})
            self.record = record
            last = None
            if senders:
                end_ns, began_ns = round(record.summary["interval"]["to"] * _NS), senders[0].end_ns - self.interval_ns
                # The clock of the sender can have an offset from simulated time.
                passed_ns = min(max(end_ns - began_ns, 0), self.interval_ns) or self.interval_ns
                last = senders[0].interval(began_ns + passed_ns, passed_ns)
            self._results.put((last, True))
        except _EpisodeStopped:
            pass
        except BaseException as error:
            self._results.put(error)

    def _next_rate_bps(self, measured: dict[str, float], rate_bps: float) -> float:
        """Passes the measurements to the agent and returns its rate. Called by the sender half."""
        self._results.put((measured, False))
        action = self._actions.get()
        if action is None:
            raise _EpisodeStopped
        low, high = self.rates_bps
        return min(max(rate_bps * float(2.0**action), low), high)

    def _next(self) -> tuple[dict[str, float] | None, bool]:
        message = self._results.get(timeout=_TIMEOUT_S)
        if isinstance(message, BaseException):
            self._thread = None
            raise message
        return message

    def _stop(self) -> None:
        if self._thread is not None and self._thread.is_alive():
            self._actions.put(None)
            self._thread.join(_TIMEOUT_S)
        self._thread = None
        self._actions, self._results = queue.Queue(), queue.Queue()


def make_vec(count: int, **keys: Any) -> gymnasium.vector.VectorEnv[Any, Any, Any]:  # noqa: ANN401 - arguments of RateEnv
    """Returns a vector environment of `count` environments, each in a separate process."""
    return gymnasium.vector.AsyncVectorEnv([lambda: RateEnv(**keys) for _ in range(count)])


if "headway/Rate-v1" not in gymnasium.registry:
    gymnasium.register(id="headway/Rate-v1", entry_point="headway.gym:RateEnv")
