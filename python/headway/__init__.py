"""Python interface to Headway: scenarios, runs and records of the simulator, and real sockets.

>>> import headway
>>> scenario = headway.Scenario.from_toml('''
... duration = "5s"
... [[link]]
... between = ["r1", "r2"]
... rate    = "2Mbps"
... delay   = "10ms"
... [[flow]]
... name      = "ftp"
... from      = "r1"
... to        = "r2"
... transport = { kind = "tcp-cubic" }
... source    = { kind = "ftp" }
... ''')
>>> record = scenario.run(seed=7)
>>> record.complete, record.summary["seed"]
(True, 7)

A connection over real sockets:

>>> with headway.listen("127.0.0.1:0") as listener:
...     connection = headway.connect(listener.address, trust=listener.fingerprint)
...     number = connection.send(b"hello", deadline=5)
...     accepted = listener.accept()
>>> accepted.recv()
b'hello'
>>> connection.close()
"""

from ._connection import Connection, Listener, connect, connect_async, listen
from ._controllers import Controller, ReceiverContext, ReceiverHalf, SenderContext, SenderHalf, Status
from ._errors import (
    ConnectionClosed,
    DatagramTooLarge,
    Error,
    MetricError,
    Problem,
    RecordError,
    RunError,
    ScenarioError,
    SocketError,
)
from ._events import Event, Statistics
from ._figures import FIGURES, Figure, plot
from ._native import VERSION as __version__
from ._native import Feedback, Identity, Packet, Waiting
from ._parts import Attacker, Flow, Link, Node
from ._queues import SendQueue
from ._record import Record
from ._scenario import Scenario, schema
from ._summary import FlowSummary, LinkSummary, Summary
from ._sweep import ResultTable, SweepResult, sweep
from ._table import Table

__all__ = [
    "FIGURES",
    "Attacker",
    "Connection",
    "ConnectionClosed",
    "Controller",
    "DatagramTooLarge",
    "Error",
    "Event",
    "Feedback",
    "Figure",
    "Flow",
    "FlowSummary",
    "Identity",
    "Link",
    "LinkSummary",
    "Listener",
    "MetricError",
    "Node",
    "Packet",
    "Problem",
    "ReceiverContext",
    "ReceiverHalf",
    "Record",
    "RecordError",
    "ResultTable",
    "RunError",
    "Scenario",
    "ScenarioError",
    "SendQueue",
    "SenderContext",
    "SenderHalf",
    "SocketError",
    "Statistics",
    "Status",
    "Summary",
    "SweepResult",
    "Table",
    "Waiting",
    "__version__",
    "connect",
    "connect_async",
    "listen",
    "plot",
    "schema",
    "sweep",
]
