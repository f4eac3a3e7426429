"""Rate control as a Gymnasium environment: `gymnasium.make("headway/Rate-v0")`. Requires the
package `gymnasium`.

An agent sets the sending rate of a flow in a scenario. A step is an interval of simulated time.

**Action**: one number from -1 to 1. The new rate is 2^action times the current rate, within
`rates_bps`.

**Observation**: six 32-bit floats that describe the last interval.

| index | content | range |
|---|---|---|
| 0 | log2 of the sending rate in Mb/s | -20 to 20 |
| 1 | log2 of the acknowledged data rate in Mb/s; -20 if nothing was acknowledged | -20 to 20 |
| 2 | lost packets as a share of the lost and acknowledged packets | 0 to 1 |
| 3 | smoothed round-trip time, in s | 0 to 10 |
| 4 | smoothed round-trip time minus its minimum, in s | 0 to 10 |
| 5 | change of the smoothed round-trip time over the interval, in s | -10 to 10 |

**Reward**: `acknowledged Mb/s - 10 * (round-trip time above the minimum, in s) - 5 * lost Mb/s` in
the interval. The weights are `delay_weight` and `loss_weight`. This is the linear reward of Aurora
(Jay et al., ICML 2019), with the queueing delay in place of the latency.

A packet is lost when reports acknowledge three later packets without it (RFC 4341, section 5.1).
Packets in flight are not counted as lost.

An episode ends (`truncated`) with the duration of the scenario. The last interval can be shorter than the others;
it also has a reward and `info`. `RateEnv.record` is then the `Record` of the episode. Equal seeds
and actions give equal episodes. Without a seed, each episode draws a new one. `info` has the values
of the interval in SI units.
"""

from __future__ import annotations

import math
import queue
import threading
from typing import TYPE_CHECKING, Any

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
_LOSS_THRESHOLD = 3
"""Number of later acknowledged packets after which a missing packet is lost."""
_LOWEST_LOG = -20.0
_LONGEST_S = 10.0
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
    reports = "arrivals"

    def __init__(self, context: ReceiverContext) -> None:
        self.due_ns, self.has_news = context.now_ns, False

    def on_packet(self, now_ns: int, packet: Packet) -> None:
        self.has_news = True

    def poll_report(self, now_ns: int) -> bool:
        if now_ns < self.due_ns or not self.has_news:
            return False
        self.due_ns, self.has_news = now_ns + _REPORT_NS, False
        return True


