"""Connections over real sockets: exchanges, errors, asyncio, and objects that are no longer used.

No test depends on the time that a step takes: each waits for what must happen.
"""

import asyncio
import errno
import gc
import inspect
import os
import pickle
import re
import signal
import socket
import subprocess
import sys
import threading

import pytest
from cases import ROOT

import headway
from headway import ConnectionClosed, DatagramTooLarge, Event, Identity, SocketError


def pair(**options):
    """Returns both ends of a connection: the client and the server."""
    with headway.listen("127.0.0.1:0", insecure=True) as listener:
        connection = headway.connect(listener.address, insecure=True, **options)
        return connection, listener.accept()


def fates(connection, last):
    """Returns the final outcome of each datagram up to the datagram `last`."""
    found = {}
    while last not in found:
        event = connection.next_event()
        if event.kind == "datagram" and event.fate != "sent":
            found[event.number] = event.fate
    return found


def test_an_exchange_with_encryption():
    with headway.listen("127.0.0.1:0") as listener:
        assert listener.address == f"127.0.0.1:{listener.port}"
        with headway.connect(listener.address, trust=listener.fingerprint) as client:
            assert client.peer == listener.address
            assert client.send(b"question", kind="audio", deadline=30.0, priority=3) == 0
            with listener.accept() as server:
                assert server.recv() == b"question"
                server.send(bytearray(b"answer"))
                assert client.recv() == b"answer"
                assert fates(client, 0) == {0: "delivered"}
    with pytest.raises(ConnectionClosed, match="closed") as closed:
        client.recv()
    assert closed.value.reason in ("here", "peer")


def test_iteration_ends_when_the_peer_closes():
    client, server = pair()
    for number in range(5):
        assert client.send(bytes([number])) == number
    client.close()
    assert list(server) == [b"\0", b"\1", b"\2", b"\3", b"\4"]
    *_, last = server.events()
    assert (last.kind, last.reason, last.message) == ("closed", "peer", "the peer closed the connection")
    assert server.next_event() is None
    assert server.next_event(timeout=0) is None


def test_events_rate_and_statistics():
    client, server = pair()
    while client.next_event() != Event("connected"):
        pass
    client.send(bytes(1000))
    assert fates(client, 0) == {0: "delivered"}
    assert client.rate_bps > 0
    assert client.largest_bytes >= 1000
    statistics = client.statistics()
    assert (statistics.sent_datagrams, statistics.sent_bytes) == (1, 1000)
    assert statistics.acknowledged_packets > 0
    assert statistics.rtt_s > 0
    assert statistics.controller == "tfrc-filtered"
    assert server.recv() == bytes(1000)
    received = server.statistics()
    assert (received.received_datagrams, received.received_bytes) == (1, 1000)
    client.close()
    assert client.statistics() is None


def test_datagrams_of_each_kind_arrive():
    client, server = pair()
    for kind in ("data", "audio", "video", "video-i", "video-p", "video-b"):
        client.send(kind.encode(), kind=kind)
        assert server.recv() == kind.encode()
    for data in (b"", memoryview(b"view"), bytearray(b"array")):
        client.send(data)
        assert server.recv() == bytes(data)


def test_deadlines_may_be_any_time():
    client, server = pair()
    for deadline in (None, 1, 1e300, float("inf")):
        client.send(b"in time", deadline=deadline)
        assert server.recv() == b"in time"


def test_a_timeout_is_not_the_end():
    client, server = pair()
    with pytest.raises(TimeoutError, match=r"^no datagram arrived within 0\.01 s$"):
        server.recv(timeout=0.01)
    with pytest.raises(TimeoutError, match="no datagram arrived within 0 s"):
        server.recv(timeout=0)
    with headway.listen("127.0.0.1:0") as listener, pytest.raises(TimeoutError, match="no peer connected"):
        listener.accept(timeout=0)
    client.send(b"later")
    assert server.recv(timeout=1e300) == b"later"


def test_other_threads_run_while_one_waits():
    client, server = pair()
    received = []
    thread = threading.Thread(target=lambda: received.extend(server))
    thread.start()
    client.send(b"to the thread")
    client.close()
    thread.join()
    assert received == [b"to the thread"]


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_ctrl_c_ends_a_wait():
    _client, server = pair()

    def interrupted():
        interrupt = threading.Thread(target=lambda: os.kill(os.getpid(), signal.SIGINT))
        interrupt.start()
        server.recv()

    with pytest.raises(KeyboardInterrupt):
        interrupted()


