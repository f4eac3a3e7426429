"""Records: results, tables and folders."""

import json
import os
import pickle
import subprocess

import pandas
import polars
import pyarrow
import pytest
from cases import ROOT

import headway
from headway import Flow, Link, Record


@pytest.fixture
def record(scenario):
    return scenario.run()


@pytest.mark.parametrize("name", ["demo", "conference", "dccp", "encoder", "busy-host", "pages"])
def test_the_types_of_a_summary_have_its_keys(name):
    scenario = headway.Scenario.load(ROOT / f"scenarios/{name}.toml")
    summary = scenario.set({"duration": "2s", "measure_from": "0s"}).run().summary
    tables = [(headway.Summary, summary)]
    tables += [(headway.FlowSummary, flow) for flow in summary["flows"]]
    tables += [(headway.LinkSummary, link) for link in summary["links"]]
    for table, found in tables:
        assert table.__required_keys__ <= set(found) <= table.__required_keys__ | table.__optional_keys__


def test_summary_equals_the_file(record, tmp_path):
    record.save(tmp_path / "record")
    assert record.summary == json.loads((tmp_path / "record/summary.json").read_text())
    assert record.complete
    assert record.summary["interval"] == {"from": 0.0, "to": 5.0}
    assert record.timing["simulated_s"] == 5.0


def test_metrics_are_values_of_the_summary(record):
    flow = record.summary["flows"][0]
    assert record.metric("flow[ftp].throughput_bps") == flow["throughput_bps"]
    assert record.metric("mean(flow[*].one_way_delay_s.p95) * 1e3") == flow["one_way_delay_s"]["p95"] * 1e3
    assert record.metric("jain_index") == 1


def test_missing_values_are_none(scenario):
    record = scenario.set("link[0].queue", {"kind": "droptail"}).run()
    assert record.metric("link[r1->r2].mean_red_average") is None


def test_tables_have_the_values_of_the_summary(record):
    for table, entries in [(record.flows, record.summary["flows"]), (record.links, record.summary["links"])]:
        rows = pyarrow.table(table).to_pylist()
        assert len(rows) == len(table) == len(entries)
        for row, entry in zip(rows, entries, strict=True):
            for column, value in row.items():
                expected = entry
                for key in column.split("."):
                    expected = (expected or {}).get(key)
                assert value == expected, column


def test_column_names_are_metric_paths(record):
    frame = record.flows.to_pandas()
    for column in frame.columns:
        if column not in ("name", "from", "to", "kind"):
            value = record.metric(f"flow[ftp].{column}")
            # A flow without audio has no speech quality.
            assert pandas.isna(frame[column][0]) if value is None else value == frame[column][0], column


def test_flow_without_received_packets_has_all_columns(scenario):
    silent = scenario.set("flow[0].start", "4.9999s").run()
    frame = silent.flows.to_polars()
    assert frame["received_packets"][0] == 0
    assert frame["one_way_delay_s.p95"][0] is None
    assert frame.schema["one_way_delay_s.p95"] == polars.Float64


def test_all_libraries_read_the_same_samples(record):
    of_pyarrow = record.series.to_pyarrow()
    of_pandas = record.series.to_pandas()
    of_polars = record.series.to_polars()
    assert of_pyarrow.column_names == record.series.column_names == ["time_ns", "entity", "metric", "value"]
    assert isinstance(of_pandas, pandas.DataFrame)
    assert isinstance(of_polars, polars.DataFrame)
    assert len(of_pyarrow) == len(of_pandas) == len(of_polars) == len(record.series) > 500
    values = of_pyarrow["value"].to_pylist()
    assert of_pandas["value"].tolist() == values == of_polars["value"].to_list()
    assert of_pandas["entity"].astype(str).tolist() == of_polars["entity"].cast(str).to_list()
    assert of_pandas["entity"].dtype == "category"


def test_samples_are_not_copied(record):
    addresses = [
        [
            chunk.buffers()[1].address
            for name in ("time_ns", "value")
            for chunk in pyarrow.table(record.series)[name].chunks
        ]
        for _ in range(2)
    ]
    assert addresses[0] == addresses[1]


def test_tables_outlive_their_record(scenario):
    table = pyarrow.table(scenario.run().series)
    frame = polars.DataFrame(scenario.run().flows)
    assert table.validate(full=True) is None
    assert frame["name"].to_list() == ["ftp"]


def test_samples_by_entity(record):
    samples = record.samples("queue_packets")
    assert set(samples) == {"r1->r2", "r2->r1"}
    times, values = samples["r1->r2"]
    frame = record.series.to_pandas()
    rows = frame[(frame["entity"] == "r1->r2") & (frame["metric"] == "queue_packets")]
    assert values == rows["value"].tolist()
    assert times == (rows["time_ns"] / 1e9).tolist()
    # The flow has no sessions.
    assert record.samples("open_sessions") == {}
    expected = 'there is no metric "queue_packet" over time; did you mean "queue_packets"[?] Known are'
    with pytest.raises(ValueError, match=expected) as wrong:
        record.samples("queue_packet")
    assert "throughput_bps" in str(wrong.value)


