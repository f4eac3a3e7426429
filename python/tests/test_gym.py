"""The environment: Gymnasium's own checker, the same episode of the same seed, and something to learn."""

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
def test_gymnasium_finds_nothing_wrong():
    env = gymnasium.make("headway/Rate-v0", scenario=SHORT)
    check_env(env.unwrapped, skip_render_check=True)
    env.close()


def test_the_same_seed_and_actions_are_the_same_episode():
    env = RateEnv(SHORT)
    rng = np.random.default_rng(1)
    actions = [rng.uniform(-1, 1, 1) for _ in range(100)]

    def once():
        left = iter(actions)
        return episode(env, lambda _: next(left))

    first, second = once(), once()
    assert np.array_equal(first[0], second[0])
    assert first[1] == second[1]
    assert len(first[1]) == 29, "an interval of the 30 passes in reset"
    env.close()


def test_a_rate_below_the_links_is_worth_more_than_a_flood():
    env = RateEnv(headway.Scenario.from_toml(DEFAULT).set("duration", "10s"))

    def up_to(megabits):
        return lambda seen: [np.clip(np.log2(megabits) - seen[0], -1, 1)]

    rewards = {rate: float(np.mean(episode(env, up_to(rate))[1][20:])) for rate in (1, 3.5, 16)}
    assert rewards[3.5] > rewards[1] > rewards[16], rewards
    assert 0.9 * 0.97 < rewards[1] < 1.0, "all of it arrives, without its headers and without a queue"
    env.close()


def test_a_link_without_losses_has_none():
    """Packets in flight were lost packets to a sender that estimated how many there are: up to a ratio of 1."""
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


def test_losses_are_those_of_the_record():
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
    # The last round trip's losses are not yet known to the sender.
    assert 0.9 * lost <= lost_bits / 8 / 1000 <= lost
    env.close()


def info_rate(env):
    return 2.0 ** float(env._last[0]) * 1e6


def test_the_last_interval_counts_and_leaves_its_record():
    env = RateEnv(SHORT.set("duration", "2950ms"))
    env.reset(seed=1)
    assert env.record is None
    rewards, truncated = [], False
    while not truncated:
        _, reward, _, truncated, info = env.step([0.0])
        rewards.append(reward)
    assert info["time_s"] == pytest.approx(2.95)
    # 500 kb/s with headers of 40 bytes for 1000 of data, over an idle link.
    assert rewards[-1] == pytest.approx(0.5 / 1.04, abs=0.2)
    assert env.record.complete
    with pytest.raises(ValueError, match="call reset"):
        env.step([0.0])
    env.close()


def test_many_step_together():
    envs = make_vec(2, scenario=SHORT)
    observations, _ = envs.reset(seed=3)
    assert observations.shape == (2, 6)
    for _ in range(40):
        observations, rewards, *_ = envs.step(envs.action_space.sample())
    assert np.isfinite(rewards).all()
    envs.close()


def test_what_the_scenario_lacks_is_said():
    with pytest.raises(ValueError, match="there is no flow"):
        RateEnv(SHORT, flow="nobody").reset(seed=1)
