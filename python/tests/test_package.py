"""The package: imports, exports, examples and version."""

import doctest
import importlib
import subprocess
import sys
import types

import pytest

import headway

HEAVY = ["numpy", "pyarrow", "pandas", "polars", "matplotlib"]


def python(program: str) -> str:
    # Isolated mode ignores a folder `headway` in the current directory, which lacks the extension
    # module.
    ran = subprocess.run([sys.executable, "-I", "-c", program], check=True, capture_output=True, text=True)
    return ran.stdout


def test_import_loads_no_large_library():
    loaded = python("import sys, headway; print(*sorted({name.partition('.')[0] for name in sys.modules}))").split()
    assert "headway" in loaded
    assert not set(HEAVY) & set(loaded)


def test_all_lists_the_public_names():
    # Ignore submodules that other tests have imported, such as headway.gym.
    named = {name for name, what in vars(headway).items() if not isinstance(what, types.ModuleType)}
    public = {name for name in named if not name.startswith("_")} | {"__version__"}
    assert set(headway.__all__) == public


@pytest.mark.parametrize("module", ["headway", "headway._scenario"])
def test_docstring_examples(module):
    found = importlib.import_module(module)
    names = {name: getattr(headway, name) for name in headway.__all__}
    results = doctest.testmod(found, extraglobs=names)
    assert results.attempted
    assert not results.failed