def test_run_without_series(scenario, tmp_path):
    record = scenario.set("record.series", False).run()
    assert len(record.series) == len(pyarrow.table(record.series)) == 0
    assert record.samples("queue_packets") == {}
    record.save(tmp_path / "record")
    assert not (tmp_path / "record/series.arrow").exists()
    assert len(Record.load(tmp_path / "record").series) == 0


def test_record_is_saved_and_loaded(record, tmp_path):
    folder = tmp_path / "record"
    record.save(folder)
    again = Record.load(folder)
    assert (again.summary, again.timing, again.scenario) == (record.summary, record.timing, record.scenario)
    assert pyarrow.table(again.series) == pyarrow.table(record.series)
    # Another run overwrites the record, as with the command.
    record.scenario.run(seed=2).save(folder)
    assert Record.load(folder).summary["seed"] == 2


def test_folder_equals_that_of_the_command(tmp_path):
    program = os.environ.get("HEADWAY")
    if not program:
        pytest.skip("HEADWAY is not set to a program")
    scenario = headway.Scenario.load(ROOT / "scenarios/demo.toml").set("record.distributions", True)
    traces = ["ns2", "pcapng", "packets"]
    scenario.run(trace=traces).save(tmp_path / "python")
    words = [
        "run",
        "--quiet",
        *(word for trace in traces for word in ("--trace", trace)),
        "--out",
        tmp_path / "command",
    ]
    words += ["--set", "record.distributions=true"]
    subprocess.run([program, *words, ROOT / "scenarios/demo.toml"], check=True, stdout=subprocess.DEVNULL)
    files = {
        kind: {
            file.relative_to(tmp_path / kind): file.read_bytes()
            for file in (tmp_path / kind).rglob("*.*")
            if file.is_file()
        }
        for kind in ("python", "command")
    }
    assert set(files["python"]) == set(files["command"])
    timed = {file for file in files["python"] if files["python"][file] != files["command"][file]}
    assert {file.name for file in timed} == {"timing.json"}


def test_distributions_are_recorded_on_request(scenario, tmp_path):
    assert scenario.run().distributions is None
    record = scenario.set("record.distributions", True).run()
    (flow,) = record.distributions["flows"]
    assert flow["name"] == "ftp"
    record.save(tmp_path / "record")
    for again in (Record.load(tmp_path / "record"), pickle.loads(pickle.dumps(record))):
        assert again.distributions == record.distributions


def test_events_table(scenario, tmp_path):
    record = scenario.run()
    events = record.events.to_pandas()
    drops = events[events.event == "drop"].groupby("entity", observed=True).size()
    links = record.links.to_pandas().set_index("name")
    for link, dropped in drops.items():
        assert dropped == sum(links.loc[link, [name for name in links if name.startswith("dropped_packets")]].fillna(0))
    assert (events.time_ns.diff().dropna() >= 0).all()
    record.save(tmp_path / "record")
    assert pyarrow.table(Record.load(tmp_path / "record").events) == pyarrow.table(record.events)
    written = pyarrow.ipc.open_file(tmp_path / "record/events.arrow").read_all()
    assert written.to_pylist() == pyarrow.table(record.events).to_pylist()


def test_packets_table(scenario):
    packets = pyarrow.ipc.open_file(scenario.run(trace="packets").traces["packets"]).read_all()
    metadata = {key.decode(): value.decode() for key, value in packets.schema.metadata.items()}
    links = [link["name"] for link in json.loads(metadata["links"])]
    assert links == scenario.run().links.to_pandas()["name"].tolist()
    assert int(metadata["rows"]) == len(packets)


def test_traces_are_bytes(scenario, tmp_path):
    record = scenario.run(trace=("ns2", "pcapng"))
    assert set(record.traces) == {"ns2", "pcapng"}
    assert record.traces["ns2"].startswith(b"+ ")
    record.save(tmp_path / "record")
    assert (tmp_path / "record/trace.tr").read_bytes() == record.traces["ns2"]
    assert record.fingerprint == scenario.run().fingerprint
    assert scenario.run().traces == {}


def test_records_can_be_pickled(scenario):
    record = scenario.run(trace="ns2")
    again = pickle.loads(pickle.dumps(record))
    assert (again.summary, again.traces, again.timing) == (record.summary, record.traces, record.timing)
    assert pyarrow.table(again.series) == pyarrow.table(record.series)
    assert again.scenario == scenario


