"""The links of the comparison, and the scenarios that `headway proxy` and `headway run` read."""

import dataclasses

# Time of a call from its first packet of media, and its start, which is not measured.
CALL_S, SETTLE_S = 40, 10
# Maximum rate of the encoder, as in page.html, and the rate at which libwebrtc starts.
MAX_RATE, START_RATE = "4Mbps", "300kbps"
# Time from the start of the link to the first packet of media: ICE and DTLS need some round trips.
CONNECT_S = 0.3
SENDER, RECEIVER = "sender", "receiver"

# Versions of each controller. The first one is that of libwebrtc, which is compared with Chromium.
VERSIONS = {"gcc": ("gcc-2026", "draft-02"), "scream2": ("libwebrtc-2026-07", "draft-01", "ericsson-2026-07")}


@dataclasses.dataclass
class Link:
    """A link: its description, propagation delay each way, other keys, and keys of the reverse direction."""

    title: str
    delay_ms: int
    keys: str
    reverse: str = ""


def _droptail(size):
    return f'queue = {{ kind = "droptail", limit = "{size}" }}'


LINKS = {
    "1M-droptail": Link("1 Mb/s, 25 ms, DropTail of 300 ms", 25, f'rate = "1Mbps"\n{_droptail("37500B")}'),
    "1M-dualpi2": Link("1 Mb/s, 25 ms, DualPI2", 25, 'rate = "1Mbps"\nqueue = { kind = "dualpi2" }'),
    "1M-long": Link("1 Mb/s, 100 ms, DropTail of 250 ms", 100, f'rate = "1Mbps"\n{_droptail("31250B")}'),
    "0.5M-droptail": Link("0.5 Mb/s, 50 ms, DropTail of 300 ms", 50, f'rate = "0.5Mbps"\n{_droptail("18750B")}'),
    "2.5M-droptail": Link("2.5 Mb/s, 50 ms, DropTail of 300 ms", 50, f'rate = "2.5Mbps"\n{_droptail("93750B")}'),
    "2.5M-fq-codel": Link("2.5 Mb/s, 50 ms, FQ-CoDel", 50, 'rate = "2.5Mbps"\nqueue = { kind = "fq-codel" }'),
    "2.5M-loss": Link("2.5 Mb/s, 50 ms, 1 % random loss, DropTail of 300 ms", 50,
                      f'rate = "2.5Mbps"\n{_droptail("93750B")}\nloss = {{ kind = "bernoulli", probability = "1%" }}', "loss = false"),
    "steps": Link("2.5, 0.8 and 2.5 Mb/s (falls at 16 s, rises at 28 s), 50 ms, DropTail of 160 ms at 2.5 Mb/s", 50,
                  f'rate = "2.5Mbps"\n{_droptail("50kB")}\nchanges = [{{ at = "{16 + CONNECT_S}s", rate = "0.8Mbps" }}, '
                  f'{{ at = "{28 + CONNECT_S}s", rate = "2.5Mbps" }}]', "changes = []"),
}

# Sizes of libwebrtc's packets as IP packets: the largest one of a video without retransmissions and FEC, its headers (IPv4, UDP, RTP with
# extensions, the tag of SRTP), and a report.
DATAGRAM, HEADER, FEEDBACK = "1176B", "66B", "72B"
# Mean deviations of the sizes of frames, and of the times between them, in calls of Chromium. The encoder follows each new rate with its next
# frame, as those of libwebrtc do.
ENCODER = (f'{{ kind = "encoder", start_rate = "{START_RATE}", min_rate = "30kbps", max_rate = "{MAX_RATE}", reaction = "0s", burst_frames = 0, '
           'size_scale = 0.045, interval_scale = 0.016 }')


def link_table(name):
    """Returns the [[link]] of a scenario."""
    link = LINKS[name]
    # Feedback does not wait for other feedback.
    reverse = ", ".join(filter(None, ['rate = "100Mbps"', f'delay = "{link.delay_ms}ms"',
                                      'queue = { kind = "droptail", limit = "1000packets" }', link.reverse]))
    return (f'[[link]]\nname = "access"\nbetween = ["{SENDER}", "{RECEIVER}"]\ndelay = "{link.delay_ms}ms"\n{link.keys}\n'
            f'reverse = {{ {reverse} }}\n')


def scenario(name, kind, version):
    """Returns the scenario of a call over a link. Its phases are the seconds of the call."""
    ecn = "true" if kind == "scream2" else "false"
    phases = ", ".join(f'{{ name = "{second}", from = "{second + CONNECT_S}s", until = "{second + 1 + CONNECT_S}s" }}' for second in range(CALL_S))
    controller = f'{{ version = "{version}", start_rate = "{START_RATE}", max_rate = "{MAX_RATE}" }}'
    return (f'name = "webrtc"\nduration = "{CALL_S + CONNECT_S}s"\nmeasure_from = "{SETTLE_S + CONNECT_S}s"\ndialect = "rfc"\n'
            f'[record]\nseries = false\nphases = [{phases}]\n{link_table(name)}'
            f'[[flow]]\nname = "call"\nfrom = "{SENDER}"\nto = "{RECEIVER}"\nstart = "{CONNECT_S}s"\n'
            f'transport = {{ kind = "{kind}", datagram = "{DATAGRAM}", header = "{HEADER}", feedback = "{FEEDBACK}", ecn = {ecn}, '
            f'controller = {controller} }}\nsource = {ENCODER}\n'
            'send_queue = { kind = "fifo", limit = "2000packets" }\n')
