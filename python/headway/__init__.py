"""Python interface to the Headway network simulator: scenarios, runs and records.

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
"""

from ._controllers import Controller, ReceiverContext, ReceiverHalf, SenderContext, SenderHalf, Status
from ._errors import Error, MetricError, Problem, RecordError, RunError, ScenarioError
from ._figures import FIGURES
from ._native import VERSION as __version__
from ._native import Feedback, Packet, Waiting
from ._parts import Attacker, Flow, Link, Node
from ._queues import SendQueue
from ._record import Record
from ._scenario import Scenario, schema
from ._sweep import ResultTable, SweepResult, sweep
from ._table import Table

__all__ = [
    "FIGURES",
    "Attacker",
    "Controller",
    "Error",
    "Feedback",
    "Flow",
    "Link",
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
    "Status",
    "SweepResult",
    "Table",
    "Waiting",
    "__version__",
    "schema",
    "sweep",
]