def test_text_and_html_output(record):
    assert repr(record) == "<Record 'scenario': seed 1, 5 s, 1 flow>"
    assert "tcp-newreno" in str(record)
    html = record._repr_html_()
    assert html.count("<table>") == html.count("</table>") == 2
    assert "<td>tcp-newreno</td>" in html
    assert "<td>r1-&gt;r2</td>" in html


def test_figures(record, tmp_path):
    for name in ("throughput", "delay", "queue", "cwnd", "loss"):
        figure = record.plot(name)
        assert figure.name == name
        assert ": scenario\n" in figure.svg
        assert "\nTime (s)\n" in figure.svg
        assert figure._repr_svg_() == figure.svg
    figure = record.plot("throughput")
    assert "\nThroughput (Mb/s)\n" in figure.svg
    assert figure.png().startswith(b"\x89PNG")
    for ending, start in ((".svg", b"<svg "), (".png", b"\x89PNG"), (".pdf", b"%PDF-")):
        figure.save(tmp_path / f"throughput{ending}")
        assert (tmp_path / f"throughput{ending}").read_bytes().startswith(start)
    with pytest.raises(ValueError, match=r"expected the ending \.svg or \.png or \.pdf"):
        figure.save(tmp_path / "throughput.jpg")
    with pytest.raises(ValueError, match='there is no figure "speed"; known are throughput'):
        record.plot("speed")
    with pytest.raises(ValueError, match="no values for the figure allowed-rate"):
        record.plot("allowed-rate")
    with pytest.raises(ValueError, match="scenario has no distributions"):
        record.plot("delay-cdf")
    with pytest.raises(ValueError, match='scenario has no packet trace; give trace="packets"'):
        record.plot("sequence")


def test_rates_drops_and_packets_are_drawn(tmp_path, program):
    record = headway.Scenario(
        duration="4s",
        links=[Link(("a", "b"), rate="300kbps", delay="5ms", queue={"kind": "droptail", "limit": "5packets"})],
        flows=[Flow("media", "a", "b", transport="tfrc", source="ftp")],
    ).run(trace="packets")
    record.save(tmp_path / "run")
    program("plot", tmp_path / "run", "--metric", "rates", "--format", "svg")
    for kind in ("drops", "sequence"):
        program("plot", tmp_path / "run", "--kind", kind, "--format", "svg")
    for name in ("rates", "drops", "sequence"):
        drawn = (tmp_path / "run" / f"{name}.svg").read_text()
        assert headway.plot({"run": record}, name).svg == drawn
        assert headway.plot({"run": headway.Record.load(tmp_path / "run")}, name).svg == drawn
    program("plot", tmp_path / "run", "--kind", "drops", "--format", "svg", "--from", "100ms", "--to", "1s")
    drawn = headway.plot({"run": record}, "drops", time=[0.1, 1])
    assert drawn.svg == (tmp_path / "run" / "drops.svg").read_text()
    with pytest.raises(ValueError, match=r"the start is 2 s, the end 1 s"):
        record.plot("drops", time=(2, 1))
    with pytest.raises(ValueError, match="time: expected a start before the end"):
        record.plot("sequence", time=(9, None))
    with pytest.raises(ValueError, match=r'"rates": the label "Rate \(ms\)" has the unit ms; the axis has one of the'):
        record.plot("rates", y_label="Rate (ms)")
    with pytest.raises(ValueError, match="the figure sequence shows one record"):
        headway.plot({"run": record, "other": record}, "sequence")


def test_figures_have_the_bytes_of_the_command(record, tmp_path, program):
    record.save(tmp_path / "run")
    program("plot", tmp_path / "run", "--size", "127x63.5mm", "--title", "Own", "--format", "svg")
    for name in ("throughput", "delay", "cwnd"):
        drawn = headway.plot({"run": record}, name, size_mm=(127, 63.5), title="Own")
        assert drawn.svg == (tmp_path / "run" / f"{name}.svg").read_text()


def test_several_records_share_a_figure(record):
    figure = headway.plot({"one": record, "other": record}, names={"other": "Another"}, legend="below")
    assert "\none\n" in figure.svg
    assert "\nAnother\n" in figure.svg
    with pytest.raises(ValueError, match='legend is "left"; expected "outside", "below" or "none"'):
        headway.plot([record], legend="left")


def test_lines_are_added_to_axes_of_matplotlib(record):
    from matplotlib import pyplot

    _, axes = pyplot.subplots()
    assert record.plot("throughput", ax=axes) is axes
    assert [line.get_label() for line in axes.lines] == ["ftp"]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("Time (s)", "Throughput (Mb/s)")
    times, values = record.samples("throughput_bps")["ftp"]
    assert list(axes.lines[0].get_xdata()) == times
    assert list(axes.lines[0].get_ydata()) == [value / 1e6 for value in values]
    headway.plot({"a": record, "b": record}, "delay", ax=axes)
    assert [line.get_label() for line in axes.lines[1:]] == ["a", "b"]
    pyplot.close()


