"""The cells of the comparison, and the scenarios that `headway lab` runs."""

import dataclasses

# Time of the media, after which a packet that has not arrived is lost, and the time before for the connection.
MEDIA_S, CONNECT_S, END_S = 20, 2, 2
# Rate of the data, and size of a datagram: seven packets of MPEG-TS.
RATE_BPS, DATAGRAM = 1.26e6, 1316
# Largest time from writing a datagram to its arrival at the receiving program.
DEADLINE_MS = 450
# Time for SRT's receiver to pass a packet on.
SLACK_MS = 20
SENDER, RECEIVER = "sender", "receiver"
TCP = 'transport = { kind = "kernel-tcp", congestion = "cubic" }\nsource = { kind = "ftp" }'
QUEUE = 'queue = { kind = "droptail", limit = "60packets" }'


@dataclasses.dataclass
class Cell:
    """A cell: its title, its link without delay and queue, its propagation delay each way, and whether a TCP connection uses the link, too,
    and then the length of the full queue."""

    title: str
    link: str
    delay_ms: int = 40
    cubic: bool = False
    queue_ms: int = 0


def _lossy(rate, percent):
    loss = f'\nloss = {{ kind = "bernoulli", probability = "{percent}%" }}' if percent else ""
    return f'rate = "{rate}Mbps"\n{QUEUE}{loss}'


CELLS = {f"{rate}M-{loss}%": Cell(f"{rate} Mb/s, {loss} % loss", _lossy(rate, loss)) for rate in (0.8, 1.5, 3) for loss in (0, 1, 3, 5)}
CELLS |= {
    f"3M-{2 * delay}ms-{loss}%": Cell(f"3 Mb/s, {2 * delay} ms, {loss} % loss", _lossy(3, loss), delay)
    for delay in (10, 100) for loss in (0, 1, 3)
}
CELLS |= {
    "3M-bursts": Cell("3 Mb/s, jitter, bursts of loss", f'rate = "3Mbps"\n{QUEUE}\n'
                      'jitter = { kind = "normal", mean = "10ms", deviation = "4ms" }\n'
                      'loss = { kind = "gilbert-elliott", mean = "2%", run = 4 }'),
    "3M-outage": Cell("3 Mb/s, outage of 3 s", f'rate = "3Mbps"\n{QUEUE}\nchanges = [{{ at = "{CONNECT_S + 8}s", rate = "0bps" }}, '
                      f'{{ at = "{CONNECT_S + 11}s", rate = "3Mbps" }}]'),
    "3M-cubic": Cell("3 Mb/s, next to TCP", _lossy(3, 0), cubic=True, queue_ms=240),
    "6M-cubic": Cell("6 Mb/s, next to TCP", _lossy(6, 0), cubic=True, queue_ms=120),
}


def latency_ms(name):
    """Returns the greatest latency of SRT that meets the deadline. SRT adds it to the delay of the path when it connects."""
    cell = CELLS[name]
    return DEADLINE_MS - cell.delay_ms - cell.queue_ms - SLACK_MS


def scenario(name, seed, ends):
    """Returns the scenario of a cell. `ends`: the commands of the sender and of the receiver of the media; without media, a second TCP
    connection takes its place."""
    cell = CELLS[name]
    media = f"program = '''{ends[0]}'''\nserver = '''{ends[1]}'''" if ends else TCP
    return f"""name = "media"
duration = "{CONNECT_S + MEDIA_S + END_S}s"
measure_from = "{CONNECT_S}s"
seed = {seed}

[[link]]
name = "access"
between = ["{SENDER}", "{RECEIVER}"]
delay = "{cell.delay_ms}ms"
{cell.link}
{_flow("media", media)}{_flow("cubic", TCP) if cell.cubic else ""}"""


def _flow(name, ends):
    return f'''
[[flow]]
name = "{name}"
from = "{SENDER}"
to = "{RECEIVER}"
{ends}
'''