def test_a_server_that_does_not_answer():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(TimeoutError, match="the connection was not established within"):
            headway.connect(address, insecure=True, timeout=0.01)


def test_peers_that_are_not_trusted():
    other = Identity.generate()
    with headway.listen("127.0.0.1:0") as listener:
        with pytest.raises(ConnectionClosed, match="fingerprint") as refused:
            headway.connect(listener.address, trust=other.fingerprint)
        assert refused.value.reason == "security"
        assert isinstance(refused.value, ConnectionError)
    known = Identity(other.pem)
    assert known.fingerprint == other.fingerprint
    with headway.listen("127.0.0.1:0", trust=[known.fingerprint], identity=known) as listener:
        assert listener.fingerprint == known.fingerprint
        # The client learns this during the handshake or after it.
        with pytest.raises(ConnectionClosed):
            headway.connect(listener.address, trust="any").recv()
        headway.connect(listener.address, trust="any", identity=known).close()


def test_a_connection_that_is_closed_refuses_datagrams():
    client, server = pair()
    client.close()
    client.close()
    with pytest.raises(ConnectionClosed, match="the connection was closed here") as closed:
        client.send(b"late")
    assert closed.value.reason == "here"
    assert list(server) == []
    with pytest.raises(ConnectionClosed, match="the peer closed the connection"):
        server.send(b"late")


def test_a_datagram_that_is_too_large():
    client, _server = pair()

    def send_two():
        # Until path MTU discovery has ended a large datagram waits for it.
        fates(client, client.send(bytes(70_000)))
        client.send(bytes(70_000))

    with pytest.raises(DatagramTooLarge, match="has 70000 bytes; the largest datagram") as refused:
        send_two()
    assert refused.value.size_bytes == 70_000
    assert refused.value.largest_bytes == client.largest_bytes


def test_a_listener_that_is_closed():
    listener = headway.listen("127.0.0.1:0", insecure=True)
    waiting = threading.Thread(target=lambda: ended.append(list(listener)))
    ended = []
    waiting.start()
    listener.close()
    waiting.join()
    assert ended == [[]]
    with pytest.raises(SocketError, match="the listener is closed"):
        listener.accept()


def test_a_port_in_use():
    with headway.listen("127.0.0.1:0") as listener:
        with pytest.raises(SocketError, match=f"cannot listen at {listener.address}: ") as refused:
            headway.listen(listener.address)
        assert refused.value.errno == errno.EADDRINUSE
        assert isinstance(refused.value, OSError)


def test_a_connection_begins_again():
    with headway.listen("127.0.0.1:0", insecure=True) as listener:
        client = headway.connect(listener.address, insecure=True, reconnect=True)
        for text in (b"before the loss", b"after it"):
            client.send(text)
            server = listener.accept()
            assert server.recv() == text
            server.close()
            while client.next_event().kind != "interrupted":
                pass
        client.close()


def test_a_connection_that_is_no_longer_referenced_is_closed():
    client, server = pair()
    client.send(b"last words")
    del client
    gc.collect()
    assert list(server) == [b"last words"]


def test_a_listener_that_is_no_longer_referenced_closes_its_socket():
    address = headway.listen("127.0.0.1:0").address
    gc.collect()
    headway.listen(address).close()