def test_drops_and_packets_are_added_to_axes_of_matplotlib():
    from matplotlib import pyplot

    record = headway.Scenario(
        duration="4s",
        links=[Link(("a", "b"), rate="300kbps", delay="5ms", queue={"kind": "droptail", "limit": "5packets"})],
        flows=[Flow(name, "a", "b", transport="tfrc", source="ftp") for name in ("x", "y")],
    ).run(trace="packets")
    _, axes = pyplot.subplots()
    record.plot("drops", ax=axes)
    drawn = {line.get_label(): line.get_ydata() for line in axes.lines}
    assert set(drawn) == {"x: queue full", "y: queue full"}
    causes = zip(record.events["flow"], record.events["cause"], strict=True)
    full = [flow for flow, cause in causes if cause == "queue_full"]
    assert {name: values[-1] for name, values in drawn.items()} == {
        f"{name}: queue full": full.count(name) for name in ("x", "y")
    }
    assert axes.get_ylabel() == "Dropped (packets)"
    _, axes = pyplot.subplots()
    record.plot("sequence", time=(1, 2), ax=axes)
    marks = {line.get_label(): line for line in axes.lines}
    assert {f"{name}: {mark}" for name in "xy" for mark in ("sent", "received")} <= set(marks)
    assert all(1 <= at <= 2 for at in marks["x: sent"].get_xdata())
    assert (marks["x: sent"].get_linestyle(), marks["x: received"].get_marker()) == ("None", "o")
    with pytest.raises(ValueError, match="delay-cdf is not a figure over time"):
        record.plot("delay-cdf", ax=axes)
    with pytest.raises(TypeError, match="with ax=, the style is that of matplotlib: remove title, names"):
        record.plot("drops", ax=axes, title="Own", names={"x": "y"})
    pyplot.close("all")


def test_records_of_one_scenario_have_different_labels(record):
    other = headway.plot([record, record]).svg
    assert "\n(1)\n" in other
    assert "\n(2)\n" in other


def test_tables_are_read_by_column_and_row(record):
    flows = record.flows
    assert flows["name"] == ["ftp"]
    series = record.series
    frame = series.to_pandas()
    assert series["value"] == frame["value"].tolist()
    assert series["entity"] == frame["entity"].tolist()
    assert series[0] == frame.iloc[0].to_dict()
    assert series[-1] == frame.iloc[-1].to_dict()
    assert series.head(3) == series[:3] == [series[0], series[1], series[2]]
    assert series[5:0:-2] == [series[5], series[3], series[1]]
    assert len(list(series)) == len(series)
    with pytest.raises(IndexError, match="the table has"):
        series[len(series)]
    with pytest.raises(ValueError, match='there is no column "valeu"; did you mean "value"'):
        series["valeu"]


def test_tables_are_pickled_and_shown(record):
    for table in (record.series, record.flows, record.events):
        again = pickle.loads(pickle.dumps(table))
        assert pyarrow.table(again) == pyarrow.table(table)
    html = record.series._repr_html_()
    assert html.count("<tr>") == 11
    assert "more rows" in html


def test_sizes_of_figures_have_bounds(record):
    assert 'width="200"' in record.plot("throughput", size=(200, 4000)).svg
    assert record.plot("throughput", size_mm=(88.9, 60)).svg
    for size in ((100, 400), (800, 5000), (float("nan"), 400)):
        with pytest.raises(ValueError, match="expected px from 200 to 4000, or mm from 53 to 1058"):
            record.plot("throughput", size=size)
    with pytest.raises(ValueError, match="the size is 40 x 60; expected px"):
        record.plot("throughput", size_mm=(40, 60))


def test_a_name_without_a_label_is_a_warning(record):
    flow = record.summary["flows"][0]["name"]
    assert "Tom &amp; &quot;Jerry&quot;" in record.plot("throughput", names={flow: 'Tom & "Jerry"'}).svg
    with pytest.warns(UserWarning, match='names: no label is "nobody"'):
        record.plot("throughput", names={"nobody": "somebody"})


def test_a_record_without_drops_is_a_warning():
    links = [Link(("a", "b"), rate="300kbps", delay="5ms", queue={"kind": "droptail", "limit": "5packets"})]
    full = headway.Scenario(
        duration="4s", links=links, flows=[Flow("ftp", "a", "b", transport="tcp-reno", source="ftp")]
    )
    empty = headway.Scenario(
        duration="4s",
        links=links,
        flows=[Flow("cbr", "a", "b", transport="udp", source={"kind": "cbr", "rate": "50kbps", "size": "500B"})],
    )
    with pytest.warns(UserWarning, match="empty: no packet was dropped in this time"):
        headway.plot({"full": full.run(), "empty": empty.run()}, "drops")
