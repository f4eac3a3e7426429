"""Errors say where, what, and what would be right; and are one tree."""

import pickle

import pytest
from cases import TEXT

import headway
from headway import Flow, Link, Record, Scenario, ScenarioError


def error_of(text: str) -> ScenarioError:
    with pytest.raises(ScenarioError) as wrong:
        Scenario.from_toml(text, name="wrong.toml")
    return wrong.value


def test_an_error_has_its_place():
    error = error_of(TEXT.replace("queue   =", "queu    ="))
    assert (error.file, error.line, error.column) == ("wrong.toml", 7, 1)
    assert 'did you mean "queue"' in error.message
    assert str(error).startswith("wrong.toml:7:1: link[0]: unknown key")
    assert "^^^" in str(error)


def test_all_that_is_wrong_is_told_at_once():
    error = error_of(TEXT.replace('"2Mbps"', '"fast"').replace('"10ms"', '"soon"'))
    assert [problem.key for problem in error.problems] == ["link[0].rate", "link[0].delay"]
    assert error.key == "link[0].rate"
    assert not error.more


def test_what_is_set_is_named():
    with pytest.raises(ScenarioError, match=r"^link\[0\].rate: ") as wrong:
        Scenario.from_toml(TEXT).set("link[0].rate", "fast")
    assert (wrong.value.line, wrong.value.key) == (None, "link[0].rate")


def test_a_dict_has_the_errors_of_a_file():
    flow = {"name": "f", "from": "a", "to": "b", "transport": {"kind": "udp"}, "source": {"kind": "ftp"}}
    table = {"duration": "5s", "link": [{"between": ["a", "b"], "rate": "fast", "delay": "1ms"}], "flow": [flow]}
    with pytest.raises(ScenarioError) as wrong:
        Scenario.from_dict(table)
    # Of the text that the dict is written as.
    assert (wrong.value.key, wrong.value.line) == ("link[0].rate", 5)
    assert 'rate = "fast"' in str(wrong.value)


def test_a_key_with_its_value_is_an_error():
    with pytest.raises(ScenarioError, match="not written with its value"):
        Scenario.from_toml(TEXT).set("link[0].rate=4Mbps", "4Mbps")
    with pytest.raises(TypeError, match="needs a value"):
        Scenario.from_toml(TEXT).set("link[0].rate")


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(ScenarioError, match="cannot be read: No such file") as wrong:
        Scenario.load(tmp_path / "absent.toml")
    assert isinstance(wrong.value.__cause__, FileNotFoundError)


def test_a_file_that_is_no_text(tmp_path):
    file = tmp_path / "binary.toml"
    file.write_bytes(b'duration = "5s"\nname = "\xff"\n')
    with pytest.raises(ScenarioError, match="not UTF-8") as wrong:
        Scenario.load(file)
    assert (wrong.value.line, wrong.value.column) == (2, 9)


def test_what_varies_is_no_single_run():
    scenario = Scenario.from_toml(TEXT + '[vary]\n"link[0].rate" = ["1Mbps", "2Mbps"]\n')
    with pytest.raises(ScenarioError, match="this is 2 runs"):
        scenario.run()
    assert scenario.set("link[0].rate", "1Mbps").run().complete


def test_a_run_that_cannot_go_on_has_its_record():
    flood = Scenario(
        duration="10s",
        links=[Link(("a", "b"), rate="1Tbps", delay="100s", queue={"kind": "droptail", "limit": "10packets"})],
        flows=[Flow("f", "a", "b", transport="udp", source={"kind": "cbr", "rate": "50Gbps", "size": "1000B"})],
        record={"series": False},
    )
    with pytest.raises(headway.RunError, match="packets under way") as failed:
        flood.run()
    assert not failed.value.record.complete
    assert Record.of(failed.value) is failed.value.record
    assert Record.of(ValueError()) is None
    assert failed.value.record.summary["packet_hops"] == 0


def test_a_metric_that_is_none(scenario):
    record = scenario.run()
    for expression, message in [
        ("mean(", "mean"),
        ("flow[udp].throughput_bps", 'there is no flow "udp"'),
        ("flow[ftp].nothing", 'there is no "nothing"'),
    ]:
        with pytest.raises(headway.MetricError, match=message.replace("(", r"\(")) as wrong:
            record.metric(expression)
        assert wrong.value.expression == expression


def test_a_folder_that_is_no_record(tmp_path):
    with pytest.raises(headway.RecordError, match=r"summary\.json"):
        Record.load(tmp_path)


def test_a_folder_of_others_is_left_alone(scenario, tmp_path):
    (tmp_path / "thesis.tex").write_text("years")
    with pytest.raises(headway.RecordError, match="holds files that Headway has not left there"):
        scenario.run().save(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_record_that_is_damaged(scenario, tmp_path):
    scenario.run().save(tmp_path / "record")
    series = tmp_path / "record" / "series.arrow"
    series.write_bytes(series.read_bytes()[:-20])
    with pytest.raises(headway.RecordError, match=r"series\.arrow"):
        Record.load(tmp_path / "record")


def test_one_tree():
    errors = [headway.ScenarioError, headway.RunError, headway.RecordError, headway.MetricError]
    assert all(issubclass(error, headway.Error) for error in errors)


def test_errors_can_be_sent(scenario):
    error = error_of("duration = 5")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.problems, again.more) == (str(error), error.problems, error.more)
    run = headway.RunError("too much", scenario.run())
    again = pickle.loads(pickle.dumps(run))
    assert (str(again), again.record.fingerprint) == ("too much", run.record.fingerprint)


def test_a_trace_that_there_is_not(scenario):
    with pytest.raises(ValueError, match="there are ns2, nam, pcapng, packets and perfetto"):
        scenario.run(trace="pcap")
