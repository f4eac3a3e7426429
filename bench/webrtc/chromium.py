"""Runs a call within one page of Chromium over `headway proxy`, in a separate network namespace."""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import capture
import links
from call import server

HERE = pathlib.Path(__file__).resolve().parent
BROWSERS = ("chromium-headless-shell", "chromium")
# WebRTC hides the addresses of a page that does not use the camera; this page draws its picture.
OPTIONS = (
    "--headless", "--no-sandbox", "--remote-debugging-port=0", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-features=WebRtcHideLocalIpsWithMdns",
)
# Field trials of Chromium for each controller.
TRIALS = {
    "gcc": "",
    "scream2": "WebRTC-Bwe-ScreamV2/Enabled/WebRTC-RFC8888CongestionControlFeedback/Enabled,offer:true/",
}
TOOLS = {"unshare": "util-linux", "ip": "iproute2", "chrt": "util-linux"}
# Address of the sender, the link and the receiver. WebRTC uses the addresses of the default route only.
ADDRESS, GATEWAY = "10.77.0.1", "10.77.0.2"
NETWORK = (
    "link set lo up", "link add v0 type veth peer name v1", f"addr add {ADDRESS}/24 dev v0", "link set v0 up", "link set v1 up",
    f"route add default via {GATEWAY}",
)
LINK_PORT = 7000
# The emulator runs before all other programs, since the browser needs a whole processor at times.
PRIORITY = ("chrt", "--fifo", "1")
OPENING_S, CONNECTING_S = 60, 20
# The page reports each second.
REPORT_S = 1.5


class Failed(Exception):
    """A call that has no figures."""


