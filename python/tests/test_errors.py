"""Errors: place, message, expected values, and the class hierarchy."""

import pickle

import pytest
from cases import TEXT

import headway
from headway import Flow, Link, Record, Scenario, ScenarioError


def error_of(text: str) -> ScenarioError:
    with pytest.raises(ScenarioError) as wrong:
        Scenario.from_toml(text, name="wrong.toml")
    return wrong.value


def test_errors_have_file_line_and_column():
    error = error_of(TEXT.replace("queue   =", "queu    ="))
    assert (error.file, error.line, error.column) == ("wrong.toml", 7, 1)
    assert 'did you mean "queue"' in error.message
    assert str(error).startswith("wrong.toml:7:1: link[0]: unknown key")
    assert "^^^" in str(error)


def test_all_problems_are_reported_at_once():
    error = error_of(TEXT.replace('"2Mbps"', '"fast"').replace('"10ms"', '"soon"'))
    assert [problem.key for problem in error.problems] == ["link[0].rate", "link[0].delay"]
    assert error.key == "link[0].rate"
    assert not error.more


def test_errors_name_the_key_that_was_set():
    with pytest.raises(ScenarioError, match=r"^link\[0\].rate: ") as wrong:
        Scenario.from_toml(TEXT).set("link[0].rate", "fast")
    assert (wrong.value.line, wrong.value.key) == (None, "link[0].rate")


def test_dicts_have_the_errors_of_files():
    flow = {"name": "f", "from": "a", "to": "b", "transport": {"kind": "udp"}, "source": {"kind": "ftp"}}
    table = {"duration": "5s", "link": [{"between": ["a", "b"], "rate": "fast", "delay": "1ms"}], "flow": [flow]}
    with pytest.raises(ScenarioError) as wrong:
        Scenario.from_dict(table)
    # The line number refers to the generated TOML text.
    assert (wrong.value.key, wrong.value.line) == ("link[0].rate", 5)
    assert 'rate = "fast"' in str(wrong.value)


def test_set_refuses_a_key_with_its_value():
    with pytest.raises(ScenarioError, match='cannot contain "="'):
        Scenario.from_toml(TEXT).set("link[0].rate=4Mbps", "4Mbps")
    with pytest.raises(TypeError, match="needs a value"):
        Scenario.from_toml(TEXT).set("link[0].rate")


def test_missing_file(tmp_path):
    with pytest.raises(ScenarioError, match="cannot be read: No such file") as wrong:
        Scenario.load(tmp_path / "absent.toml")
    assert isinstance(wrong.value.__cause__, FileNotFoundError)


def test_file_that_is_not_utf_8(tmp_path):
    file = tmp_path / "binary.toml"
    file.write_bytes(b'duration = "5s"\nname = "\xff"\n')
    with pytest.raises(ScenarioError, match="not UTF-8") as wrong:
        Scenario.load(file)
    assert (wrong.value.line, wrong.value.column) == (2, 9)


def test_run_refuses_a_scenario_that_varies():
    scenario = Scenario.from_toml(TEXT + '[vary]\n"link[0].rate" = ["1Mbps", "2Mbps"]\n')
    with pytest.raises(ScenarioError, match="describes 2 runs"):
        scenario.run()
    assert scenario.set("link[0].rate", "1Mbps").run().complete


def test_run_error_has_a_partial_record():
    flood = Scenario(
        duration="10s",
        links=[Link(("a", "b"), rate="1Tbps", delay="100s", queue={"kind": "droptail", "limit": "10packets"})],
        flows=[Flow("f", "a", "b", transport="udp", source={"kind": "cbr", "rate": "50Gbps", "size": "1000B"})],
        record={"series": False},
    )
    with pytest.raises(headway.RunError, match="packets are in the network") as failed:
        flood.run()
    assert not failed.value.record.complete
    assert Record.of(failed.value) is failed.value.record
    assert Record.of(ValueError()) is None
    assert failed.value.record.summary["packet_hops"] == 0


def test_invalid_metrics(scenario):
    record = scenario.run()
    for expression, message in [
        ("mean(", "mean"),
        ("flow[udp].throughput_bps", 'there is no flow "udp"'),
        ("flow[ftp].nothing", 'there is no "nothing"'),
    ]:
        with pytest.raises(headway.MetricError, match=message.replace("(", r"\(")) as wrong:
            record.metric(expression)
        assert wrong.value.expression == expression


def test_folder_without_a_record(tmp_path):
    with pytest.raises(headway.RecordError, match=r"summary\.json"):
        Record.load(tmp_path)


def test_save_does_not_overwrite_other_files(scenario, tmp_path):
    (tmp_path / "thesis.tex").write_text("years")
    with pytest.raises(headway.RecordError, match="holds files that Headway did not write"):
        scenario.run().save(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.tex"]


def test_damaged_record(scenario, tmp_path):
    scenario.run().save(tmp_path / "record")
    series = tmp_path / "record" / "series.arrow"
    series.write_bytes(series.read_bytes()[:-20])
    with pytest.raises(headway.RecordError, match=r"series\.arrow"):
        Record.load(tmp_path / "record")


@pytest.mark.parametrize("name", ["summary.json", "series.arrow", "events.arrow"])
def test_every_changed_byte_of_a_record_is_found(name, scenario, tmp_path):
    scenario.run().save(tmp_path / "record")
    file = tmp_path / "record" / name
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    with pytest.raises(headway.RecordError, match=f"{name}: the file was damaged or edited"):
        Record.load(tmp_path / "record")


def test_errors_share_a_base_class():
    errors = [headway.ScenarioError, headway.RunError, headway.RecordError, headway.MetricError]
    assert all(issubclass(error, headway.Error) for error in errors)


def test_errors_can_be_pickled(scenario):
    error = error_of("duration = 5")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.problems, again.more) == (str(error), error.problems, error.more)
    run = headway.RunError("too much", scenario.run())
    again = pickle.loads(pickle.dumps(run))
    assert (str(again), again.record.fingerprint) == ("too much", run.record.fingerprint)


def test_unknown_trace_format(scenario):
    with pytest.raises(
        ValueError, match=r'there is no trace format ".*"; .*nown are ns2, nam, pcapng, packets, perfetto'
    ):
        scenario.run(trace="pcap")
