"""Sweeps: the result table, the dataset, resuming and clusters."""

from __future__ import annotations

import json
import os
import pathlib
import signal
import subprocess
import sys
import time
from functools import partial

import cases
import pyarrow.parquet
import pytest

import headway
from headway import Flow, Link, Scenario
from headway._algorithms import Algorithms

LOSSY = Scenario(
    duration="0.5s",
    links=[Link(("a", "b"), rate="1Mbps", delay="5ms", loss={"kind": "bernoulli", "probability": 0.2})],
    flows=[
        Flow("voice", "a", "b", transport="udp", source={"kind": "cbr", "interval": "5ms", "payload": "160B"}),
    ],
)
VARY = {"link[0].rate": ["1Mbps", "500kbps"], "link[0].delay": {"from": "5ms", "to": "15ms", "steps": 3}}
LOSS = {"loss": "flow[voice].loss_ratio"}


def dataset(folder) -> list[bytes]:
    return [(pathlib.Path(folder) / f"{name}.parquet").read_bytes() for name in ("flows", "links", "runs")]


def test_results_have_one_row_per_combination(tmp_path):
    calls = []
    swept = headway.sweep(
        LOSSY, VARY, seeds=5, metrics=LOSS, out=tmp_path / "out", progress=lambda *call: calls.append(call)
    )
    results = swept.results
    assert results.keys == ["rate", "delay"]
    assert len(results) == 6
    assert results.metrics == ["loss"]
    assert calls[-1] == (30, 30)
    row = results.rows[4]
    assert row["values"] == ["500kbps", "10ms"]
    assert row["metrics"][0]["ci95"] > 0
    samples = results.samples(4, "loss")
    for call in (lambda: results.samples(4, "los"), lambda: results.plot("rate", "los")):
        with pytest.raises(ValueError, match=r'there is no metric "los"; did you mean "loss"[?] Known are loss'):
            call()
    with pytest.raises(IndexError, match="there is no row 99; the table has "):
        results.samples(99, "loss")
    with pytest.raises(IndexError, match="there is no metric 7; the table has "):
        results.samples(0, 7)
    assert list(samples) == [1, 2, 3, 4, 5]
    assert row["metrics"][0]["mean"] == pytest.approx(sum(samples.values()) / 5)
    one = LOSSY.set("link[0].rate", "500kbps").set("link[0].delay", "10ms").set("record.series", False).run(seed=3)
    assert one.metric(LOSS["loss"]) == samples[3]
    assert "±" in str(results)
    assert "±" in results._repr_html_()
    against = results.against("rate=1Mbps", paired=True)
    assert len(against.to_dict()["against"]["rows"]) == 3
    with pytest.raises(ValueError, match="rate=1Mbps, rate=500kbps"):
        results.against("rate=7Mbps")


def test_equal_runs_have_no_interval(tmp_path):
    steady = LOSSY.set("link[0].loss.probability", 0)
    results = headway.sweep(steady, VARY, seeds=3, metrics=LOSS, out=tmp_path / "out").results
    assert all(row["identical"] and row["metrics"][0]["ci95"] is None for row in results.rows)
    assert "±" not in str(results).split("\n\n")[0]
    assert "±" not in results._repr_html_()
    assert results.to_pandas()["loss ci95"].isna().all()
    against = results.against("rate=1Mbps", paired=True).to_dict()["against"]
    assert all(row["metrics"][0]["ci95"] is None for row in against["rows"])


