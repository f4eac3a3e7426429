"""Runs the programs and notebooks of the book and the READMEs."""

import re
import sys
import types

import matplotlib as mpl
import nbformat
import pytest
from cases import ROOT
from nbclient import NotebookClient

import headway

NOTEBOOKS = sorted((ROOT / "docs/src").glob("*/*.ipynb"))


@pytest.mark.parametrize("page", ["docs/src/python.md", "docs/src/tutorials/python-controller.md", "python/README.md"])
def test_programs_of_a_page_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    mpl.use("Agg")
    programs = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    assert programs
    # The programs of a page share their names.
    names = {"__name__": "page"}
    for program in programs:
        exec(compile(program, page, "exec"), names)
    assert names["record"].complete


def programs_of(page):
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)


def test_every_page_with_programs_has_a_test():
    """Regression test: a program on an untested page read a file that did not exist."""
    pages = [*(ROOT / "docs/src").rglob("*.md"), ROOT / "README.md", *(ROOT / "python").glob("*.md")]
    found = {str(page.relative_to(ROOT)) for page in pages if "```python" in page.read_text()}
    tested = {
        *("docs/src/python.md", "docs/src/sweeps.md", "docs/src/records.md", "README.md", "python/README.md"),
        *("docs/src/tutorials/python-controller.md", "docs/src/how-to/export-to-pandas.md"),
        "docs/src/how-to/use-from-python.md",
    }
    assert found == tested


def test_programs_of_the_sweeps_page_run(tmp_path, monkeypatch):
    distributed = pytest.importorskip("distributed")
    made = []

    class Cluster(distributed.LocalCluster):
        """Replaces a cluster on SLURM."""

        def __init__(self, cores, processes, memory, walltime):
            assert (cores, processes, memory, walltime) == (16, 16, "16GB", "01:00:00")
            super().__init__(n_workers=0, threads_per_worker=1, dashboard_address=None)
            made.append(self)

        def scale(self, jobs):
            super().scale(min(jobs, 1))

    jobqueue = types.ModuleType("dask_jobqueue")
    jobqueue.SLURMCluster = Cluster
    monkeypatch.setitem(sys.modules, "dask_jobqueue", jobqueue)
    monkeypatch.chdir(tmp_path)
    mpl.use("Agg")
    names = {"__name__": "page"}
    try:
        for program in programs_of("docs/src/sweeps.md"):
            exec(compile(program, "docs/src/sweeps.md", "exec"), names)
    finally:
        for cluster in made:
            cluster.close()
    assert names["frame"]["rate"].tolist() == [1_000_000, 2_000_000]


def test_query_of_the_sweeps_page_runs(tmp_path, monkeypatch):
    duckdb = pytest.importorskip("duckdb")
    pages = [page for page in (ROOT / "docs/src").rglob("*.md") if "```sql" in page.read_text()]
    assert [page.name for page in pages] == ["sweeps.md"]
    [query] = re.findall(r"```sql\n(.*?)```", pages[0].read_text(), re.DOTALL)
    flow = headway.Flow("tcp", "a", "b", transport="tcp-newreno", source="ftp")
    link = headway.Link(("a", "b"), rate="1Mbps", delay="5ms")
    study = headway.Scenario(name="study", duration="1s", links=[link], flows=[flow])
    monkeypatch.chdir(tmp_path)
    headway.sweep(study, {"link[0].rate": ["1Mbps", "2Mbps"]}, seeds=2)
    rows = duckdb.sql(query).fetchall()
    assert sorted(rate for rate, _ in rows) == [1_000_000, 2_000_000]
    assert all(0 < mean <= rate for rate, mean in rows)


def test_programs_of_the_records_page_run(tmp_path, monkeypatch):
    pytest.importorskip("duckdb")
    flow = headway.Flow("f", "a", "b", transport="tcp-newreno", source="ftp")
    link = headway.Link(("a", "b"), rate="2Mbps", delay="10ms", queue={"kind": "red"})
    scenario = headway.Scenario(duration="5s", links=[link], flows=[flow], record={"distributions": True})
    scenario.run(trace="packets").save(tmp_path / "record")
    monkeypatch.chdir(tmp_path / "record")
    mpl.use("Agg")
    for program in programs_of("docs/src/records.md"):
        exec(compile(program, "docs/src/records.md", "exec"), {"__name__": "page"})


def test_program_of_the_readme_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (scenario,) = re.findall(r"```toml\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)[:1]
    (tmp_path / "ftp.toml").write_text(scenario)
    names = {"__name__": "page"}
    for program in programs_of("README.md"):
        exec(compile(program, "README.md", "exec"), names)
    assert names["record"].complete


def test_programs_of_the_export_guide_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")
    page = "docs/src/how-to/export-to-pandas.md"
    with_package, without_package = programs_of(page)
    names = {"__name__": "page"}
    exec(compile(with_package, page, "exec"), names)
    assert len(names["flows"]) == 2
    names["record"].save("out/demo")
    headway.sweep(names["record"].scenario, {}, seeds=2, out="out/sweep")
    exec(compile(without_package, page, "exec"), names)
    assert len(names["runs"]) == 2


def test_program_of_the_guide_to_connections_runs(capsys):
    example, program = programs_of("docs/src/how-to/use-from-python.md")
    # The tests of connections run the example.
    assert example == "{{#include ../../../python/examples/send.py}}\n"
    exec(compile(program, "use-from-python.md", "exec"), {"__name__": "page"})
    assert capsys.readouterr().out == "b'HELLO'\n"


def names_of(program_with: str) -> dict:
    """Runs the program of the page that contains a text and returns its names."""
    page = (ROOT / "docs/src/python.md").read_text()
    program = next(text for text in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if program_with in text)
    names: dict = {"__name__": "page"}
    exec(compile(program, "docs/src/python.md", "exec"), names)
    return names


def test_controller_of_the_book_fills_its_link():
    record = names_of("class Receiver")["record"]
    assert record.metric("link[a->b].utilisation") > 0.8
    assert record.metric("flow[mine].loss_ratio") < 0.05


def test_results_of_the_queue_of_the_book():
    names = names_of("class Freshest")
    custom, built_in = (
        record.summary["flows"][0]["on_time_ratio"] for record in (names["record"], names["scenario"].run())
    )
    shares = [round(100 * share) for share in (custom["audio"], built_in["audio"], custom["video"], built_in["video"])]
    page = (ROOT / "docs/src/python.md").read_text()
    sound, sound_built_in, pictures, pictures_built_in = shares
    assert f"{sound} % of the audio packets and {pictures} % of the video packets\nare on time." in page
    assert f"With the scenario's `fifo` it is {sound_built_in} % and {pictures_built_in} %." in page


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path, tmp_path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert not any(cell.get("outputs") for cell in notebook.cells), "notebooks are stored without outputs"
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": tmp_path}}).execute()
    pictures = [
        output
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if "image/svg+xml" in output.get("data", {})
    ]
    assert pictures
