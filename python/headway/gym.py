"""Rate control as an environment of Gymnasium, which must be installed: `gymnasium.make("headway/Rate-v0")`.

An agent sets the rate at which a flow of a scenario sends. A step is an interval of simulated time.

**Action**: one number from -1 to 1; the rate becomes 2^action times what it was, within `rates_bps`.

**Observation**: six numbers of the interval that is over, as 32-bit floats.

| number | what | range |
|---|---|---|
| 0 | log2 of the sending rate in Mb/s | -20 to 20 |
| 1 | log2 of the rate of data that reports acknowledge, in Mb/s; -20 of nothing | -20 to 20 |
| 2 | lost packets, as a share of the lost and the acknowledged ones | 0 to 1 |
| 3 | the smoothed round trip, in s | 0 to 10 |
| 4 | how much that is above the least round trip, in s | 0 to 10 |
| 5 | how much the round trip has changed over the interval, in s | -10 to 10 |

**Reward**: `arrived Mb/s - 10 * s above the least round trip - 5 * lost Mb/s`, of the interval. The weights are
`delay_weight` and `loss_weight`; it is the linear form of Aurora (Jay et al., ICML 2019), with queueing for latency.

A packet is lost when reports acknowledge three later packets without it (RFC 4341, section 5.1). Packets in flight are
not lost.

An episode ends (`truncated`) with the scenario: its last interval, which may be shorter than the others, has a reward
and `info`, too. `RateEnv.record` is then the `Record` of the episode. The same seed gives the same episode to the same
actions; without one each episode draws the next seed. `info` has the numbers of the interval with their units.
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
"""How often the receiver reports, at most."""
_LATER = 3
"""Acknowledged packets after which one before them is lost."""
_LOWEST_LOG = -20.0
_LONGEST_S = 10.0
_PATIENCE_S = 60.0
"""Longer than this no half of a run is silent."""

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


class _Over(Exception):
    """The environment wants no more of this run."""


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
    """Sends at the agent's rate, and asks for another one at the end of each interval."""

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
        # A pause is not made up for.
        self.next_ns = max(self.next_ns, now_ns - gap_ns) + gap_ns

    def on_feedback(self, now_ns: int, feedback: Feedback) -> None:
        number, later = feedback.acknowledged, 0
        for fared, packets in feedback.runs:
            for _ in range(packets):
                if fared != "not received":
                    later += 1
                    self._arrived(number)
                elif later >= _LATER and number in self.sizes:
                    self.lost[number] = self.sizes.pop(number)
                    self.lost_packets, self.lost_bytes = self.lost_packets + 1, self.lost_bytes + self.lost[number]
                number -= 1
        if feedback.rtt_sample_ns is not None:
            sample = feedback.rtt_sample_ns / _NS
            self.rtt_s = sample if self.rtt_s == 0.0 else self.rtt_s + (sample - self.rtt_s) / 8
            self.least_s = sample if self.least_s == 0.0 else min(self.least_s, sample)

    def poll_timeout(self) -> int:
        return self.end_ns

    def _arrived(self, number: int) -> None:
        size = self.sizes.pop(number, None)
        if size is None and number in self.lost:
            # It was late, and is not lost.
            size = self.lost.pop(number)
            self.lost_packets, self.lost_bytes = self.lost_packets - 1, self.lost_bytes - size
        if size is not None:
            self.packets, self.bytes = self.packets + 1, self.bytes + size

    def interval(self, end_ns: int, interval_ns: int) -> dict[str, float]:
        """The numbers of the interval that ends now."""
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
        self.rate_bps = self.env._ask(numbers, self.rate_bps)
        self.next_ns = min(self.next_ns, now_ns + round(1500 * 8 * _NS / self.rate_bps))


