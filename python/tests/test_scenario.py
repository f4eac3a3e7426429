"""Scenarios: all sources give equal scenarios, and scenarios are immutable."""

import copy
import inspect
import pickle
from enum import Enum
from pathlib import Path

import numpy
import pytest
from cases import ROOT, TEXT

import headway
from headway import Attacker, Flow, Link, Node, Scenario, ScenarioError

TABLE = {
    "duration": "5s",
    "link": [{"between": ["r1", "r2"], "rate": "2Mbps", "delay": "10ms", "queue": {"kind": "red"}}],
    "flow": [
        {"name": "ftp", "from": "r1", "to": "r2", "transport": {"kind": "tcp-newreno"}, "source": {"kind": "ftp"}}
    ],
}


def test_text_dict_file_and_objects_are_equal(scenario, tmp_path):
    file = tmp_path / "scenario.toml"
    file.write_text(TEXT)
    assert Scenario.from_toml(TEXT) == Scenario.from_dict(TABLE) == Scenario.load(file) == scenario
    assert len({Scenario.from_toml(TEXT), scenario}) == 1


def test_properties_and_repr(scenario):
    assert (scenario.name, scenario.seed, scenario.duration_s) == ("scenario", 1, 5.0)
    assert (scenario.flows, scenario.links) == (["ftp"], ["r1->r2", "r2->r1"])
    assert repr(scenario) == "<Scenario 'scenario': 5 s, 1 flow, 2 links, seed 1>"
    assert Scenario.from_toml(TEXT, name="other").name == "other"


def test_resolved_text_is_equal_to_the_scenario(scenario):
    assert "min_threshold" in scenario.toml
    assert Scenario.from_toml(scenario.toml) == scenario


def test_set_returns_a_new_scenario(scenario):
    faster = scenario.set("link[0].rate", "4Mbps")
    assert "4Mbps" in faster.toml
    assert "4Mbps" not in scenario.toml
    assert faster != scenario
    assert faster.set("link[0].rate", "2Mbps") == scenario


def test_presets_depend_on_set_keys(scenario):
    assert "min_threshold" not in scenario.set("link[0].queue.kind", "droptail").toml


@pytest.mark.parametrize(
    "value", [{"kind": "red", "limit": "30packets"}, {"kind": "red", "limit": "30packets", "min_threshold": "5packets"}]
)
def test_set_accepts_a_table(scenario, value):
    assert "30packets" in scenario.set("link[0].queue", value).toml


def test_set_accepts_several_keys(scenario):
    both = scenario.set({"duration": "9s", "measure_from": "8s"})
    assert both == scenario.set("duration", "9s").set("measure_from", "8s")
    with pytest.raises(ScenarioError, match="measure_from"):
        scenario.set("measure_from", "8s")


def test_set_accepts_numpy_values(scenario):
    assert scenario.set("seed", numpy.int64(7)) == scenario.set("seed", 7)
    times = numpy.array(["0s"])
    assert scenario.set("flow[0].start", times) == scenario.set("flow[0].start", ["0s"])


@pytest.mark.parametrize("value", [None, object(), b"bytes", {1: "one"}, 1j])
def test_unsupported_types_are_refused(scenario, value):
    with pytest.raises(TypeError):
        scenario.set("link[0].rate", value)


@pytest.mark.parametrize("name", ['"quoted"', "a\\b", "tab\t", "new\nline", "\x7f", "\x00", "é", "😀", "'"])
def test_strings_are_escaped(scenario, name):
    with pytest.raises(ScenarioError) as wrong:
        scenario.set("link[0].queue.kind", name)
    # The reader parsed the generated TOML and looked for a queue of this kind.
    assert "queue" in wrong.value.message


def test_recursive_values_are_refused(scenario):
    table: dict = {}
    table["again"] = table
    array: list = []
    array.append(array)
    for value in (table, array):
        with pytest.raises(RecursionError, match="contain themselves"):
            scenario.set("link[0].queue", value)
    with pytest.raises(RecursionError):
        Scenario.from_dict(table)


def test_deep_and_large_values_are_refused(scenario):
    value: list = []
    for _ in range(60):
        value = [value]
    with pytest.raises(ScenarioError, match="nested more than 16 deep"):
        scenario.set("link[0].queue", value)
    value = []
    for _ in range(60):
        value = [value, value]
    for large in (value, range(10**12), "a" * (17 << 20)):
        with pytest.raises(ScenarioError, match="larger than 16777216 bytes"):
            scenario.set("link[0].queue", large)


class Upper(str):
    def __str__(self):
        return self.upper()

    __repr__ = __str__


class Kind(str, Enum):
    RED = "red"


class Number(int):
    def __repr__(self):
        return "a number"


class Real(float):
    def __repr__(self):
        return "a number"


