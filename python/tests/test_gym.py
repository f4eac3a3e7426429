"""The Gymnasium environment: its checker, determinism, rewards, losses and the record."""

from itertools import pairwise

import pytest

gymnasium = pytest.importorskip("gymnasium")

import numpy as np  # noqa: E402
from gymnasium.utils.env_checker import check_env  # noqa: E402

import headway  # noqa: E402
from headway import gym  # noqa: E402
from headway.gym import DEFAULT, RateEnv, make_vec  # noqa: E402

SHORT = headway.Scenario.from_toml(DEFAULT).set("duration", "3s")


def episode(env, policy, seed=1):
    observations, rewards = [env.reset(seed=seed)[0]], []
    while True:
        observation, reward, terminated, truncated, info = env.step(policy(observations[-1]))
        assert env.observation_space.contains(observation), (observation, info)
        observations.append(observation)
        rewards.append(reward)
        if terminated or truncated:
            return observations, rewards


@pytest.mark.filterwarnings("ignore")
def test_environment_passes_the_checker():
    env = gymnasium.make("headway/Rate-v1", scenario=SHORT)
    check_env(env.unwrapped, skip_render_check=True)
    env.close()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_previous_version_names_this_one():
    with pytest.raises(gymnasium.error.DeprecatedEnv, match="headway/Rate-v1"):
        gymnasium.make("headway/Rate-v0")


def test_episodes_are_deterministic():
    env = RateEnv(SHORT)
    rng = np.random.default_rng(1)
    actions = [rng.uniform(-1, 1, 1) for _ in range(100)]

    def once():
        left = iter(actions)
        return episode(env, lambda _: next(left))

    first, second = once(), once()
    assert np.array_equal(first[0], second[0])
    assert first[1] == second[1]
    assert len(first[1]) == 29, "reset runs the first of the 30 intervals"
    env.close()


def test_reward_is_highest_just_below_the_link_rate():
    env = RateEnv(headway.Scenario.from_toml(DEFAULT).set("duration", "10s"))

    def up_to(megabits):
        return lambda seen: [np.clip(np.log2(megabits) - seen[0], -1, 1)]

    rewards = {rate: float(np.mean(episode(env, up_to(rate))[1][20:])) for rate in (1, 3.5, 16)}
    assert rewards[3.5] > rewards[1] > rewards[16], rewards
    assert 0.9 * 0.97 < rewards[1] < 1.0, "all data arrives; headers do not count and there is no queue"
    env.close()


def test_no_losses_without_drops():
    """Regression test: packets in flight were counted as lost, up to a loss ratio of 1."""
    deep = {"kind": "droptail", "limit": "100000packets"}
    env = RateEnv(headway.Scenario.from_toml(DEFAULT).set({"duration": "10s", "link[0].queue": deep}))
    rng = np.random.default_rng(3)
    env.reset(seed=1)
    truncated, losses = False, []
    while not truncated:
        *_, truncated, info = env.step(rng.uniform(-1, 1, 1))
        losses.append((info["loss_ratio"], info["lost_bytes"]))
    assert set(losses) == {(0.0, 0)}
    assert env.record.summary["flows"][0]["loss_ratio"] == 0.0
    env.close()


def test_losses_equal_those_of_the_record():
    source = {"kind": "cbr", "rate": "20Mbps", "size": "1000B"}
    env = RateEnv(headway.Scenario.from_toml(DEFAULT).set({"duration": "10s", "flow[0].source": source}))
    env.reset(seed=1)
    truncated, lost_bytes = False, 0
    while not truncated:
        *_, truncated, info = env.step([1.0 if info_rate(env) < 8e6 else 0.0])
        lost_bytes += info["lost_bytes"]
    (flow,) = env.record.summary["flows"]
    lost = sum(flow["lost_packets"].values())
    assert lost > 100
    # The sender has not been notified of the losses in the last round trip.
    assert 0.9 * lost <= lost_bytes / 964 <= lost
    env.close()


def info_rate(env):
    return 2.0 ** float(env._last[0]) * 1e6


def steps(env, actions=(0.0,), seed=1):
    """Runs an episode and returns the `info` of each interval. The last action is repeated."""
    infos, truncated, left = [env.reset(seed=seed)[1]], False, list(actions)
    while not truncated:
        *_, truncated, info = env.step([left.pop(0) if len(left) > 1 else left[0]])
        infos.append(info)
    return infos


