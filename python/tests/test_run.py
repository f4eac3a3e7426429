"""Runs: determinism, progress, interruption and threads."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from cases import ROOT

import headway
from headway import Record, Scenario

FINGERPRINTS = dict(
    reversed(line.split(" ")[::2])
    for line in (ROOT / "crates/simulator/sim/tests/fingerprints.txt").read_text().splitlines()
)


@pytest.mark.parametrize("name", [name for name in FINGERPRINTS if "/" not in name])
def test_event_order_equals_that_of_the_command(name):
    scenario = Scenario.load(ROOT / "scenarios" / name)
    assert scenario.run().fingerprint == FINGERPRINTS[name]


def test_seed_argument(scenario):
    assert scenario.run(seed=2).fingerprint == scenario.set("seed", 2).run().fingerprint
    assert scenario.run(seed=2).scenario.seed == 2
    assert scenario.run(seed=2).summary["seed"] == 2
    with pytest.raises(headway.ScenarioError):
        scenario.run(seed=-1)


def test_progress_calls_do_not_change_the_run(scenario):
    calls = []
    longer = scenario.set("duration", "60s").set("flow[0].count", 50).set("link[0].rate", "1Gbps")
    started = time.monotonic()
    record = longer.run(progress=lambda *call: calls.append(call))
    took = time.monotonic() - started
    assert record.fingerprint == longer.run().fingerprint
    assert calls == sorted(calls)
    assert calls[-1] == (60.0, 60.0, record.summary["packet_hops"])
    assert 1 < len(calls) <= 10 * took + 2


def test_progress_line(scenario, capfd):
    scenario.run(progress=True)
    output = capfd.readouterr()
    assert output.out == ""
    assert output.err.startswith("\r100%  5.0 of 5 s, ")
    assert output.err.endswith("packet-hops \n")
    scenario.run(progress=False)
    assert capfd.readouterr().err == ""


def test_exception_in_progress_stops_the_run(long):
    class StopRun(Exception):
        pass

    def progress(now_s, duration_s, packet_hops):
        raise StopRun(now_s)

    with pytest.raises(StopRun) as stopped:
        long.run(progress=progress)
    # The exception is unchanged, with its traceback.
    assert 0 < stopped.value.args[0] < 100000
    assert any(entry.name == "progress" for entry in stopped.traceback)


def test_ctrl_c_keeps_the_partial_record(long):
    def interrupt():
        time.sleep(0.3)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt) as stopped:
        long.run()
    assert time.monotonic() - started < 5
    record = Record.of(stopped.value)
    assert record is not None
    assert not record.complete
    assert 0 < record.summary["interval"]["to"] < 100000
    assert record.summary["packet_hops"] > 0


def test_ctrl_c_ends_a_program(long):
    program = textwrap.dedent("""
        import sys, headway
        scenario = headway.Scenario.from_toml(sys.stdin.read())
        print("ready", flush=True)
        try:
            scenario.run()
        except KeyboardInterrupt as stopped:
            record = headway.Record.of(stopped)
            print(record.complete, record.summary["packet_hops"] > 0)
            raise
    """)
    with subprocess.Popen(
        [sys.executable, "-I", "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        child.stdin.write(long.text)
        child.stdin.close()
        assert child.stdout.readline() == "ready\n"
        time.sleep(0.3)
        child.send_signal(signal.SIGINT)
        assert child.wait(10) == -signal.SIGINT
        assert child.stdout.read() == "False True\n"
        assert "KeyboardInterrupt" in child.stderr.read()


def test_other_threads_continue_during_a_run(scenario):
    """A run that held the global lock would block all other threads until its end."""
    busy = scenario.set({"duration": "100s", "link[0].rate": "100Mbps", "flow[0].count": 20})
    run = threading.Thread(target=busy.run)
    run.start()
    ticks = 0
    while run.is_alive():
        time.sleep(0.001)
        ticks += 1
    assert ticks > 20


def test_runs_in_several_threads_are_deterministic(scenario):
    longer = scenario.set("duration", "50s")
    expected = [longer.run(seed=seed).summary for seed in range(8)]
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda seed: longer.run(seed=seed).summary, range(8)))
    assert found == expected