def test_quantities_are_numbers_that_set_accepts(tmp_path):
    """Regression test: strings sorted "10Mbps" before "2Mbps", and `set` did not accept a number."""
    vary = {"link[0].rate": ["10Mbps", "2Mbps"], "link[0].delay": ["5ms"]}
    frame = headway.sweep(LOSSY, vary, metrics=LOSS, out=tmp_path / "out").results.to_pandas()
    assert frame["rate"].sort_values().tolist() == [2_000_000, 10_000_000]
    assert frame["delay"].tolist() == [0.005] * 2
    assert frame.attrs["units"] == {"rate": "bps", "delay": "s"}
    same = LOSSY.set({"link[0].rate": "2Mbps", "link[0].delay": "5ms"}).toml
    assert LOSSY.set({"link[0].rate": 2e6, "link[0].delay": 0.005}).toml == same
    assert LOSSY.set("link[0].rate", frame["rate"].min()).set("link[0].delay", frame["delay"].min()).toml == same
    with pytest.raises(headway.ScenarioError, match=": 20 has no unit"):
        LOSSY.set("link[0].queue", {"kind": "droptail", "limit": "9packets"}).set("link[0].queue.limit", 20)


@pytest.mark.parametrize(
    ("mean", "half", "shown"),
    [
        (1.23456, 0.0678, "1.235 ± 0.068"),
        (12345.6, 678.0, "12350 ± 680"),
        (0.5, 0.0996, "0.50 ± 0.10"),
        (2.0, None, "2"),
        (1234567.0, 4321.0, "(1.2346 ± 0.0043)e6"),
        (0.0001234, 0.0000056, "(1.234 ± 0.056)e-4"),
    ],
)
def test_means_are_rounded_to_their_interval(mean, half, shown):
    from headway._sweep import _rounded

    assert _rounded(mean, half) == shown


def test_axes_have_readable_units(tmp_path):
    vary = {"link[0].rate": ["2Mbps", "10Mbps"]}
    metrics = LOSS | {"goodput": "sum(flow[*].goodput_bps)", "delay": "flow[*].one_way_delay_s.mean / 1"}
    results = headway.sweep(LOSSY, vary, metrics=metrics, out=tmp_path / "out").results
    from matplotlib import pyplot

    axes = results.plot("rate", ax=pyplot.subplots()[1])
    assert axes.get_xlabel() == "rate (Mb/s)"
    assert "\nrate (Mb/s)\n" in results.plot("rate").svg
    assert list(axes.lines[0].get_xdata()) == [2.0, 10.0]
    # Regression test: the metric axis had no unit. A quotient has none.
    axes = results.plot("rate", "goodput", ax=pyplot.subplots()[1])
    assert axes.get_ylabel() == "goodput (kb/s)"
    means = [row["metrics"][results.metrics.index("goodput")]["mean"] for row in results.rows]
    assert list(axes.lines[0].get_ydata()) == [mean / 1e3 for mean in means]
    assert results.to_pandas().attrs["units"] == {"rate": "bps", "goodput": "bps"}
    assert "\ndelay\n" in results.plot("rate", "delay").svg
    pyplot.close("all")


def test_results_are_an_array_over_keys_and_seeds(tmp_path):
    vary = {"link[0].rate": ["2Mbps", "10Mbps"], "link[0].queue.kind": ["droptail", "codel"]}
    metrics = {"goodput": "sum(flow[*].goodput_bps)"}
    results = headway.sweep(LOSSY, vary, seeds=3, metrics=metrics, out=tmp_path / "out").results
    dataset = results.to_xarray()
    assert dict(dataset.sizes) == {"rate": 2, "kind": 2, "seed": 3}
    assert dataset["goodput"].attrs["units"] == dataset["rate"].attrs["units"] == "bps"
    for number, row in enumerate(results.rows):
        rate, kind = results._inner.cells(number)
        values = dataset["goodput"].sel(rate=rate, kind=kind)
        assert dict(zip(values["seed"].values.tolist(), values.values.tolist(), strict=True)) == results.samples(
            number, 0
        )
        assert values.mean() == pytest.approx(row["metrics"][0]["mean"])


