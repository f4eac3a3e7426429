"""Three hosts in network namespaces, which exist as long as the lab: client -- cable -- NAT -- server."""

import contextlib
import ctypes
import json
import os
import pathlib
import queue
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
SERVER, ROUTER, CLIENT = "10.99.2.2", "10.99.2.1", "10.99.1.2"
PORT = 5004
# Source addresses of spoofed datagrams, in addition to the client's address: the block for benchmarks (RFC 2544).
SPOOFED = "198.18.0.0/15"


def missing():
    """Returns a sentence on a missing requirement of this machine, or None."""
    if os.geteuid() != 0:
        return "makes network namespaces and needs root: run it in a container or a virtual machine of yours"
    for tool, package in (("ip", "iproute2"), ("nft", "nftables"), ("cc", "gcc"), ("unshare", "util-linux")):
        if not shutil.which(tool):
            return f"needs {tool}, which is not in the PATH: apt-get install {package} (Debian, Ubuntu)"
    return None


class Host:
    """A namespace."""

    def __init__(self, name):
        self.name = name
        ip("netns", "add", name)
        self.ip("link", "set", "lo", "up")

    def words(self, *words):
        return ["ip", "netns", "exec", self.name, *map(str, words)]

    def run(self, *words, **more):
        return subprocess.run(self.words(*words), check=True, capture_output=True, text=True, **more).stdout

    def ip(self, *words):
        ip("-n", self.name, *words)

    def counter(self, interface, which):
        return int(self.run("cat", f"/sys/class/net/{interface}/statistics/{which}"))

    @contextlib.contextmanager
    def inside(self):
        """Enters the namespace with this thread, so that sockets are made there."""
        libc, new = ctypes.CDLL(None, use_errno=True), 0x40000000
        with open("/proc/self/ns/net") as here, open(f"/run/netns/{self.name}") as there:
            if libc.setns(there.fileno(), new):
                raise OSError(ctypes.get_errno(), "setns")
            try:
                yield
            finally:
                libc.setns(here.fileno(), new)


def ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True)


class End:
    """A running endpoint, and the lines it has written so far."""

    def __init__(self, words, environment=None):
        self.lines, self.fresh = [], threading.Condition()
        self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        env={**os.environ, **(environment or {})})
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            with self.fresh:
                self.lines.append(json.loads(line))
                self.fresh.notify_all()

    def wait_for(self, event, after=0.0, seconds=60.0, such=lambda line: True):
        """Waits for the first line of this event after that time, and returns it."""
        until = time.monotonic() + seconds
        with self.fresh:
            while True:
                found = [line for line in self.lines if line["event"] == event and line["at"] >= after and such(line)]
                if found:
                    return found[0]
                if time.monotonic() >= until:
                    return None
                self.fresh.wait(0.1)

    def all(self, event, after=0.0):
        with self.fresh:
            return [line for line in self.lines if line["event"] == event and line["at"] >= after]

    def last(self):
        return (self.all("status") or [{}])[-1]

    def rss(self):
        """Returns the private memory in kB, without memory that is shared with files."""
        text = pathlib.Path(f"/proc/{self.pid()}/status").read_text()
        return int(re.search(r"RssAnon:\s+(\d+)", text)[1])

    def pid(self):
        return self.process.pid  # `ip netns exec` is replaced by the program

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def finish(self, seconds=60.0):
        self.process.wait(seconds)
        return self.process.returncode, self.process.stderr.read()