class RateEnv(gymnasium.Env[Any, Any]):
    """See the module."""

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 - Gymnasium has it so

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
        """`flow` is who sends at the agent's rate [the first one]; others of the scenario compete with it."""
        self.scenario = scenario or Scenario.from_toml(DEFAULT)
        self.flow = flow or self.scenario.flows[0]
        self.interval_ns = round(interval_s * _NS)
        self.rates_bps, self.first_rate_bps = rates_bps, first_rate_bps
        self.delay_weight, self.loss_weight = delay_weight, loss_weight
        self.record: Record | None = None
        """The record of the last episode that ran to its end."""
        low = np.array([_LOWEST_LOG, _LOWEST_LOG, 0.0, 0.0, 0.0, -_LONGEST_S], dtype=np.float32)
        high = np.array([-_LOWEST_LOG, -_LOWEST_LOG, 1.0, _LONGEST_S, _LONGEST_S, _LONGEST_S], dtype=np.float32)
        self.observation_space = gymnasium.spaces.Box(low, high, dtype=np.float32)
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), dtype=np.float32)
        self._actions: queue.Queue[float | None] = queue.Queue()
        self._told: queue.Queue[tuple[dict[str, float] | None, bool] | BaseException] = queue.Queue()
        self._thread: threading.Thread | None = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begins an episode: the first interval passes at `first_rate_bps`."""
        super().reset(seed=seed)
        self._stop()
        self.record = None
        run_seed = seed if seed is not None else int(self.np_random.integers(2**31))
        self._thread = threading.Thread(target=self._run, args=(run_seed,), daemon=True)
        self._thread.start()
        told, over = self._next()
        if over or told is None:
            raise ValueError("the scenario is over within an interval: make it longer, or interval_s shorter")
        return self._observation(told), dict(told)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:  # noqa: ANN401 - whatever an agent gives
        """Lets an interval pass at a new rate."""
        if self._thread is None:
            raise ValueError("there is no episode: call reset()")
        self._actions.put(float(np.clip(np.asarray(action, dtype=np.float64).reshape(-1)[0], -1.0, 1.0)))
        told, over = self._next()
        if over:
            self._stop()
        if told is None:
            return self._last, 0.0, False, over, {}
        reward = (
            told["arrived_bps"] / 1e6
            - self.delay_weight * told["queueing_s"]
            - self.loss_weight * told["lost_bps"] / 1e6
        )
        return self._observation(told), float(reward), False, over, dict(told)

    def close(self) -> None:
        """Ends what runs."""
        self._stop()

    def _observation(self, told: dict[str, float]) -> Any:  # noqa: ANN401 - an array
        def log(bps: float) -> float:
            return max(_LOWEST_LOG, math.log2(bps / 1e6)) if bps > 0 else _LOWEST_LOG

        numbers = [log(told["rate_bps"]), log(told["arrived_bps"]), told["loss_ratio"]]
        numbers += [min(told["rtt_s"], _LONGEST_S), min(told["queueing_s"], _LONGEST_S)]
        numbers.append(max(-_LONGEST_S, min(told["rtt_change_s"], _LONGEST_S)))
        self._last = np.array(numbers, dtype=np.float32)
        return self._last

    def _run(self, seed: int) -> None:
        """In a thread of its own: the simulator calls, and waits for the agent."""
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
                # A clock of the scenario may be set to another time than the simulator's.
                passed_ns = min(max(end_ns - began_ns, 0), self.interval_ns) or self.interval_ns
                last = senders[-1].interval(began_ns + passed_ns, passed_ns)
            self._told.put((last, True))
        except _Over:
            pass
        except BaseException as error:
            self._told.put(error)

    def _ask(self, told: dict[str, float], rate_bps: float) -> float:
        """For the sender: tells the agent, and waits for its rate."""
        self._told.put((told, False))
        action = self._actions.get()
        if action is None:
            raise _Over
        low, high = self.rates_bps
        return min(max(rate_bps * float(2.0**action), low), high)

    def _next(self) -> tuple[dict[str, float] | None, bool]:
        told = self._told.get(timeout=_PATIENCE_S)
        if isinstance(told, BaseException):
            self._thread = None
            raise told
        return told

    def _stop(self) -> None:
        if self._thread is not None and self._thread.is_alive():
            self._actions.put(None)
            self._thread.join(_PATIENCE_S)
        self._thread = None
        self._actions, self._told = queue.Queue(), queue.Queue()


def make_vec(count: int, **keys: Any) -> gymnasium.vector.VectorEnv[Any, Any, Any]:  # noqa: ANN401 - those of RateEnv
    """So many environments that step together, a process each."""
    return gymnasium.vector.AsyncVectorEnv([lambda: RateEnv(**keys) for _ in range(count)])


if "headway/Rate-v0" not in gymnasium.registry:
    gymnasium.register(id="headway/Rate-v0", entry_point="headway.gym:RateEnv")
