"""Reads `series.arrow` with Python's standard library: only the layout that Headway writes (docs/src/records.md)."""

import array
import pathlib
import struct
import sys


class _Table:
    """A flatbuffer table: fields by number, through its vtable."""

    def __init__(self, data, at):
        self.data, self.at = data, at
        self.vtable = at - struct.unpack_from("<i", data, at)[0]
        self.size = struct.unpack_from("<H", data, self.vtable)[0]

    def place(self, field):
        """Returns the offset of a field, or None."""
        entry = 4 + 2 * field
        offset = struct.unpack_from("<H", self.data, self.vtable + entry)[0] if entry < self.size else 0
        return self.at + offset if offset else None

    def number(self, field):
        place = self.place(field)
        return struct.unpack_from("<q", self.data, place)[0] if place else 0

    def table(self, field):
        place = self.place(field)
        return _Table(self.data, place + struct.unpack_from("<I", self.data, place)[0])

    def structs(self, field, layout):
        place = self.place(field)
        if place is None:
            return []
        start = place + struct.unpack_from("<I", self.data, place)[0]
        count = struct.unpack_from("<I", self.data, start)[0]
        return [struct.unpack_from(layout, self.data, start + 4 + struct.calcsize(layout) * i) for i in range(count)]


def _root(data, at):
    return _Table(data, at + struct.unpack_from("<I", data, at)[0])


def _numbers(code, data):
    numbers = array.array(code, data)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


def _message(data, block):
    """Returns the header of a message and the offset of its body."""
    offset, metadata_length, _body_length = block
    header = _root(data, offset + 8).table(2)
    return header, offset + metadata_length


def _buffers(data, batch, body):
    return [data[body + at:body + at + length] for at, length in batch.structs(2, "<qq")]


def of(record):
    """Returns {(entity, metric): [(seconds, value)]} of the record in this folder, in the order of time."""
    path = pathlib.Path(record) / "series.arrow"
    data = path.read_bytes()
    if data[:6] != b"ARROW1" or data[-6:] != b"ARROW1":
        raise ValueError(f"{path} is not an Arrow file")
    footer = _root(data, len(data) - 10 - struct.unpack_from("<i", data, len(data) - 10)[0])
    names = []
    for block in footer.structs(2, "<qi4xq"):
        dictionary, body = _message(data, block)
        _, offsets, text = _buffers(data, dictionary.table(1), body)
        ends = _numbers("i", offsets)
        names.append([text[a:b].decode() for a, b in zip(ends, ends[1:])])
    entities, metrics = names
    series = {}
    for block in footer.structs(3, "<qi4xq"):
        batch, body = _message(data, block)
        rows = batch.number(0)
        _, times, _, entity, _, metric, _, values = _buffers(data, batch, body)
        columns = (_numbers("Q", times), _numbers("i", entity), _numbers("i", metric), _numbers("d", values))
        for time, which, what, value in zip(*(column[:rows] for column in columns)):
            series.setdefault((entities[which], metrics[what]), []).append((time / 1e9, value))
    return series