LOSSY_REPORTS = {"loss": {"kind": "bernoulli", "probability": 0.3}}
# Rates up to several times that of the link.
VARIED = [1.0] * 4 + list(np.random.default_rng(5).uniform(-1, 1, 30)) + [0.0]


@pytest.fixture
def arrivals(monkeypatch):
    """The receiver's log: time and size of each arrival."""
    log, on_packet = [], gym._Receiver.on_packet

    def logged(self, now_ns, packet):
        if packet.data:
            log.append((now_ns, packet.size_bytes))
        on_packet(self, now_ns, packet)

    monkeypatch.setattr(gym._Receiver, "on_packet", logged)
    return log


@pytest.mark.parametrize(
    "link",
    [
        {},
        {"reverse": LOSSY_REPORTS},
        {"reorder": {"kind": "held-back", "probability": 0.05, "by": "50ms"}},
    ],
)
def test_each_arrival_counts_in_one_interval(monkeypatch, arrivals, link):
    """An interval ends with the arrivals of the newest report.

    The flow stops half a second before the end, so that all arrivals are reported.
    """
    clock_ns, known = [0], []
    on_feedback, interval = gym._Sender.on_feedback, gym._Sender.interval

    def logged_feedback(self, now_ns, feedback):
        clock_ns[0] = feedback.clock_ns
        on_feedback(self, now_ns, feedback)

    def logged_interval(self, *times):
        known.append(clock_ns[0])
        return interval(self, *times)

    monkeypatch.setattr(gym._Sender, "on_feedback", logged_feedback)
    monkeypatch.setattr(gym._Sender, "interval", logged_interval)
    scenario = headway.Scenario.from_toml(DEFAULT)
    keys = {"duration": "4s", "flow[0].stop": "3500ms"} | {f"link[0].{key}": value for key, value in link.items()}
    env = RateEnv(scenario.set(keys))
    counts = np.cumsum([info["arrived_bytes"] for info in steps(env, VARIED)])
    for count, end_ns in zip(counts, known, strict=True):
        # A packet can arrive at the time of the report, but after it.
        before, until = (sum(size for at_ns, size in arrivals if at_ns < end_ns + add_ns) for add_ns in (0, 1))
        assert before <= count <= until
    (flow,) = env.record.summary["flows"]
    assert counts[-1] == sum(size for _, size in arrivals) == round(flow["goodput_bps"] * 4 / 8) > 1e6
    assert flow["lost_packets"]["queue_full"] > 100


@pytest.mark.parametrize("reverse", [{}, LOSSY_REPORTS])
def test_the_agent_sends_over_dccp(arrivals, reverse):
    """Regression test: the half of the end without data also asked the agent for rates."""
    sets = {"duration": "4s", "flow[0].transport": {"kind": "dccp", "ccid": 248}, "link[0].reverse": reverse}
    env = RateEnv(headway.Scenario.from_toml(DEFAULT).set(sets))
    infos = steps(env, VARIED)
    assert all(round(late["time_s"] - early["time_s"], 9) == 0.1 for early, late in pairwise(infos[:-1]))
    # The last reports arrive after the end.
    reported = sum(size for at_ns, size in arrivals if at_ns < 3.9e9)
    assert 1e6 < reported <= sum(info["arrived_bytes"] for info in infos) < sum(size for _, size in arrivals)


@pytest.mark.parametrize("transport", ["udpm", {"kind": "dccp", "ccid": 248}])
def test_a_flow_can_stop_before_the_end(transport):
    kind = {"kind": transport} if transport == "udpm" else transport
    infos = steps(RateEnv(SHORT.set({"flow[0].stop": "1500ms", "flow[0].transport": kind})), [1.0])
    assert sum(info["arrived_bytes"] for info in infos) > 1e5


