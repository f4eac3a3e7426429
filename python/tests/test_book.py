"""What the book and the README show can be run as it stands."""

import re

import matplotlib as mpl
import pytest
from cases import ROOT


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


def test_the_controller_of_the_book_fills_its_link(tmp_path):
    page = (ROOT / "docs/src/python.md").read_text()
    names = {"__name__": "page"}
    for program in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(compile(program, "docs/src/python.md", "exec"), names)
    assert names["record"].metric("link[a->b].utilisation") > 0.8
    assert names["record"].metric("flow[mine].loss_ratio") < 0.05
