"""Sends 20 datagrams of audio over UDP, or receives them.

receiver:  python send.py listen 0.0.0.0:5004     prints its port and fingerprint
sender:    python send.py HOST:PORT FINGERPRINT
"""

import sys

import headway

DATAGRAMS = 20


def receive(address: str) -> None:
    """Accepts a sender and counts its datagrams."""
    with headway.listen(address) as listener:
        print(listener.port, listener.fingerprint, flush=True)
        connection = listener.accept()
    received = sum(1 for _ in connection)
    print(f"{received} datagrams received")


def send(address: str, fingerprint: str) -> None:
    """Sends the datagrams and waits for the outcome of each."""
    with headway.connect(address, trust=fingerprint) as connection:
        # The deadline is 10 s; in a call, 0.15 s.
        waiting = {connection.send(bytes(160), kind="audio", deadline=10) for _ in range(DATAGRAMS)}
        delivered = 0
        for event in connection.events():
            if event.kind == "rate":
                print(f"encoder rate: {event.rate_bps} bit/s")
            elif event.kind == "datagram" and event.fate != "sent":
                # Each datagram has an event when it is sent, and a last one: delivered, lost, discarded.
                waiting.discard(event.number)
                delivered += event.fate == "delivered"
            if not waiting:
                break
    print(f"{delivered} of {DATAGRAMS} datagrams delivered")


if sys.argv[1] == "listen":
    receive(sys.argv[2])
else:
    send(*sys.argv[1:])
