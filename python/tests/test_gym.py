"""The Gymnasium environment: its checker, determinism, rewards, losses and the record."""

import pytest

gymnasium = pytest.importorskip("gymnasium")

import numpy as np  # noqa: E402
from gymnasium.utils.env_checker import check_env  # noqa: E402

import headway  # noqa: E402
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
    env = gymnasium.make("headway/Rate-v0", scenario=SHORT)
    check_env(env.unwrapped, skip_render_check=True)
    env.close()


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
        losses.append((info["loss_ratio"], info["lost_bps"]))
    assert set(losses) == {(0.0, 0.0)}
    assert env.record.summary["flows"][0]["loss_ratio"] == 0.0
    env.close()


def test_losses_equal_those_of_the_record():
    source = {"kind": "cbr", "rate": "20Mbps", "size": "1000B"}
    env = RateEnv(headway.Scenario.from_toml(DEFAULT).set({"duration": "10s", "flow[0].source": source}))
    env.reset(seed=1)
    truncated, lost_bits = False, 0.0
    while not truncated:
        *_, truncated, info = env.step([1.0 if info_rate(env) < 8e6 else 0.0])
        lost_bits += info["lost_bps"] * 0.1
    (flow,) = env.record.summary["flows"]
    lost = sum(flow["lost_packets"].values())
    assert lost > 100
    # The sender has not been notified of the losses in the last round trip.
    assert 0.9 * lost <= lost_bits / 8 / 1000 <= lost
    env.close()


def info_rate(env):
    return 2.0 ** float(env._last[0]) * 1e6


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
    assert observations.shape == (2, 6)
    for _ in range(40):
        observations, rewards, *_ = envs.step(envs.action_space.sample())
    assert np.isfinite(rewards).all()
    envs.close()


def test_unknown_flow_is_refused():
    with pytest.raises(ValueError, match="there is no flow"):
        RateEnv(SHORT, flow="absent").reset(seed=1)
