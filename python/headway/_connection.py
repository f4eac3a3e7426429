"""Connections over real sockets: `connect`, `connect_async` and `listen`."""

from __future__ import annotations

from collections.abc import Mapping
from json import dumps
from typing import TYPE_CHECKING, TypeVar

from . import _native
from ._errors import ConnectionClosed, SocketError
from ._events import Event, Statistics

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Generator, Iterator, Sequence
    from types import TracebackType
    from typing import Any, Literal, TypeAlias

    from typing_extensions import Buffer

    from ._parts import Options

    MediaKind: TypeAlias = Literal["data", "audio", "video", "video-i", "video-p", "video-b"]

_Result = TypeVar("_Result")

# Longest wait of `close`: 1 s for queued datagrams, and 1 s for the answer of the peer.
_CLOSE_S = 2.0


class Connection:
    """A connection that sends and receives datagrams. `connect` and `Listener.accept` return it.

    Threads may share a connection, for example one that sends and one that receives. A connection
    that is no longer referenced is closed without waiting; `close` and `with` wait.
    """

    __slots__ = ("_native",)

    def __init__(self, native: _native.Connection) -> None:
        """Only for `connect` and `Listener`."""
        self._native = native

    @property
    def peer(self) -> str | None:
        """Address of the peer when the connection began, such as "192.0.2.1:5004"."""
        return self._native.peer

    @property
    def rate_bps(self) -> int | None:
        """Rate at which an encoder should produce data now, in bit/s.

        None before the first report of the peer. Events of the kind "rate" report each change; with
        the controller `udpm`, events of the kind "scale".
        """
        return self._native.rate_bps

    @property
    def largest_bytes(self) -> int:
        """Size of the largest datagram that fits into one packet, in bytes.

        It may grow, mostly during the first round trips. Events of the kind "largest" report each
        change.
        """
        return self._native.largest_bytes

    def send(self, data: Buffer, *, deadline: float | None = None, priority: int = 0, kind: MediaKind = "data") -> int:
        """Queues a datagram and returns its number in events, counted from 0. Does not wait.

        The controller and the send queue decide when the datagram is sent. `deadline` is the time
        in s, from now, until which it must arrive: the default send queue discards a datagram that
        would arrive later. If all waiting ones would, it still sends the one that expires last. A
        datagram without a deadline does not expire. Priority 0 is sent before 1, and 1 before 2, up
        to 255. A full send queue discards a datagram by its rules, and an event reports which one.

        Raises DatagramTooLarge, ConnectionClosed, and ValueError for an argument out of range.
        """
        if not isinstance(data, bytes):
            if isinstance(data, str):
                raise TypeError("data: expected bytes, and not str; encode the text first")
            data = memoryview(data).tobytes()
        if not 0 <= priority <= 255:
            raise ValueError(f"priority: {priority} is out of range; expected 0 to 255")
        return self._native.send(data, deadline, priority, kind)

    def recv(self, timeout: float | None = None) -> bytes:
        """Waits for a datagram, for at most `timeout` s.

        Raises TimeoutError if none arrives in time, and ConnectionClosed once the connection is
        closed and all datagrams are read.
        """
        return self._native.recv().wait(timeout)

    async def recv_async(self) -> bytes:
        """Awaits a datagram. A cancelled task loses no datagram.

        Raises ConnectionClosed once the connection is closed and all datagrams are read.
        """
        return await _complete(self._native.recv())

    def __iter__(self) -> Iterator[bytes]:
        """Yields datagrams until this end or the peer closes the connection.

        Raises ConnectionClosed if the connection ends for another reason.
        """
        while True:
            try:
                datagram = self.recv()
            except ConnectionClosed as closed:
                if closed.reason in ("here", "peer"):
                    return
                raise
            yield datagram

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Yields datagrams until this end or the peer closes the connection.

        Raises ConnectionClosed if the connection ends for another reason.
        """
        while True:
            try:
                datagram = await self.recv_async()
            except ConnectionClosed as closed:
                if closed.reason in ("here", "peer"):
                    return
                raise
            yield datagram

    def next_event(self, timeout: float | None = None) -> Event | None:
        """Waits for an event of the connection, for at most `timeout` s.

        Returns None after the last event. At most 1024 unread events are kept: the newest. Raises
        TimeoutError if none occurs in time.
        """
        return _event(self._native.next_event().wait(timeout))

    async def next_event_async(self) -> Event | None:
        """Awaits an event. Returns None after the last event."""
        return _event(await _complete(self._native.next_event()))

    def events(self) -> Events:
        """Returns an iterator over the events, for `for` and `async for`. It ends with the connection."""
        return Events(self)

    def statistics(self) -> Statistics | None:
        """Returns the statistics of the connection; None if it is closed or interrupted."""
        fields = self._native.statistics()
        return None if fields is None else Statistics(**fields)

    def close(self) -> None:
        """Closes the connection, and waits for its end for at most 2 s.

        Queued datagrams are sent for up to 1 s.
        """
        self._native.start_close()
        try:
            self._native.closed().wait(_CLOSE_S)
        except TimeoutError:
            return

    async def close_async(self) -> None:
        """Closes the connection, and awaits its end for at most 2 s.

        Queued datagrams are sent for up to 1 s.
        """
        from ._asyncio import complete_within

        self._native.start_close()
        await complete_within(self._native.closed(), _CLOSE_S)

    def __enter__(self) -> Connection:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Connection:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close_async()

    def __repr__(self) -> str:
        return f"<headway.Connection with {self.peer}>"


class Events:
    """Iterator over the events of a connection, for `for` and `async for`."""

    __slots__ = ("_connection",)

    def __init__(self, connection: Connection) -> None:
        """Only for `Connection.events`."""
        self._connection = connection

    def __iter__(self) -> Iterator[Event]:
        """Yields events up to the last one, of the kind "closed"."""
        while (event := self._connection.next_event()) is not None:
            yield event

    async def __aiter__(self) -> AsyncIterator[Event]:
        """Yields events up to the last one, of the kind "closed"."""
        while (event := await self._connection.next_event_async()) is not None:
            yield event


class Listener:
    """A UDP socket that accepts connections. `listen` returns it.

    All accepted connections share the socket and one thread of the library. After `close` no more
    connections are accepted. Accepted ones continue, and the socket is closed after the last one.
    """

    __slots__ = ("_is_closed", "_native")

    def __init__(self, native: _native.Listener) -> None:
        """Only for `listen`."""
        self._native = native
        self._is_closed = False

    @property
    def address(self) -> str:
        """Address of the socket, such as "127.0.0.1:5004"."""
        host = self._native.host
        return f"[{host}]:{self.port}" if ":" in host else f"{host}:{self.port}"

    @property
    def port(self) -> int:
        """Port of the socket."""
        return self._native.port

    @property
    def fingerprint(self) -> str | None:
        """Fingerprint of this listener's certificate, by which clients authenticate it.

        None with `insecure=True`.
        """
        return self._native.fingerprint

    def accept(self, timeout: float | None = None) -> Connection:
        """Waits for a client, for at most `timeout` s.

        Raises TimeoutError if none connects in time, and SocketError once the listener is closed.
        """
        return _accepted(self._native.accept().wait(timeout))

    async def accept_async(self) -> Connection:
        """Awaits a client. Raises SocketError once the listener is closed."""
        return _accepted(await _complete(self._native.accept()))

    def __iter__(self) -> Iterator[Connection]:
        """Yields connections until `close` is called."""
        while True:
            try:
                connection = self.accept()
            except SocketError:
                if self._is_closed:
                    return
                raise
            yield connection

    async def __aiter__(self) -> AsyncIterator[Connection]:
        """Yields connections until `close` is called."""
        while True:
            try:
                connection = await self.accept_async()
            except SocketError:
                if self._is_closed:
                    return
                raise
            yield connection

    def close(self) -> None:
        """Stops accepting connections.

        Connections that `accept` has not returned yet are closed.
        """
        self._is_closed = True
        self._native.close()

    def __enter__(self) -> Listener:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Listener:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<headway.Listener at {self.address}>"


class Connecting:
    """A connection that is being established, for `await` and `async with`."""

    __slots__ = ("_address", "_connection", "_options")

    def __init__(self, address: str, options: _native.Options) -> None:
        """Only for `connect_async`."""
        self._address = address
        self._options = options

    async def _connect(self) -> Connection:
        from ._asyncio import complete, resolve

        host, port = _host_and_port(self._address)
        try:
            found = await resolve(host, port)
        except (OSError, ValueError) as error:
            raise _unknown_host(host, error) from error
        native = _native.connect(self._options, *_first(found))
        try:
            await complete(native.connected())
        except BaseException:
            native.start_close()
            raise
        return Connection(native)

    def __await__(self) -> Generator[object, None, Connection]:
        return self._connect().__await__()

    async def __aenter__(self) -> Connection:
        self._connection = await self._connect()
        return self._connection

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._connection.close_async()


def connect(
    address: str,
    *,
    trust: str | Sequence[str] | None = None,
    identity: _native.Identity | None = None,
    insecure: bool = False,
    controller: Options | None = None,
    queue: Options | None = None,
    reconnect: bool = False,
    timeout: float | None = None,
) -> Connection:
    """Connects to a server at "HOST:PORT" and waits until the server has answered.

    - `trust`: fingerprint of the server, or a list of fingerprints; "any" accepts each server,
      which protects against eavesdropping but not against a man in the middle.
    - `identity`: identity of this client; a new one if None.
    - `insecure`: no encryption and no authentication. Client and server both need it.
    - `controller`: rate controller, by its name or as a table with its keys:
      `{"kind": "tfrc", "expert": {"t_gran": "1ms"}}`. By default the first of tfrc-filtered, tfrc,
      tcp-like and tfrc-sp that the server accepts.
    - `queue`: send queue, by its name or as a table with its keys:
      `{"kind": "sure-first", "limit": "64packets"}`. By default sure-first with 256 packets.
    - `reconnect`: whether the connection begins again when its server is lost and returns.
    - `timeout`: longest wait, in s. With or without it, this function gives up a server that does
      not answer for 10 s.

    Each call opens a socket, with one thread of the library.

    Raises ValueError for an argument that is wrong, SocketError if the socket cannot be opened,
    ConnectionClosed if the server does not answer, is not trusted or refuses, and TimeoutError.
    """
    options = _client_options(trust, identity, insecure, controller, queue, reconnect)
    native = _native.connect(options, *_resolve(address))
    try:
        native.connected().wait(timeout)
    except BaseException:
        native.start_close()
        raise
    return Connection(native)


def connect_async(
    address: str,
    *,
    trust: str | Sequence[str] | None = None,
    identity: _native.Identity | None = None,
    insecure: bool = False,
    controller: Options | None = None,
    queue: Options | None = None,
    reconnect: bool = False,
) -> Connecting:
    """Connects as `connect` does, in an event loop of asyncio, and with the same arguments.

    `await connect_async(..)` returns the connection. `async with connect_async(..) as connection`
    also closes it at the end of the block. There is no `timeout`: use `asyncio.wait_for`.
    """
    return Connecting(address, _client_options(trust, identity, insecure, controller, queue, reconnect))


def listen(
    address: str,
    *,
    trust: str | Sequence[str] = "any",
    identity: _native.Identity | None = None,
    insecure: bool = False,
    controller: Options | None = None,
    queue: Options | None = None,
) -> Listener:
    """Opens a socket at "ADDRESS:PORT" that accepts connections. Port 0 is any unused port.

    `trust` is the fingerprint of the only client to accept, or a list of fingerprints; "any"
    accepts each client. `identity` is that of this listener. The other arguments are those of
    `connect`; `queue` applies to the datagrams that this end sends.

    Raises ValueError for an argument that is wrong, and SocketError if the socket cannot be opened.
    """
    options = _options(trust, identity, insecure, controller, queue, reconnect=False)
    return Listener(_native.listen(options, *_resolve(address)))


def _client_options(
    trust: str | Sequence[str] | None,
    identity: _native.Identity | None,
    insecure: bool,
    controller: Options | None,
    queue: Options | None,
    reconnect: bool,
) -> _native.Options:
    if insecure and trust is not None:
        raise ValueError("trust: it has no effect with insecure=True; expected one of the two")
    if not insecure and trust is None:
        raise ValueError('trust: no server is trusted; expected the fingerprint of the server, "any", or insecure=True')
    return _options("any" if trust is None else trust, identity, insecure, controller, queue, reconnect)


def _options(
    trust: str | Sequence[str],
    identity: _native.Identity | None,
    insecure: bool,
    controller: Options | None,
    queue: Options | None,
    reconnect: bool,
) -> _native.Options:
    if insecure and (identity is not None or trust != "any"):
        raise ValueError("insecure: an end without encryption has no identity and trusts any peer; leave these out")
    if identity is not None and not isinstance(identity, _native.Identity):
        raise TypeError(f"identity: expected a headway.Identity, and not {type(identity).__name__}")
    if isinstance(trust, str):
        trusted = None if trust == "any" else [trust]
    else:
        trusted = list(trust)
        if not trusted:
            raise ValueError('trust: the list is empty; expected at least one fingerprint, or "any"')
    return _native.Options(
        trusted, identity, insecure, _keyed("controller", controller), _keyed("queue", queue), reconnect
    )


def _keyed(name: str, options: Options | None) -> tuple[str, str] | None:
    """Returns the kind of an algorithm, and its keys in JSON."""
    if options is None:
        return None
    if isinstance(options, str):
        return options, "{}"
    if not isinstance(options, Mapping) or not isinstance(options.get("kind"), str):
        raise ValueError(f'{name}: expected a name, or a dict with the name as "kind"')
    try:
        keys = dumps({key: value for key, value in options.items() if key != "kind"}, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name}: {error}; expected strings, numbers, bools, lists and dicts") from error
    return str(options["kind"]), keys


def _host_and_port(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    host = host[1:-1] if bracketed else host
    if not host or (":" in host) != bracketed or not (port.isascii() and port.isdecimal()) or int(port) > 0xFFFF:
        raise ValueError(
            f'address: "{address}" has another form; expected HOST:PORT, such as 192.0.2.1:5004 or [2001:db8::1]:5004'
        )
    return host, int(port)


def _resolve(address: str) -> tuple[str, int, int]:
    from socket import SOCK_DGRAM, getaddrinfo

    host, port = _host_and_port(address)
    try:
        return _first(getaddrinfo(host, port, type=SOCK_DGRAM))
    except (OSError, ValueError) as error:
        raise _unknown_host(host, error) from error


def _unknown_host(host: str, error: Exception) -> SocketError:
    why = error.strerror if isinstance(error, OSError) else str(error)
    return SocketError(f'the host "{host}" has no address: {why}')


def _first(found: Sequence[tuple[Any, ...]]) -> tuple[str, int, int]:
    """Returns the host, port and scope of the first result of `getaddrinfo`."""
    host, port, *ipv6 = found[0][4]
    # A link-local address contains its scope, too.
    return str(host).partition("%")[0], int(port), int(ipv6[1]) if ipv6 else 0


def _event(parts: _native._EventParts | None) -> Event | None:
    return None if parts is None else Event._make(parts)


def _accepted(native: _native.Connection | None) -> Connection:
    if native is None:
        raise SocketError("the listener is closed")
    return Connection(native)


async def _complete(operation: _native.Operation[_Result]) -> _Result:
    # The import of asyncio takes as long as that of Headway.
    from ._asyncio import complete

    return await complete(operation)