def test_kinds_of_figures_of_a_sweep(tmp_path):
    vary = {"link[0].rate": ["2Mbps", "10Mbps"], "link[0].delay": ["5ms", "20ms"]}
    results = headway.sweep(LOSSY, vary, seeds=2, metrics=LOSS, out=tmp_path / "out").results
    for kind, text in [("lines", "mean"), ("boxes", "box: quartiles, median, mean"), ("cdf", "of runs")]:
        assert text in results.plot("rate", by="delay", kind=kind).svg
    heat_map = results.plot("rate", by="delay", kind="heat-map", names={"delay": "One-way delay"})
    assert heat_map.svg.count("<rect") > 64
    assert "\nOne-way delay\n" in heat_map.svg
    with pytest.raises(ValueError, match="a heat map needs two keys"):
        results.plot("rate", kind="heat-map")
    with pytest.raises(ValueError, match='kind is "pie"; expected "lines", "boxes", "cdf" or "heat-map"'):
        results.plot("rate", kind="pie")


def test_logarithmic_axis_refuses_values_it_would_omit(tmp_path):
    """A logarithmic axis would silently omit values at or below 0."""
    for vary, why in [
        ({"link[0].delay": ["0ms", "5ms"]}, "delay has a value at or below 0"),
        ({"link[0].queue.kind": ["droptail", "codel"]}, "the values of kind are not numbers"),
    ]:
        results = headway.sweep(LOSSY, vary, out=tmp_path / "out").results
        with pytest.raises(ValueError, match=why):
            results.plot(results.keys[0], log_x=True)


def test_key_cannot_be_set_and_varied(tmp_path):
    with pytest.raises(headway.ScenarioError, match="is already set"):
        headway.sweep(LOSSY.set("link[0].rate", "2Mbps"), VARY, out=tmp_path / "out")


def test_dataset_is_typed_and_readable_by_other_libraries(tmp_path):
    swept = headway.sweep(LOSSY, VARY, seeds=[7, 9], out=tmp_path / "out")
    flows = swept.flows.to_pandas()
    assert len(flows) == 12
    assert flows["rate"].tolist()[-1] == 500_000
    assert flows["delay"].tolist()[0] == 0.005
    assert sorted(set(flows["seed"])) == [7, 9]
    assert len(swept.links) == 24
    runs = pyarrow.parquet.read_table(tmp_path / "out" / "runs.parquet")
    assert json.loads(runs.schema.metadata[b"headway.units"]) == {"delay": "s", "rate": "bps"}
    assert swept.flows.to_pyarrow().schema.field("delay").metadata[b"unit"] == b"s"
    summary = json.loads(runs["summary"][0].as_py())
    assert summary["flows"][0]["throughput_bps"] == flows["throughput_bps"].tolist()[0]
    assert swept.results.to_pandas().shape[0] == 6


def test_precision_adds_seeds(tmp_path):
    swept = headway.sweep(LOSSY, seeds=3, metrics=LOSS, precision=0.1, max_seeds=12, out=tmp_path / "out")
    assert swept.results.rows[0]["runs"] in (8, 12)


def test_max_seeds_and_metric_names_are_checked(tmp_path):
    with pytest.raises(ValueError, match="below the initial number of seeds; expected 3"):
        headway.sweep(LOSSY, seeds=3, metrics=LOSS, precision=0.1, max_seeds=2, out=tmp_path / "out")
    with pytest.raises(headway.MetricError, match="an earlier metric has the same name"):
        headway.sweep(LOSSY, seeds=2, metrics=["a=jain_index", "a=2 * jain_index"], out=tmp_path / "out")


@pytest.mark.parametrize("precision", [0, 5, -0.1, float("nan"), "5", "x", "500%"])
def test_precision_must_be_a_share(precision, tmp_path):
    with pytest.raises(ValueError, match="share of the mean"):
        headway.sweep(LOSSY, seeds=3, metrics=LOSS, precision=precision, out=tmp_path / "out")


