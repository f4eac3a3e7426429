"""The package itself: what it imports, what it exports."""

import doctest
import importlib
import subprocess
import sys
import types

import pytest

import headway

HEAVY = ["numpy", "pyarrow", "pandas", "polars", "matplotlib"]


def python(program: str) -> str:
    # Not where the tests run: a folder `headway` without the module in Rust may lie there.
    ran = subprocess.run([sys.executable, "-I", "-c", program], check=True, capture_output=True, text=True)
    return ran.stdout


def test_the_import_brings_no_library_along():
    loaded = python("import sys, headway; print(*sorted({name.partition('.')[0] for name in sys.modules}))").split()
    assert "headway" in loaded
    assert not set(HEAVY) & set(loaded)


def test_all_is_what_can_be_imported():
    # Modules that others have imported, such as headway.gym, are none of its names.
    named = {name for name, what in vars(headway).items() if not isinstance(what, types.ModuleType)}
    public = {name for name in named if not name.startswith("_")} | {"__version__"}
    assert set(headway.__all__) == public


@pytest.mark.parametrize("module", ["headway", "headway._scenario"])
def test_examples_are_true(module):
    found = importlib.import_module(module)
    names = {name: getattr(headway, name) for name in headway.__all__}
    results = doctest.testmod(found, extraglobs=names)
    assert results.attempted
    assert not results.failed


def test_the_version_is_that_of_the_wheel():
    from importlib.metadata import version

    assert headway.__version__ == version("headway")
