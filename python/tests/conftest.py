"""What the tests share."""

import signal

import pytest

from headway import Flow, Link, Scenario


@pytest.fixture(autouse=True, scope="session")
def _ctrl_c() -> None:
    """A shell that starts the tests in the background has them, and what they start, ignore Ctrl-C."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def scenario() -> Scenario:
    """A download over a link of 2 Mb/s, 5 s."""
    return Scenario(
        duration="5s",
        links=[Link(("r1", "r2"), rate="2Mbps", delay="10ms", queue="red")],
        flows=[Flow("ftp", "r1", "r2", transport="tcp-newreno", source="ftp")],
    )


@pytest.fixture
def long() -> Scenario:
    """One that runs for minutes, if nobody stops it."""
    return Scenario(
        duration="100000s",
        links=[Link(("r1", "r2"), rate="100Mbps", delay="10ms")],
        flows=[Flow("ftp", "r1", "r2", transport="tcp-cubic", source="ftp", count=8)],
        record={"series": False},
    )
