"""Rate control as an environment of Gymnasium, which must be installed: `gymnasium.make("headway/Rate-v0")`.

An agent sets the rate at which a flow of a scenario sends. A step is an interval of simulated time.

**Action**: one number from -1 to 1; the rate becomes 2^action times what it was, within `rates_bps`.

**Observation**: six numbers of the interval that is over, as 32-bit floats.

| number | what | range |
|---|---|---|
| 0 | log2 of the sending rate in Mb/s | -20 to 20 |
| 1 | log2 of the rate at which reports say that data arrived, in Mb/s; -20 of nothing | -20 to 20 |
| 2 | lost packets by packets that should have come | 0 to 1 |
| 3 | the smoothed round trip, in s | 0 to 10 |
| 4 | how much that is above the least round trip, in s | 0 to 10 |
| 5 | how much the round trip has changed over the interval, in s | -10 to 10 |

**Reward**: `arrived Mb/s - 10 * s above the least round trip - 5 * lost Mb/s`, of the interval. The weights are
`delay_weight` and `loss_weight`; it is the linear form of Aurora (Jay et al., ICML 2019), with queueing for latency.

An episode ends (`truncated`) with the scenario. The same seed gives the same episode to the same actions; without one
each episode draws the next seed. `info` has the numbers of the interval with their units.
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

_NS = 1_000_000_000
_REPORT_NS = 10_000_000
"""How often the receiver tells what came."""
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
    reports = "own"

    def __init__(self, context: ReceiverContext) -> None:
        self.packets, self.bytes, self.due_ns, self.newest = 0, 0, context.now_ns, 0

    def on_packet(self, now_ns: int, packet: Packet) -> None:
        self.packets += 1
        self.bytes += packet.size_bytes
        self.newest = max(self.newest, packet.number)

    def poll_report(self, now_ns: int) -> bytes | None:
        if now_ns < self.due_ns or not self.packets:
            return None
        self.due_ns = now_ns + _REPORT_NS
        return self.packets.to_bytes(5, "big") + self.bytes.to_bytes(7, "big")


class _Sender(SenderHalf):
    """Sends at the agent's rate, and asks for another one at the end of each interval."""

    def __init__(self, context: SenderContext, env: RateEnv) -> None:
        self.env = env
        self.rate_bps = env.first_rate_bps
        self.next_ns = context.now_ns
        self.end_ns = context.now_ns + env.interval_ns
        self.header = context.header_bytes
        self.sent = self.arrived = self.arrived_bytes = 0
        self.at_start = (0, 0, 0)
        self.acknowledged: dict[int, int] = {}
        self.rtt_s = self.least_s = self.rtt_before_s = 0.0

    def poll_send(self, now_ns: int, size_bytes: int) -> int:
        return self.next_ns

    def on_send(self, now_ns: int, number: int, size_bytes: int) -> None:
        self.sent += 1
        gap_ns = round((size_bytes + self.header) * 8 * _NS / self.rate_bps)
        # A pause is not made up for.
        self.next_ns = max(self.next_ns, now_ns - gap_ns) + gap_ns

    def on_feedback(self, now_ns: int, feedback: Feedback) -> None:
        packets, data = int.from_bytes(feedback.own[:5], "big"), int.from_bytes(feedback.own[5:], "big")
        self.arrived, self.arrived_bytes = max(self.arrived, packets), max(self.arrived_bytes, data)
        if feedback.rtt_sample_ns is not None:
            sample = feedback.rtt_sample_ns / _NS
            self.rtt_s = sample if self.rtt_s == 0.0 else self.rtt_s + (sample - self.rtt_s) / 8
            self.least_s = sample if self.least_s == 0.0 else min(self.least_s, sample)

    def poll_timeout(self) -> int:
        return self.end_ns

    def handle_timeout(self, now_ns: int) -> None:
        sent, arrived, data = self.at_start
        interval_s = self.env.interval_ns / _NS
        came, came_bytes = self.arrived - arrived, self.arrived_bytes - data
        # What is still under way is not lost: so much of what was sent could have been told by now.
        due = self.sent - sent
        under_way = self.rtt_s * self.rate_bps / 8 / max(1, came_bytes // came if came else 1000)
        missing = max(0.0, self.sent - self.arrived - under_way)
        lost = min(max(0.0, missing - self.env.missing), float(due))
        self.env.missing = max(self.env.missing, missing)
        arrived_mbps = came_bytes * 8 / interval_s / 1e6
        lost_mbps = lost * (came_bytes / came if came else 0.0) * 8 / interval_s / 1e6
        above_s = max(0.0, self.rtt_s - self.least_s)
        told = {
            "time_s": now_ns / _NS,
            "rate_bps": self.rate_bps,
            "arrived_bps": arrived_mbps * 1e6,
            "lost_bps": lost_mbps * 1e6,
            "loss_ratio": lost / (came + lost) if came + lost else 0.0,
            "rtt_s": self.rtt_s,
            "queueing_s": above_s,
            "rtt_change_s": self.rtt_s - self.rtt_before_s,
        }
        self.at_start = (self.sent, self.arrived, self.arrived_bytes)
        self.rtt_before_s = self.rtt_s
        self.end_ns += self.env.interval_ns
        self.rate_bps = self.env._ask(told, self.rate_bps)
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
        self.missing = 0.0
        low = np.array([_LOWEST_LOG, _LOWEST_LOG, 0.0, 0.0, 0.0, -_LONGEST_S], dtype=np.float32)
        high = np.array([-_LOWEST_LOG, -_LOWEST_LOG, 1.0, _LONGEST_S, _LONGEST_S, _LONGEST_S], dtype=np.float32)
        self.observation_space = gymnasium.spaces.Box(low, high, dtype=np.float32)
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), dtype=np.float32)
        self._actions: queue.Queue[float | None] = queue.Queue()
        self._told: queue.Queue[dict[str, float] | BaseException | None] = queue.Queue()
        self._thread: threading.Thread | None = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begins an episode: the first interval passes at `first_rate_bps`."""
        super().reset(seed=seed)
        self._stop()
        self.missing = 0.0
        run_seed = seed if seed is not None else int(self.np_random.integers(2**31))
        self._thread = threading.Thread(target=self._run, args=(run_seed,), daemon=True)
        self._thread.start()
        told = self._next()
        if told is None:
            raise ValueError("the scenario is over within an interval: make it longer, or interval_s shorter")
        return self._observation(told), dict(told)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:  # noqa: ANN401 - whatever an agent gives
        """Lets an interval pass at a new rate."""
        if self._thread is None:
            raise ValueError("there is no episode: call reset()")
        self._actions.put(float(np.clip(np.asarray(action, dtype=np.float64).reshape(-1)[0], -1.0, 1.0)))
        told = self._next()
        if told is None:
            self._stop()
            return self._last, 0.0, False, True, {}
        reward = (
            told["arrived_bps"] / 1e6
            - self.delay_weight * told["queueing_s"]
            - self.loss_weight * told["lost_bps"] / 1e6
        )
        return self._observation(told), float(reward), False, False, dict(told)

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
        controller = Controller(lambda context: _Sender(context, self), _Receiver)
        try:
            self.scenario.run(seed=seed, controllers={self.flow: controller})
            self._told.put(None)
        except _Over:
            pass
        except BaseException as error:
            self._told.put(error)

    def _ask(self, told: dict[str, float], rate_bps: float) -> float:
        """For the sender: tells the agent, and waits for its rate."""
        self._told.put(told)
        action = self._actions.get()
        if action is None:
            raise _Over
        low, high = self.rates_bps
        return min(max(rate_bps * float(2.0**action), low), high)

    def _next(self) -> dict[str, float] | None:
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