@pytest.mark.parametrize(
    ("key", "value", "plain"),
    [
        ("link[0].rate", Upper("3Mbps"), "3Mbps"),
        ("link[0].queue.kind", Kind.RED, "red"),
        ("seed", Number(7), 7),
        ("duration", Real(7.5), "7500ms"),
        ("duration", numpy.float64(7.5), "7500ms"),
        ("link[0].one_way", numpy.bool_(False), False),
    ],
)
def test_subclasses_have_the_value_of_their_base(scenario, key, value, plain):
    assert scenario.set(key, value) == scenario.set(key, plain)


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1, 10**5000], ids=["2**63", "-2**63 - 1", "10**5000"])
def test_integers_above_64_bits_are_refused(scenario, number):
    for refused in (lambda: scenario.set("seed", number), lambda: Scenario.from_dict({**TABLE, "seed": number})):
        with pytest.raises(ScenarioError, match="is out of range: a whole number has at most 64 bits"):
            refused()
    assert scenario.set("seed", 2**63 - 1).seed == 2**63 - 1


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf"), numpy.float32("nan")])
def test_numbers_that_are_not_finite_are_refused_with_their_key(scenario, number):
    with pytest.raises(ScenarioError, match=r"^seed: .* is out of range"):
        scenario.set("seed", number)
    with pytest.raises(ScenarioError, match=r"seed: .* is out of range"):
        Scenario.from_dict({**TABLE, "seed": number})


def test_a_dict_is_written_in_its_order():
    scenario = Scenario.from_dict(TABLE)
    assert scenario.text.index("between") < scenario.text.index("rate") < scenario.text.index("delay")
    assert Scenario.from_toml(scenario.text) == scenario


@pytest.mark.parametrize("key", ["a b", "", "é", '"', "\n", "\x7f", "a.b"])
def test_keys_are_quoted(key):
    with pytest.raises(ScenarioError) as wrong:
        Scenario.from_dict({**TABLE, key: 1})
    assert "unknown key" in wrong.value.message


def test_paths_are_relative_to_the_scenario():
    demo = Scenario.load(ROOT / "scenarios/demo.toml")
    assert demo.run().fingerprint
    with pytest.raises(ScenarioError, match="cannot read"):
        Scenario.from_toml(demo.text, folder=ROOT)


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it))])
def test_copies_are_equal(scenario, again):
    faster = scenario.set("link[0].rate", "4Mbps")
    assert again(faster) == faster
    assert again(faster).set("seed", 2) == faster.set("seed", 2)


def test_pickles_contain_the_files(tmp_path):
    folder = tmp_path / "scenarios"
    folder.mkdir()
    names = ["demo.toml", "media/demo.txt"]
    source = Scenario.load(ROOT / "scenarios/demo.toml")
    (folder / names[0]).write_text(source.text)
    for name, contents in source._inner.files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(contents)
    pickled = pickle.dumps(Scenario.load(folder / names[0]))
    for file in folder.rglob("*"):
        if file.is_file():
            file.unlink()
    assert pickle.loads(pickled) == source
    assert pickle.loads(pickled).run().fingerprint == source.run().fingerprint


def test_warnings():
    (warning,) = Scenario.from_toml(TEXT + 'start = "6s"\n').warnings
    assert isinstance(warning, headway.Problem)
    assert (warning.key, warning.line) == ("flow[0].start", 14)
    assert "never starts" in warning.message
    assert Scenario.from_toml(TEXT).warnings == []


@pytest.mark.parametrize(
    ("part", "table"), [(Node, "NodeTable"), (Link, "LinkTable"), (Flow, "FlowTable"), (Attacker, "AttackerTable")]
)
def test_objects_have_the_keys_of_the_file(part, table):
    # The second node of a link is part of `between`.
    keys = {name.rstrip("_") for name in inspect.signature(part).parameters if name != "and_"}
    assert keys == set(headway.schema()["$defs"][table]["properties"])


def test_scenario_has_the_keys_of_the_file():
    keys = set(inspect.signature(Scenario).parameters) - {"folder"}
    several = {"nodes": "node", "links": "link", "flows": "flow", "attackers": "attacker"}
    assert {several.get(key, key) for key in keys} == set(headway.schema()["properties"]) - {"vary"}


def test_all_arguments_are_passed_to_the_reader():
    scenario = Scenario(
        name="harm",
        duration="5s",
        seed=3,
        nodes=[Node("r1", clock={"offset": "1ms"})],
        links=[Link(("r1", "m"), rate="2Mbps", delay="10ms"), Link(("m", "r2"), rate="2Mbps", delay="10ms")],
        flows=[Flow("call", "r1", "r2", transport={"kind": "dccp", "ccid": 3}, source="conference")],
        attackers=[Attacker("mallory", at="m", target="call", attack="flood")],
    )
    assert scenario.seed == 3
    assert scenario.run().summary["attackers"][0]["name"] == "mallory"


def test_objects_are_mappings():
    link = Link(("r1", "r2"), rate="2Mbps", queue="red")
    assert link == {"between": ("r1", "r2"), "rate": "2Mbps", "queue": {"kind": "red"}}
    assert repr(link) == "Link(between=('r1', 'r2'), rate='2Mbps', queue={'kind': 'red'})"
    assert pickle.loads(pickle.dumps(link)) == link


def test_load_accepts_str_and_path():
    assert Scenario.load(str(ROOT / "scenarios/red.toml")) == Scenario.load(Path(ROOT / "scenarios/red.toml"))


def test_a_wrong_argument_names_the_nearest_one():
    with pytest.raises(TypeError, match='Flow has no argument "sorce"; did you mean "source"'):
        Flow("ftp", "a", "b", transport="tcp-cubic", sorce="ftp")
    with pytest.raises(TypeError, match='Scenario has no argument "link"; did you mean "links"'):
        Scenario(duration="1s", link=[], flows=[])


def test_a_link_has_two_nodes():
    assert dict(Link("a", "b", rate="1Mbps")) == dict(Link(["a", "b"], rate="1Mbps"))
    for wrong in (("a",), (("a", "b"), "c")):
        with pytest.raises(TypeError, match="node"):
            Link(*wrong)