def test_duplicate_runs_are_refused(tmp_path):
    for vary, seeds, message in [
        ({}, [1, 2, 1], "seed 1 is listed twice"),
        ({"link[0].rate": ["1Mbps", "1000kbps"]}, 2, "same value twice"),
        ({"seed": [1, 2]}, 2, "leave one of the two out"),
    ]:
        with pytest.raises(headway.ScenarioError, match=message):
            headway.sweep(LOSSY, vary, seeds=seeds, out=tmp_path / "out")


def test_interrupted_sweep_removes_the_old_dataset(tmp_path):
    headway.sweep(LOSSY, {"link[0].rate": ["1Mbps"]}, seeds=2, out=tmp_path / "out")

    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    long = LOSSY.set("duration", "20s")
    with pytest.raises(KeyboardInterrupt):
        headway.sweep(long, {"link[0].rate": ["2Mbps", "3Mbps"]}, seeds=40, jobs=1, out=tmp_path / "out", progress=stop)
    assert not list((tmp_path / "out").glob("*.parquet"))
    again = headway.sweep(LOSSY, {"link[0].rate": ["1Mbps"]}, seeds=2, out=tmp_path / "out")
    assert len(again.flows) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"scenario": "study.toml"}, "Scenario.load"),
        ({"vary": [("link[0].rate", ["1Mbps"])]}, "vary must be a dict"),
        ({"metrics": "flow[voice].loss_ratio"}, "metrics must be a dict or a list"),
        ({"seeds": 2.5}, "integer"),
    ],
)
def test_invalid_arguments_are_refused(arguments, message, tmp_path):
    with pytest.raises(TypeError, match=message):
        headway.sweep(**{"scenario": LOSSY, "out": tmp_path / "out", **arguments})


def test_errors_have_classes_of_the_package(tmp_path):
    with pytest.raises(headway.ScenarioError, match="there is no link"):
        headway.sweep(LOSSY, {"link[7].rate": ["1Mbps"]}, out=tmp_path / "out")
    with pytest.raises(headway.MetricError, match="there is no flow"):
        headway.sweep(LOSSY, metrics={"x": "flow[absent].loss_ratio"}, out=tmp_path / "out")
    # Regression test: a wrong name was reported only after the last run.
    assert not (tmp_path / "out").exists()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").write_text("mine")
    with pytest.raises(headway.RecordError):
        headway.sweep(LOSSY, out=tmp_path / "mine")


SCRIPT = """
import sys, headway
text, out = sys.argv[1:]
scenario = headway.Scenario.from_toml(text)
headway.sweep(scenario, {"link[0].rate": ["1Mbps", "2Mbps"]}, seeds=200, out=out)
"""


def test_killed_sweep_resumes_with_the_same_dataset(tmp_path):
    whole = headway.sweep(LOSSY, {"link[0].rate": ["1Mbps", "2Mbps"]}, seeds=200, out=tmp_path / "whole")
    command = [sys.executable, "-c", SCRIPT, LOSSY.text, str(tmp_path / "killed")]
    for wait_s in (0.2, 0.3, 0.25):
        child = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        time.sleep(wait_s)
        child.send_signal(signal.SIGKILL if os.name == "posix" else signal.SIGTERM)
        child.wait()
    assert subprocess.run(command, check=False).returncode == 0
    assert dataset(tmp_path / "killed") == dataset(whole.path)


def test_cluster_gives_the_same_dataset_if_a_worker_dies(tmp_path):
    distributed = pytest.importorskip("distributed")
    vary = {"link[0].rate": ["1Mbps", "2Mbps"]}
    whole = headway.sweep(LOSSY, vary, seeds=100, out=tmp_path / "whole")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        killed = []

        def progress(done: int, total: int) -> None:
            if not killed:
                killed.append(True)
                os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)

        far = headway.sweep(LOSSY, vary, seeds=100, out=tmp_path / "far", cluster=client, progress=progress)
    assert killed
    assert dataset(far.path) == dataset(whole.path)


