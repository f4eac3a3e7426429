"""The jobs: a star of N clients, as a scenario for Headway."""

import dataclasses
import pathlib

HERE = pathlib.Path(__file__).resolve().parent
# A run of this duration consists of start-up and record only: no packet has passed the bottleneck yet.
STARTUP_S = 0.02


@dataclasses.dataclass(frozen=True)
class Job:
    """`kind` is tcp (each client sends a file through N Mb/s), media (a video call over DCCP with CCID 3 and a file of each client share 2N Mb/s behind
    FQ-CoDel), or what carries 3 Mb/s of each client through 155 Mb/s: cbr (UDP), tfrc (TFRC between bare agents) or dccp (DCCP with CCID 3)."""

    name: str
    kind: str
    clients: int
    seconds: float
    red: bool = False
    series: bool = False
    # ns-2's order of ties instead of a random one: then every busy link makes two events per packet.
    scheduled: bool = False


JOBS = [Job("tcp-50", "tcp", 50, 100), Job("cbr-50", "cbr", 50, 100), Job("tcp-500", "tcp", 500, 20), Job("tcp-5000", "tcp", 5000, 5)]


# Calls and downloads with current protocols.
MEDIA = Job("media-50", "media", 50, 40, series=True)
# As many data packets as cbr-50 sends, under rate control.
CONTROLLED = [Job("tfrc-50", "tfrc", 50, 100), Job("dccp-50", "dccp", 50, 100)]


def link(ends, rate_mbps, delay_ms, queue, one_way=False):
    return (f'[[link]]\nbetween = ["{ends[0]}", "{ends[1]}"]\none_way = {str(one_way).lower()}\nrate = "{rate_mbps}Mbps"\n'
            f'delay = "{delay_ms}ms"\nqueue = {{ kind = {queue} }}\n')


# Audio and video with a lifetime of 200 ms, in packets of all sizes.
CALL = 'kind = "conference", lifetime = "200ms", random_start = true'


def media(job, seconds):
    """Returns a scenario in which each client has a call and a download."""
    flow = '[[flow]]\nname = "{}"\nfrom = "client"\nto = "server"\nstart = {{ uniform = ["0s", "500ms"] }}\ntransport = {{ {} }}\nsource = {{ {} }}\n'
    return "".join([
        f'name = "{job.name}"\nduration = "{seconds}s"\ndialect = "rfc"\nrecord.series = "100ms"\n[[node]]\nname = "client"\ncount = {job.clients}\n',
        link(["client", "gateway"], 20, 3, '"droptail", limit = "1000packets"'),
        link(["gateway", "server"], 2 * job.clients, 10, '"fq-codel"'),
        flow.format("call", 'kind = "dccp", ccid = 3', CALL), 'send_queue = { kind = "sfdps2" }\n',
        flow.format("file", 'kind = "tcp-cubic"', 'kind = "ftp"'),
    ])


def scenario(job, seconds):
    """Returns the job as a scenario; star.tcl is the same for ns-2."""
    if job.kind == "media":
        return media(job, seconds)
    bottleneck_mbps, limit = (job.clients, 2 * job.clients) if job.kind == "tcp" else (155, 1000)
    bottleneck = f'"red", limit = "{limit}packets", mean_packet = "1500B"' if job.red else f'"droptail", limit = "{limit}packets"'
    if job.kind == "tcp":
        starts = [f"{10 * (client % 100)}ms" for client in range(job.clients)]
        transport, source = 'kind = "tcp-newreno", window = "64packets", segment = "1500B"', 'kind = "ftp"'
    else:
        starts = [f"{77 * client}us" for client in range(job.clients)]
        transport = {"cbr": 'kind = "udp", datagram = "1500B"', "tfrc": 'kind = "tfrc", datagram = "1500B", header = "0B"',
                     "dccp": 'kind = "dccp", ccid = 3'}[job.kind]
        # The same number of packets for each; slightly smaller if further headers must fit into 1500 B.
        rate, size = ("3Mbps", "1500B") if job.kind == "cbr" else ("2.8Mbps", "1400B")
        source = f'kind = "cbr", rate = "{rate}", size = "{size}"'
    return "".join([
        f'name = "{job.name}"\nduration = "{seconds}s"\ndialect = "{"rfc" if job.kind == "dccp" else "ns2"}"\n'
        f'ties = "{"scheduled" if job.scheduled else "drawn"}"\n',
        "" if job.series else "record.series = false\n",
        f'[[node]]\nname = "client"\ncount = {job.clients}\n',
        link(["client", "gateway"], 10, 3, '"droptail", limit = "1000packets"'),
        link(["gateway", "server"], bottleneck_mbps, 10, bottleneck, one_way=True),
        link(["server", "gateway"], bottleneck_mbps, 10, '"droptail", limit = "100000packets"', one_way=True),
        f'[[flow]]\nname = "flow"\nfrom = "client"\nto = "server"\nstart = {starts}\n'.replace("'", '"'),
        f"transport = {{ {transport} }}\nsource = {{ {source} }}\n",
    ])


def headway_command(headway, job, seconds, folder):
    """Returns the command that runs the job, and the folder of its record."""
    path, record = folder / "scenario.toml", folder / "record"
    path.write_text(scenario(job, seconds))
    return [headway, "run", path, "--out", record, "--quiet"], record
