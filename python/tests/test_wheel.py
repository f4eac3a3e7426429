"""Tests of the installed wheel."""

from importlib.metadata import version

import headway


def test_version_equals_that_of_the_wheel():
    assert headway.__version__ == version("headway")