def browser():
    """Returns the path of Chromium."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    return found or sys.exit("Chromium was not found (Debian: apt-get install chromium-headless-shell)")


def check():
    """Ends the command with a sentence if a right or a program is missing."""
    if os.geteuid():
        sys.exit("the measurement needs root: it makes a network namespace for each call")
    for tool, package in TOOLS.items():
        if not shutil.which(tool):
            sys.exit(f"{tool} was not found (Debian: apt-get install {package})")
    browser()


def version():
    """Returns the version of Chromium."""
    shown = subprocess.run([browser(), "--version", "--no-sandbox"], check=True, capture_output=True, text=True).stdout
    return next(word for word in shown.split() if word[0].isdigit())


def isolated(*words):
    """Returns a command that runs in new namespaces. All its processes end with it."""
    return ["unshare", "--net", "--pid", "--fork", "--kill-child", "--mount-proc", *words]


class Site(server.Call):
    """The server of page.html."""

    def __init__(self, report):
        super().__init__(0, report)
        self.RequestHandlerClass = Handler

    def __enter__(self):
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()

    def offer(self):
        """Waits for the address of the receiver."""
        with self.posted:
            if not self.posted.wait_for(lambda: "/offer" in self.descriptions, OPENING_S):
                raise Failed(f"the page did not report the receiver's address within {OPENING_S} s")
            return json.loads(self.descriptions["/offer"])

    def answer(self, value):
        """Sends the address of the link to the page."""
        with self.posted:
            self.descriptions["/answer"] = json.dumps(value).encode()
            self.posted.notify_all()


class Handler(server.Handler):
    """Answers requests of page.html."""

    def do_GET(self):
        if self.path == "/":
            self.answer((HERE / "page.html").read_bytes(), "text/html")
        else:
            super().do_GET()


@contextlib.contextmanager
def running(words, **options):
    """Runs a program, and ends it."""
    program = subprocess.Popen(words, stdin=subprocess.DEVNULL, **options)
    try:
        yield program
    finally:
        program.kill()
        program.wait()


def busy_s():
    """Returns the processor time of this machine, and of the processes in this namespace, in s."""
    # user, nice, system, idle, iowait, irq, softirq, steal
    fields = [int(field) for field in pathlib.Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    own = 0
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            own += sum(map(int, path.read_text().rpartition(")")[2].split()[11:13]))
    tick = os.sysconf("SC_CLK_TCK")
    return (sum(fields) - sum(fields[3:5])) / tick, own / tick


def call(headway, link, controller):
    """Runs a call in the network namespace of this process. Returns its figures, the figures of its seconds, and its capture."""
    reports = []
    for words in NETWORK:
        subprocess.run(["ip", *words.split()], check=True, capture_output=True, text=True)
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        site = stack.enter_context(Site(lambda line: reports.append({"at": time.time(), **json.loads(line)})))
        trials = [f"--force-fieldtrials={TRIALS[controller]}"] if TRIALS[controller] else []
        opening = [browser(), *OPTIONS, *trials, f"--user-data-dir={folder}/browser", f"http://127.0.0.1:{site.server_address[1]}/"]
        log = stack.enter_context(open(folder / "browser.log", "w"))
        stack.enter_context(running(opening, stdout=log, stderr=log))
        receiver = site.offer()
        if receiver["rfc8888"] != (controller == "scream2"):
            raise Failed(f"the page {'offers' if receiver['rfc8888'] else 'does not offer'} feedback by RFC 8888 with the field trials of {controller}")
        scenario = folder / "link.toml"
        scenario.write_text(links.scenario(link, controller, links.VERSIONS[controller][0]))
        words = [headway, "proxy", "--listen", f"{ADDRESS}:{LINK_PORT}", "--to", f"{receiver['address']}:{receiver['port']}", "--json",
                 "--scenario", scenario, "--link", f"{links.SENDER}->{links.RECEIVER}"]
        packets = capture.Capture("lo", LINK_PORT, receiver["port"])
        packets.start()
        proxy = stack.enter_context(running([*PRIORITY, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        # The first line has the address.
        first = proxy.stderr.readline()
        if not first.startswith(ADDRESS):
            raise Failed(f"headway proxy: {first}{proxy.stderr.read()}".strip())
        opened = time.time()
        site.answer({"address": ADDRESS, "port": LINK_PORT})
        if not packets.media_started.wait(CONNECTING_S):
            raise Failed(f"no media within {CONNECTING_S} s")
        start = next(packet.at for packet in packets.arrived if packet.is_media)
        time.sleep(max(start + links.SETTLE_S - time.time(), 0))
        busy, begin = busy_s(), time.time()
        time.sleep(max(start + links.CALL_S - time.time(), 0))
        machine, own = ((after - before) / (time.time() - begin) for before, after in zip(busy, busy_s()))
        time.sleep(REPORT_S)
        proxy.send_signal(signal.SIGINT)
        out, _ = proxy.communicate()
        missed = packets.end()
    report = json.loads(out.splitlines()[-1])
    if errors := [row["error"] for row in reports if "error" in row]:
        raise Failed(f"the page reports {errors[0]}")
    page = page_figures(reports, start + links.SETTLE_S, start + links.CALL_S)
    faults = report["faults"] + ([f"the capture missed {missed} packets"] if missed else [])
    if page["limited_by_cpu_s"]:
        faults.append(f"the processor limited the encoder for {page['limited_by_cpu_s']} s")
    delay_s = 1e-3 * links.LINKS[link].delay_ms
    row = {
        "valid": not faults, "faults": "; ".join(faults), **capture.figures(packets, delay_s, start + links.SETTLE_S, start + links.CALL_S),
        **page, "start_s": start - opened, "cpus": own,
        "machine_cpus": machine,
        "release_p99_us": 1e6 * report["release_error_s"]["p99"], "intake_p99_us": 1e6 * report["intake_error_s"]["p99"],
    }
    seconds = []
    for second in range(links.CALL_S):
        begin = start + second
        of_link = capture.figures(packets, delay_s, begin, begin + 1)
        page = min(reports, key=lambda row: abs(row["at"] - begin - 1))
        seconds.append({
            "second": second, **{key: of_link[key] for key in ("sent_kbps", "delivered_kbps", "other_kbps", "delay_ms", "lost_packets", "ce_marks")},
            "target_kbps": page.get("target_bps", 0) / 1e3, "available_kbps": page.get("available_bps", 0) / 1e3, "height": page.get("height"),
        })
    return row, seconds, packets


def page_figures(reports, begin, end):
    """Returns the figures of the page from `begin` to `end`."""
    within = [row for row in reports if begin <= row["at"] < end + REPORT_S]
    if len(within) < 2:
        raise Failed(f"the page sent {len(within)} reports in the measured interval")
    first, last = within[0], within[-1]
    elapsed = last["at"] - first["at"]

    def grown(key):
        return last.get(key, 0) - first.get(key, 0)

    round_trips = grown("round_trips")
    return {
        "target_kbps": statistics.fmean(row.get("target_bps", 0) for row in within) / 1e3,
        "available_kbps": statistics.fmean(row.get("available_bps", 0) for row in within) / 1e3,
        "rtt_ms": 1e3 * grown("round_trips_s") / round_trips if round_trips else None,
        "frames_per_s": grown("sent_frames") / elapsed,
        "decoded_per_s": grown("decoded_frames") / elapsed,
        # Quantizer, 0 to 127: with the least one the encoder cannot send more.
        "qp": grown("qp") / max(grown("encoded_frames"), 1),
        "payload_bytes": grown("payload_bytes") / max(grown("sent_packets"), 1),
        # Time of the packets in the pacer.
        "send_delay_ms": 1e3 * grown("send_delay_s") / max(grown("sent_packets"), 1),
        "height": last.get("height"),
        "limited_by_cpu_s": grown("limited_by_cpu_s"),
    }