class _Sender(SenderHalf):
    """Sends at the rate of the agent and requests a new rate at the end of each interval."""

    def __init__(self, context: SenderContext, env: RateEnv) -> None:
        self.env = env
        self.rate_bps = env.first_rate_bps
        self.next_ns = context.now_ns
        self.end_ns = context.now_ns + env.interval_ns
        self.header = context.header_bytes
        self.sizes: dict[int, int] = {}
        self.lost: dict[int, int] = {}
        self.packets = self.bytes = self.lost_packets = self.lost_bytes = 0
        self.rtt_s = self.least_s = self.rtt_before_s = 0.0

    def poll_send(self, now_ns: int, size_bytes: int) -> int:
        return self.next_ns

    def on_send(self, now_ns: int, number: int, size_bytes: int) -> None:
        self.sizes[number] = size_bytes
        gap_ns = round((size_bytes + self.header) * 8 * _NS / self.rate_bps)
        # Idle time does not accumulate credit.
        self.next_ns = max(self.next_ns, now_ns - gap_ns) + gap_ns

    def on_feedback(self, now_ns: int, feedback: Feedback) -> None:
        number, later = feedback.acknowledged, 0
        for status, packets in feedback.runs:
            for _ in range(packets):
                if status != "not received":
                    later += 1
                    self._on_acknowledged(number)
                elif later >= _LOSS_THRESHOLD and number in self.sizes:
                    self.lost[number] = self.sizes.pop(number)
                    self.lost_packets, self.lost_bytes = self.lost_packets + 1, self.lost_bytes + self.lost[number]
                number -= 1
        if feedback.rtt_sample_ns is not None:
            sample = feedback.rtt_sample_ns / _NS
            self.rtt_s = sample if self.rtt_s == 0.0 else self.rtt_s + (sample - self.rtt_s) / 8
            self.least_s = sample if self.least_s == 0.0 else min(self.least_s, sample)

    def poll_timeout(self) -> int:
        return self.end_ns

    def _on_acknowledged(self, number: int) -> None:
        size = self.sizes.pop(number, None)
        if size is None and number in self.lost:
            # The packet was delayed, not lost.
            size = self.lost.pop(number)
            self.lost_packets, self.lost_bytes = self.lost_packets - 1, self.lost_bytes - size
        if size is not None:
            self.packets, self.bytes = self.packets + 1, self.bytes + size

    def interval(self, end_ns: int, interval_ns: int) -> dict[str, float]:
        """Returns the measurements of the interval that ends now, and resets the counters."""
        interval_s = interval_ns / _NS
        lost, lost_bytes = max(0, self.lost_packets), max(0, self.lost_bytes)
        numbers = {
            "time_s": end_ns / _NS,
            "rate_bps": self.rate_bps,
            "arrived_bps": self.bytes * 8 / interval_s,
            "lost_bps": lost_bytes * 8 / interval_s,
            "loss_ratio": lost / (self.packets + lost) if lost else 0.0,
            "rtt_s": self.rtt_s,
            "queueing_s": max(0.0, self.rtt_s - self.least_s),
            "rtt_change_s": self.rtt_s - self.rtt_before_s,
        }
        self.packets = self.bytes = self.lost_packets = self.lost_bytes = 0
        self.rtt_before_s = self.rtt_s
        return numbers

    def handle_timeout(self, now_ns: int) -> None:
        numbers = self.interval(now_ns, self.env.interval_ns)
        self.end_ns += self.env.interval_ns
        self.rate_bps = self.env._next_rate_bps(numbers, self.rate_bps)
        self.next_ns = min(self.next_ns, now_ns + round(1500 * 8 * _NS / self.rate_bps))


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
        low = np.array([_LOWEST_LOG, _LOWEST_LOG, 0.0, 0.0, 0.0, -_LONGEST_S], dtype=np.float32)
        high = np.array([-_LOWEST_LOG, -_LOWEST_LOG, 1.0, _LONGEST_S, _LONGEST_S, _LONGEST_S], dtype=np.float32)
        self.observation_space = gymnasium.spaces.Box(low, high, dtype=np.float32)
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
        reward = (
            measured["arrived_bps"] / 1e6
            - self.delay_weight * measured["queueing_s"]
            - self.loss_weight * measured["lost_bps"] / 1e6
        )
        return self._observation(measured), float(reward), False, over, dict(measured)

    def close(self) -> None:
        """Stops the running episode."""
        self._stop()

    def _observation(self, measured: dict[str, float]) -> Any:  # noqa: ANN401 - an array
        def log(bps: float) -> float:
            return max(_LOWEST_LOG, math.log2(bps / 1e6)) if bps > 0 else _LOWEST_LOG

        numbers = [log(measured["rate_bps"]), log(measured["arrived_bps"]), measured["loss_ratio"]]
        numbers += [min(measured["rtt_s"], _LONGEST_S), min(measured["queueing_s"], _LONGEST_S)]
        numbers.append(max(-_LONGEST_S, min(measured["rtt_change_s"], _LONGEST_S)))
        self._last = np.array(numbers, dtype=np.float32)
        return self._last

    def _run(self, seed: int) -> None:
        """Runs the simulation in a separate thread, which waits for the agent after each interval."""
        senders: list[_Sender] = []

        def sender(context: SenderContext) -> _Sender:
            senders.append(_Sender(context, self))
            return senders[-1]

        try:
            record = self.scenario.run(seed=seed, controllers={self.flow: Controller(sender, _Receiver)})
            self.record = record
            last = None
            if senders:
                end_ns, began_ns = round(record.summary["interval"]["to"] * _NS), senders[-1].end_ns - self.interval_ns
                # The clock of the sender can have an offset from simulated time.
                passed_ns = min(max(end_ns - began_ns, 0), self.interval_ns) or self.interval_ns
                last = senders[-1].interval(began_ns + passed_ns, passed_ns)
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


if "headway/Rate-v0" not in gymnasium.registry:
    gymnasium.register(id="headway/Rate-v0", entry_point="headway.gym:RateEnv")