ADDRESS = "expected HOST:PORT, such as 192.0.2.1:5004 or [2001:db8::1]:5004"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"address": "localhost", "insecure": True}, ADDRESS),
        ({"address": "localhost:70000", "insecure": True}, ADDRESS),
        ({"address": "localhost:\u00b2", "insecure": True}, ADDRESS),
        ({"address": "2001:db8::1:5004", "insecure": True}, ADDRESS),
        ({"address": ":5004", "insecure": True}, ADDRESS),
        ({}, 'trust: no server is trusted; expected the fingerprint of the server, "any", or insecure=True'),
        ({"trust": "any", "insecure": True}, "trust: it has no effect with insecure=True"),
        ({"trust": []}, "trust: the list is empty"),
        ({"trust": "3C:5A"}, 'trust: "3C:5A" is not a fingerprint; expected 32 bytes in hex'),
        ({"trust": "any", "controller": "cubic"}, 'controller: "cubic" is unknown; expected one of tcp-like, tfrc'),
        ({"trust": "any", "controller": "spacing"}, "controller: line_rate"),
        ({"trust": "any", "controller": {"kind": "tfrc", "discount": True}}, "controller: "),
        (
            {"trust": "any", "controller": {"kind": "tfrc", "expert": {"loss_after": -1}}},
            "controller: expert.loss_after: -1 is out of range",
        ),
        (
            {"trust": "any", "controller": {"kind": "udpm", "levels": 5, "ladder": ["64kbps"]}},
            "controller: levels: a ladder has all rates",
        ),
        (
            {"trust": "any", "controller": {"levels": 5}},
            'controller: expected a name, or a dict with the name as "kind"',
        ),
        ({"trust": "any", "controller": {"kind": "tfrc", "expert": float("nan")}}, "controller: "),
        ({"trust": "any", "queue": "lifo"}, 'queue: "lifo" is unknown; expected one of fifo'),
        ({"trust": "any", "queue": {"kind": "fifo", "limit": "0packets"}}, "queue: limit: "),
        ({"trust": "any", "queue": {"kind": "fifo", "limt": "9packets"}}, 'did you mean "limit"'),
        ({"insecure": True, "identity": Identity.generate()}, "insecure: an end without encryption has no identity"),
        ({"insecure": True, "timeout": -1}, "timeout: -1 is out of range; expected at least 0 s, or None"),
        ({"insecure": True, "timeout": float("nan")}, "timeout: NaN is out of range"),
    ],
)
def test_wrong_arguments_of_connect(arguments, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        headway.connect(**{"address": "127.0.0.1:5004", **arguments})


def test_keys_of_controllers_and_queues_are_accepted():
    options = {
        "controller": {"kind": "udpm", "levels": 5, "step": "100kbps"},
        "queue": {"kind": "sure-first", "limit": "64packets", "resend": True},
    }
    with headway.listen("127.0.0.1:0", insecure=True, **options) as listener:
        client = headway.connect(listener.address, insecure=True, **options)
        client.send(b"udpm")
        server = listener.accept()
        assert server.recv() == b"udpm"
        assert client.statistics().controller == "udpm"


def test_wrong_arguments_of_other_functions():
    client, server = pair()
    for arguments, error, sentence in [
        ({"data": "text"}, TypeError, "data: expected bytes, and not str"),
        ({"data": b"", "priority": 256}, ValueError, "priority: 256 is out of range; expected 0 to 255"),
        ({"data": b"", "deadline": -0.1}, ValueError, "deadline: -0.1 is out of range; expected at least 0 s, or None"),
        ({"data": b"", "kind": "text"}, ValueError, 'kind: "text" is unknown; expected one of data, audio'),
    ]:
        with pytest.raises(error, match=re.escape(sentence)):
            client.send(**arguments)
    with pytest.raises(ValueError, match="timeout: -1 is out of range"):
        server.recv(timeout=-1)
    with pytest.raises(ValueError, match=r"pem: .*: the text contains no certificate"):
        Identity("key")
    with pytest.raises(TypeError, match=r"identity: expected a headway\.Identity, and not str"):
        headway.connect("127.0.0.1:5004", trust="any", identity="server.pem")
    with pytest.raises(SocketError, match=r'the host "no\.such\.host\.invalid" has no address: '):
        headway.connect("no.such.host.invalid:5004", insecure=True)


def test_private_keys_are_not_shown():
    identity = Identity.generate()
    assert repr(identity) == f"<headway.Identity {identity.fingerprint}>"
    assert "PRIVATE KEY" in identity.pem


def test_errors_can_be_pickled():
    for error in (
        ConnectionClosed("the peer closed the connection", "peer"),
        DatagramTooLarge("too large", 70_000, 1400),
        SocketError("cannot listen", errno.EADDRINUSE),
    ):
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))
        assert getattr(again, "errno", None) == getattr(error, "errno", None)


