"""Fixtures of all tests."""

import os
import signal
import subprocess

import pytest

from headway import Flow, Link, Scenario


@pytest.fixture(autouse=True, scope="session")
def _ctrl_c() -> None:
    """Enables Ctrl-C: a shell that starts the tests in the background sets SIGINT to be ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def scenario() -> Scenario:
    """Returns a scenario with a 5 s download over a link of 2 Mb/s."""
    return Scenario(
        duration="5s",
        links=[Link(("r1", "r2"), rate="2Mbps", delay="10ms", queue="red")],
        flows=[Flow("ftp", "r1", "r2", transport="tcp-newreno", source="ftp")],
    )


@pytest.fixture
def long() -> Scenario:
    """Returns a scenario that runs for minutes unless it is stopped."""
    return Scenario(
        duration="100000s",
        links=[Link(("r1", "r2"), rate="100Mbps", delay="10ms")],
        flows=[Flow("ftp", "r1", "r2", transport="tcp-cubic", source="ftp", count=8)],
        record={"series": False},
    )


@pytest.fixture
def program():
    """Returns a function that runs `headway`, whose path is in HEADWAY, with arguments."""
    path = os.environ.get("HEADWAY")
    if path is None:
        pytest.skip("HEADWAY is not set to a program")
    return lambda *arguments: subprocess.run([path, *map(str, arguments)], check=True, capture_output=True, text=True)
