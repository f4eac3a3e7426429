"""What the book and the README show can be run as it stands."""

import re
import sys
import types

import matplotlib as mpl
import nbformat
import pytest
from cases import ROOT
from nbclient import NotebookClient

import headway

NOTEBOOKS = sorted((ROOT / "docs/src/notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("page", ["docs/src/python.md", "python/README.md"])
def test_the_programs_of_a_page_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    mpl.use("Agg")
    programs = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    assert programs
    # One after another, as a reader would type them.
    names = {"__name__": "page"}
    for program in programs:
        exec(compile(program, page, "exec"), names)
    assert names["record"].complete


def programs_of(page):
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)


def test_every_page_with_programs_has_a_test():
    """A page named a file that there was not."""
    pages = [*(ROOT / "docs/src").rglob("*.md"), ROOT / "README.md", *(ROOT / "python").glob("*.md")]
    found = {str(page.relative_to(ROOT)) for page in pages if "```python" in page.read_text()}
    tested = {"docs/src/python.md", "docs/src/sweeps.md", "docs/src/records.md", "README.md", "python/README.md"}
    assert found == tested


def test_the_programs_of_the_sweeps_run(tmp_path, monkeypatch):
    distributed = pytest.importorskip("distributed")
    made = []

    class Cluster(distributed.LocalCluster):
        """Stands for a cluster on SLURM, of which there is none here."""

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


def test_the_query_of_the_sweeps_runs(tmp_path, monkeypatch):
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


def test_the_programs_of_the_records_run(tmp_path, monkeypatch):
    pytest.importorskip("duckdb")
    flow = headway.Flow("f", "a", "b", transport="tcp-newreno", source="ftp")
    link = headway.Link(("a", "b"), rate="2Mbps", delay="10ms", queue={"kind": "red"})
    scenario = headway.Scenario(duration="5s", links=[link], flows=[flow], record={"distributions": True})
    scenario.run(trace="packets").save(tmp_path / "record")
    monkeypatch.chdir(tmp_path / "record")
    mpl.use("Agg")
    for program in programs_of("docs/src/records.md"):
        exec(compile(program, "docs/src/records.md", "exec"), {"__name__": "page"})


def test_the_program_of_the_readme_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (scenario,) = re.findall(r"```toml\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)[:1]
    (tmp_path / "ftp.toml").write_text(scenario)
    names = {"__name__": "page"}
    for program in programs_of("README.md"):
        exec(compile(program, "README.md", "exec"), names)
    assert names["record"].complete


def names_of(program_with: str) -> dict:
    """What a program of the book leaves, run by itself."""
    page = (ROOT / "docs/src/python.md").read_text()
    program = next(text for text in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if program_with in text)
    names: dict = {"__name__": "page"}
    exec(compile(program, "docs/src/python.md", "exec"), names)
    return names


def test_the_controller_of_the_book_fills_its_link():
    record = names_of("class Receiver")["record"]
    assert record.metric("link[a->b].utilisation") > 0.8
    assert record.metric("flow[mine].loss_ratio") < 0.05


def test_the_queue_of_the_book_does_what_the_book_says():
    names = names_of("class Freshest")
    ours, theirs = (
        record.summary["flows"][0]["on_time_ratio"] for record in (names["record"], names["scenario"].run())
    )
    shares = [round(100 * share) for share in (ours["audio"], theirs["audio"], ours["video"], theirs["video"])]
    page = (ROOT / "docs/src/python.md").read_text()
    sound, sound_before, pictures, pictures_before = shares
    assert f"sound {sound} % is in time, in place of {sound_before} %" in page
    assert f"pictures {pictures} %, in place of {pictures_before} %" in page


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path, tmp_path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert not any(cell.get("outputs") for cell in notebook.cells), "what it prints is made when it is run"
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": tmp_path}}).execute()
    pictures = [
        output for cell in notebook.cells for output in cell.get("outputs", []) if "image/png" in output.get("data", {})
    ]
    assert pictures