def test_tasks_serve_many_connections():
    """An echo server with one task for each connection."""

    async def echo(connection):
        async with connection:
            async for datagram in connection:
                connection.send(datagram.upper())

    async def serve(listener):
        tasks = [asyncio.ensure_future(echo(connection)) async for connection in listener]
        await asyncio.gather(*tasks)

    async def call(listener, text):
        async with headway.connect_async(listener.address, trust=listener.fingerprint) as connection:
            connection.send(text.encode())
            return await connection.recv_async()

    async def run():
        async with headway.listen("127.0.0.1:0") as listener:
            serving = asyncio.ensure_future(serve(listener))
            answers = await asyncio.gather(*(call(listener, f"call {number}") for number in range(10)))
            listener.close()
            await serving
            return answers

    assert asyncio.run(run()) == [b"CALL %d" % number for number in range(10)]


def test_tasks_share_a_connection():
    async def run():
        client, server = pair()
        tasks = [asyncio.ensure_future(server.recv_async()) for _ in range(4)]
        await asyncio.sleep(0)
        for number in range(4):
            client.send(bytes([number]))
        received = await asyncio.gather(*tasks)
        await client.close_async()
        events = [event async for event in client.events()]
        return sorted(received), events[-1].reason

    assert asyncio.run(run()) == ([b"\0", b"\1", b"\2", b"\3"], "here")


def test_a_cancelled_task_loses_no_datagram():
    async def run():
        client, server = pair()
        waiting = asyncio.ensure_future(server.recv_async())
        await asyncio.sleep(0)
        client.send(b"kept")
        # The datagram arrives, and the task is woken, while the event loop does not run.
        while server.statistics().received_datagrams == 0:
            pass
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert await server.recv_async() == b"kept"
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(server.recv_async(), 0.01)
        client.send(b"after the timeout")
        assert await server.recv_async() == b"after the timeout"

    asyncio.run(run())


def test_a_connection_is_used_by_two_event_loops():
    client, server = pair()
    for number in range(2):
        client.send(bytes([number]))
        assert asyncio.run(server.recv_async()) == bytes([number])


def test_errors_in_tasks():
    async def run():
        with pytest.raises(ConnectionClosed, match="fingerprint"):
            async with headway.listen("127.0.0.1:0") as listener:
                await headway.connect_async(listener.address, trust=Identity.generate().fingerprint)
        with pytest.raises(SocketError, match="the listener is closed"):
            await listener.accept_async()
        with pytest.raises(SocketError, match="has no address"):
            await headway.connect_async("no.such.host.invalid:5004", insecure=True)
        client, server = pair()
        await client.close_async()
        assert [datagram async for datagram in server] == []
        with pytest.raises(ConnectionClosed) as closed:
            await server.recv_async()
        assert closed.value.reason == "peer"

    with pytest.raises(ValueError, match="no server is trusted"):
        headway.connect_async("127.0.0.1:5004")
    asyncio.run(run())


def test_connect_and_connect_async_have_the_same_options():
    blocking, awaited = (
        inspect.signature(function).parameters for function in (headway.connect, headway.connect_async)
    )
    assert set(blocking) - set(awaited) == {"timeout"}


def test_both_ends_of_the_example():
    program = [sys.executable, ROOT / "python/examples/send.py"]
    with subprocess.Popen([*program, "listen", "127.0.0.1:0"], stdout=subprocess.PIPE, text=True) as receiver:
        port, fingerprint = receiver.stdout.readline().strip().split(" ", 1)
        sent = subprocess.run([*program, f"127.0.0.1:{port}", fingerprint], capture_output=True, text=True, check=True)
        received = receiver.stdout.read()
    assert sent.stdout.endswith("20 of 20 datagrams delivered\n")
    assert received == "20 datagrams received\n"
    assert receiver.returncode == 0


def test_the_command_receives_from_python(tmp_path):
    program = os.environ.get("HEADWAY")
    if not program:
        pytest.skip("HEADWAY is not set to a program")
    received = tmp_path / "received"
    command = [program, "recv", "127.0.0.1:0", "--once", "--out", received]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as receiver:
        listening = next(line for line in receiver.stdout if line.startswith("listening at "))
        address, fingerprint = re.search(r"headway send (\S+) --fingerprint (\S+)", listening).groups()
        with headway.connect(address, trust=fingerprint) as connection:
            for text in (b"from ", b"Python"):
                connection.send(text)
        receiver.stdout.read()
    assert receiver.returncode == 0
    assert received.read_bytes() == b"from Python"