class Lab:
    def __init__(self, program):
        self.program, self.ends, self.hosts = program, [], []
        tag = f"hw{os.getpid() % 100000}"
        self._stack = contextlib.ExitStack()
        self.tag = tag

    def __enter__(self):
        with self._stack as stack:
            stack.callback(self._end)
            self.client, self.cable, self.router, self.server = (self._host(stack, letter) for letter in "cwrs")
            self._connect(self.client, "c0", self.cable, "w0")
            self._connect(self.cable, "w1", self.router, "r0")
            self._connect(self.router, "r1", self.server, "s0")
            for host, interface, address in ((self.client, "c0", f"{CLIENT}/24"), (self.router, "r0", "10.99.1.1/24"),
                                             (self.router, "r1", f"{ROUTER}/24"), (self.server, "s0", f"{SERVER}/24")):
                host.ip("addr", "add", address, "dev", interface)
            self.client.ip("route", "add", "default", "via", "10.99.1.1")
            self.server.ip("route", "add", "default", "via", ROUTER)
            # The router must not check source addresses, and must drop answers to spoofed addresses.
            self.router.run("sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward; for f in /proc/sys/net/ipv4/conf/*/rp_filter; do echo 0 > $f; done")
            self.server.run("sh", "-c", "for f in /proc/sys/net/ipv4/conf/*/rp_filter; do echo 0 > $f; done")
            self.router.run("nft", "-f", "-", input=f"""
                table ip lab {{
                    chain forward {{ type filter hook forward priority 0; ip daddr {SPOOFED} drop; }}
                    chain nat {{ type nat hook postrouting priority 100; ip saddr {CLIENT} oifname "r1" masquerade random; }}
                }}""")
            wire = [sys.executable, HERE / "wire.py"]
            for host, interface in ((self.client, "c0"), (self.router, "r0")):
                host.run(*wire, "--plain", interface)
            self.wire = subprocess.Popen(self.cable.words(*wire, "w0", "w1"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            stack.callback(self.wire.wait)
            stack.callback(self.wire.kill)
            self.set(delay=20)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_):
        self._stack.close()

    def _host(self, stack, letter):
        name = f"{self.tag}{letter}"
        # Remains of a lab that was killed.
        stack.callback(lambda: subprocess.run(["ip", "netns", "del", name], capture_output=True))
        return Host(name)

    @staticmethod
    def _connect(one, first, other, second):
        one.ip("link", "add", first, "type", "veth", "peer", "name", second, "netns", other.name)
        one.ip("link", "set", first, "up")
        other.ip("link", "set", second, "up")

    def _end(self):
        for end in self.ends:
            if end.process.poll() is None:
                end.kill()

    def set(self, **values):
        """Sets options of the cable: delay in ms, loss in %, limit in bytes, seed."""
        for word, number in values.items():
            self.wire.stdin.write(f"{word} {number}\n")
            self.wire.stdin.flush()
            self.wire.stdout.readline()

    def forget(self):
        """Flushes the table of the NAT, so that the next datagram gets another port. Sends a message of conntrack, whose tool is not needed."""
        IPCTNL_MSG_CT_DELETE, NLM_F_REQUEST, NLM_F_ACK, NETLINK_NETFILTER = (1 << 8) | 2, 1, 4, 12
        with self.router.inside(), socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_NETFILTER) as link:
            link.send(struct.pack("=IHHIIBBH", 20, IPCTNL_MSG_CT_DELETE, NLM_F_REQUEST | NLM_F_ACK, 1, 0, socket.AF_INET, 0, 0))
            error, = struct.unpack("=i", link.recv(4096)[16:20])
            if error:
                raise OSError(-error, "conntrack's table cannot be flushed")

    def end(self, host, *words, environment=None):
        end = End(host.words(self.program, *words), environment)
        self.ends.append(end)
        return end

    def serve(self, *words, **more):
        """Starts a server. Returns it and the fingerprint that its clients need."""
        server = self.end(self.server, "server", f"{SERVER}:{PORT}", *words, **more)
        listens = server.wait_for("listens")
        if not listens:
            sys.exit(f"the server does not start: {server.process.stderr.read()}")
        return server, listens["fingerprint"]

    def call(self, print_, *words, **more):
        trust = ("--trust", print_) if print_ else ("--plain",)
        return self.end(self.client, "client", f"{SERVER}:{PORT}", *trust, *words, **more)

    @contextlib.contextmanager
    def pair(self, *words, seconds=600, **more):
        """Yields a server and a client after at least 20 datagrams in each direction."""
        server, print_ = self.serve(*words, **more)
        client = self.call(print_, "--seconds", seconds, *words, **more)
        for end in (server, client):
            if not end.wait_for("status", such=lambda line: line["received"] >= 20):
                raise AssertionError("no media arrive at the start")
        try:
            yield server, client
        finally:
            for end in (client, server):
                if end.process.poll() is None:
                    end.kill()
