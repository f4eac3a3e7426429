"""Stores ns-2's results for the local network, for machines without ns-2."""

import shutil
import statistics
import subprocess

from common import program, student
import lan

# For the tables of a paper, and for an ordinary test.
FIGURES = program.ROOT / "papers" / "lan-queues" / "ns2.csv"
RUNS = program.ROOT / "crates" / "simulator" / "sim" / "tests" / "data" / "ns2-lan" / "udp-mix.csv"
# Seeds of the UDP cells that the test runs; it runs all seeds of the mixed cells.
UDP_SEEDS = range(1, 4)
NETWORK = f"N clients -10 Mb/s, 3 ms- router -50 Mb/s, 10 ms- server, {lan.SECONDS} s, packets of 1500 B"
LIMITS = (f"# One kind of queue everywhere, of {lan.ACCESS_LIMIT} packets at the clients' links and {lan.BOTTLENECK_LIMIT} at the "
          f"server's ({lan.UDP_BOTTLENECK_LIMIT} without TCP); RED with\n# automatic parameters. TCP: Reno, window 10000 packets. "
          "UDP: 10 Mb/s a client.")


def version():
    """Returns the version of ns-2."""
    number = subprocess.run(["ns", "-"], input="puts [ns-version]\n", check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    package = ""
    if shutil.which("dpkg-query"):
        found = subprocess.run(["dpkg-query", "--show", "--showformat=${Version}", "ns2"], stdout=subprocess.PIPE, text=True)
        package = f" (Debian ns2 {found.stdout})" if found.returncode == 0 else ""
    return f"ns-{number}{package}"


def write(all_runs):
    """Writes both files."""
    source = version()
    FIGURES.parent.mkdir(parents=True, exist_ok=True)
    FIGURES.write_text("".join(f"{line}\n" for line in figures(source, all_runs)))
    RUNS.write_text("".join(f"{line}\n" for line in runs(source, all_runs)))
    return [FIGURES, RUNS]


def figures(source, all_runs):
    """Returns the mean of each metric over the runs, and half its 95 % interval."""
    yield f"# {source}: {NETWORK}."
    yield f"{LIMITS} Starts uniform in 0 to 0.1 s."
    yield "# Delay A: from the client's queue to the server; B: from the start of transmission at the client; C: B without that"
    yield "# transmission's 1.2 ms; D: A of data and acknowledgements together. Losses: of the data sent; all drops of all packets sent."
    yield "# ci95: half the 95 % interval (Student) of the mean over the runs. Made by `validation/ns2/run --only lan --store`."
    yield "cell,metric,mean,ci95,runs"
    for cell, runs in all_runs.items():
        for metric in lan.METRICS:
            values = [run.ns2[metric] for run in runs]
            half = student.interval(values)
            yield f"{cell.name},{metric},{statistics.fmean(values):.7g},{'' if half is None else f'{half:.3g}'},{len(values)}"


def runs(source, all_runs):
    """Returns the runs of the cells with UDP, with the values that are needed to repeat them."""
    yield f"# {source}: {NETWORK}."
    yield LIMITS
    yield "# Starts in s, a client each, first TCP, then UDP; phases of TCP's clocks in ticks of 10 ms."
    yield "# Made by `validation/ns2/run --only lan --store`."
    yield ",".join(["cell", "tcp", "udp", "seed", "starts_s", "clock_phases", *lan.COMPARED])
    for cell, runs in all_runs.items():
        for run in runs:
            if cell.udp and (cell.tcp or run.seed in UDP_SEEDS):
                phases = " ".join(f"{float(phase):.9f}" for phase in run.phases)
                yield ",".join([cell.name, str(cell.tcp), str(cell.udp), str(run.seed), " ".join(run.starts), phases,
                                *(f"{run.ns2[metric]:.7g}" for metric in lan.COMPARED)])