def test_command_runs_on_a_cluster(tmp_path):
    program = os.environ.get("HEADWAY")
    if not program:
        pytest.skip("HEADWAY is not set to a program")
    distributed = pytest.importorskip("distributed")
    (tmp_path / "study.toml").write_text(LOSSY.text)
    words = [program, "sweep", "study.toml", "--vary", "link[0].rate=1Mbps,2Mbps", "--seeds", "20", "--json"]
    # The command must find the package of this Python.
    environment = os.environ | {"PATH": f"{pathlib.Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}

    def run(*more: str) -> object:
        done = subprocess.run([*words, *more], cwd=tmp_path, env=environment, check=True, capture_output=True)
        return json.loads(done.stdout)

    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster:
        far = run("--dask", cluster.scheduler_address, "--out", "far")
        # Existing runs are reused without the cluster.
        assert run("--dask", cluster.scheduler_address, "--out", "far") == far
    assert run("--out", "near") == far
    assert dataset(tmp_path / "far") == dataset(tmp_path / "near")
    lost = subprocess.run(
        [*words, "--dask", "tcp://127.0.0.1:9", "--out", "lost"],
        cwd=tmp_path,
        env=environment,
        check=False,
        capture_output=True,
    )
    assert lost.returncode == 1
    assert b"--dask" in lost.stderr


PACED = headway.Scenario(
    duration="2s",
    links=[headway.Link("a", "b", rate="1Mbps", delay="20ms", loss={"kind": "bernoulli", "probability": 0.05})],
    flows=[headway.Flow("mine", "a", "b", transport="udpm", source={"kind": "cbr", "rate": "4Mbps", "size": "1000B"})],
)


def test_a_controller_in_python_is_swept_on_two_cores_and_on_a_cluster(tmp_path):
    """Five values and 20 seeds give the same dataset, and the runs are reused."""
    distributed = pytest.importorskip("distributed")
    arguments = {
        "vary": {"link[0].rate": {"from": "1Mbps", "to": "5Mbps", "steps": 5}},
        "seeds": 20,
        "metrics": {"goodput": "flow[mine].goodput_bps"},
        "controllers": {"mine": headway.Controller(cases.Paced)},
    }
    near = headway.sweep(PACED, out=tmp_path / "near", jobs=2, **arguments)
    assert len(near.results) == 5
    values = near.results.samples(0, 0)
    assert values == {
        seed: PACED.set("seed", seed).run(controllers=arguments["controllers"]).metric("flow[mine].goodput_bps")
        for seed in values
    }
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        far = headway.sweep(PACED, out=tmp_path / "far", cluster=client, **arguments)
    assert dataset(far.path) == dataset(near.path)
    done = []
    headway.sweep(PACED, out=tmp_path / "near", jobs=2, progress=lambda *numbers: done.append(numbers), **arguments)
    assert done == []
    other = arguments | {"controllers": {"mine": headway.Controller(cases.Slow)}}
    slow = headway.sweep(PACED, out=tmp_path / "near", jobs=2, **other)
    assert slow.results.samples(0, 0) != values


def test_algorithms_with_other_values_are_others():
    """Regression test: a value in a closure was ignored, so that runs with another value were reused."""

    def paced(gap_ns):
        def make(context):
            half = cases.Paced(context)
            half.gap_ns = gap_ns
            return half

        return make

    def identity(sender):
        return Algorithms({"mine": headway.Controller(sender)}, {}).identity()

    assert identity(paced(1)) == identity(paced(1)) != identity(paced(2))
    assert identity(partial(paced, 1)) == identity(partial(paced, 1)) != identity(partial(paced, 2))
    assert identity(cases.Paced) == identity(cases.Paced) != identity(cases.Slow)
    assert identity(lambda context, gap=1: gap) != identity(lambda context, gap=2: gap)


def test_a_failing_controller_ends_the_sweep(tmp_path):
    with pytest.raises(headway.Error, match=r"seed \d failed:[^$]*ZeroDivisionError"):
        headway.sweep(PACED, seeds=3, out=tmp_path / "out", controllers={"mine": headway.Controller(cases.Broken)})