def test_rate_delay_and_gradient_are_those_of_the_queue():
    """6 Mb/s into a link of 4 Mb/s: the delay grows by 6/4 - 1 = 0.5 s per s. Packets of 1000 bytes, with 964 bytes of
    data, arrive at the link's rate."""
    sets = {"duration": "2s", "flow[0].source": {"kind": "cbr", "rate": "20Mbps", "size": "1000B"}}
    sets["link[0].queue"] = {"kind": "droptail", "limit": "100000packets"}
    env = RateEnv(headway.Scenario.from_toml(DEFAULT).set(sets), first_rate_bps=6e6)
    infos = steps(env)
    for index, info in enumerate(infos[1:], 1):
        assert info["receive_rate_bps"] == pytest.approx(4e6 * 0.964, rel=1e-6)
        assert info["delay_gradient"] == pytest.approx(0.5, abs=1e-3)
        # Reports arrive 20 ms and up to 10 ms later; a packet that arrives at t was sent at (t - 20 ms) * 4/6.
        newest_s = 0.1 * (index + 1) - 0.04
        assert info["peak_queueing_s"] == pytest.approx(newest_s / 3, abs=0.006)
        assert info["queueing_s"] == pytest.approx((newest_s - 0.05) / 3, abs=0.006)
        assert info["lost_bytes"] == 0
    assert infos[-1]["least_rtt_s"] == pytest.approx(0.04 + 1000 * 8 / 4e6, abs=0.001)


def test_an_idle_path_has_no_queueing_delay():
    for info in steps(RateEnv(SHORT)):
        assert info["queueing_s"] == info["peak_queueing_s"] == info["delay_gradient"] == 0.0
        # Packets of 1500 bytes have 1464 bytes of data.
        assert info["receive_rate_bps"] == pytest.approx(5e5 * 1464 / 1500)


def test_the_receive_rate_is_exact_with_few_packets():
    """A packet of 1500 bytes each 200 ms arrives in every second interval."""
    rates = [info["receive_rate_bps"] for info in steps(RateEnv(SHORT, first_rate_bps=6e4))]
    assert set(rates[:2]) == {0.0}, "the first packet begins the measurement"
    assert rates[2:] == pytest.approx([6e4 * 1464 / 1500, 0.0] * 14)


def test_all_arrivals_of_a_fast_flow_are_reported(arrivals):
    """A report lists at most 120 packets. At 200 Mb/s 166 arrive in 10 ms."""
    fast = SHORT.set({"duration": "300ms", "flow[0].stop": "200ms", "link[0].rate": "400Mbps"})
    infos = steps(RateEnv(fast, first_rate_bps=2e8))
    assert sum(info["arrived_bytes"] for info in infos) == sum(size for _, size in arrivals) > 4e6
    assert sum(info["lost_bytes"] for info in infos) == 0


def test_a_difference_of_clocks_cancels():
    ahead = SHORT.set("node", [{"name": "b", "clock": {"offset": "-1234567ms"}}])
    actions = [1.0, 1.0, 1.0, 0.5, 0.0]
    infos = [[{**info, "time_s": None} for info in steps(RateEnv(of), actions)] for of in (ahead, SHORT)]
    assert infos[0] == infos[1]
    assert max(info["queueing_s"] for info in infos[0]) > 0.01


def test_an_outage_keeps_the_delay_and_has_no_rate():
    changes = [{"at": "1s", "rate": "0bps"}, {"at": "2999ms", "rate": "4Mbps"}]
    infos = steps(RateEnv(SHORT.set("link[0].changes", changes), first_rate_bps=6e6))
    assert infos[9]["receive_rate_bps"] > 3.8e6
    last = infos[10]["queueing_s"]
    assert last > 0.1
    rest = {(info["receive_rate_bps"], info["queueing_s"], info["delay_gradient"]) for info in infos[11:-1]}
    assert rest == {(0.0, last, 0.0)}


def test_last_interval_has_a_reward_and_a_record():
    env = RateEnv(SHORT.set("duration", "2950ms"))
    env.reset(seed=1)
    assert env.record is None
    rewards, truncated = [], False
    while not truncated:
        _, reward, _, truncated, info = env.step([0.0])
        rewards.append(reward)
    assert info["time_s"] == pytest.approx(2.95)
    # 500 kb/s over an idle link, with 40 bytes of headers per 1000 bytes of data.
    assert rewards[-1] == pytest.approx(0.5 / 1.04, abs=0.2)
    assert env.record.complete
    with pytest.raises(ValueError, match="call reset"):
        env.step([0.0])
    env.close()


def test_vector_environment():
    envs = make_vec(2, scenario=SHORT)
    observations, _ = envs.reset(seed=3)
    assert observations.shape == (2, 7)
    for _ in range(40):
        observations, rewards, *_ = envs.step(envs.action_space.sample())
    assert np.isfinite(rewards).all()
    envs.close()


def test_unknown_flow_is_refused():
    with pytest.raises(ValueError, match="there is no flow"):
        RateEnv(SHORT, flow="absent").reset(seed=1)
