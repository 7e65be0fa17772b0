"""Slice records and run files, as libs/storage/FORMAT.md specifies them byte by byte."""

import mmap
import struct
from dataclasses import dataclass, field

STATUS = ("ok", "missing", "truncated", "corrupt", "suppressed", "not_requested")
REASON = ("", "deadline", "source_down", "restarted", "not_produced", "dropped", "masked", "no_buffer",
          "overflow", "too_large", "unknown_source", "gap")
DECISION = ("filter", "prescale", "no_filter", "incomplete", "poison", "undecided")
STREAM_DEFAULT = 1
STREAM_DEBUG = 1 << 63

_HEAD = struct.Struct("<IHHQIIQIHHqqIBBHQIIIIQ")
_FRAGMENT = struct.Struct("<IBBHQIIII")
_EVENT = struct.Struct("<QII")
_FILE_HEADER = struct.Struct("<8sHHIIIqQHHI")
_RECORD_HEAD = struct.Struct("<4sIQQHHI")
_FILE_MAGIC = b"\x89WEIR\r\n\x1a"
_RECORD_MAGIC = b"WREC"
_LAYOUT = 1
_VERSION = 1
_SLICE_TYPE = 1
_KEPT, _CHECKSUMMED = 1, 2


class FormatError(ValueError):
    """Bytes that are not what they should be; the text says what is wrong."""


@dataclass(frozen=True)
class Fragment:
    source: int
    status: str      # of STATUS
    reason: str      # of REASON, when missing
    kept: bool       # the bytes are here
    total: int       # bytes that the source held; 0 when not known
    data: memoryview
    crc32c: "int | None"  # of data; None: checksums were off

    def __len__(self):
        return len(self.data)

    def is_sound(self):
        """Whether the bytes are those that their checksum tells of. Slow: for tests and doubts."""
        return self.crc32c is None or not self.kept or crc32c(self.data) == self.crc32c


@dataclass(frozen=True)
class Slice:
    id: int
    run: int
    attempt: int
    epoch: int
    time_ns: int       # of the trigger, since 1970, UTC
    duration_ns: int
    trigger_type: int
    decision: str      # of DECISION; undecided: a raw sample
    dcm: int           # index of the DCM that built it
    streams: int       # a bit each
    prescale: int
    flags: int
    trigger_payload: memoryview
    filter_result: memoryview
    fragments: list = field(repr=False)
    events: list = field(repr=False)  # (id, bytes)

    @property
    def complete(self):
        return not self.flags & 1

    @property
    def missing(self):
        return [one for one in self.fragments if one.status == "missing"]

    def fragment(self, source):
        """None: the slice has no such source."""
        return next((one for one in self.fragments if one.source == source), None)


def _name(names, index):
    return names[index] if index < len(names) else "unknown"


def parse_slice(record, check=False):
    """A whole slice record. The result refers to its bytes. `check`: compares the meta part's checksum."""
    view = memoryview(record)
    if len(view) < _HEAD.size:
        raise FormatError("a slice record of %d bytes is too short" % len(view))
    (crc, layout, flags, length, meta, fragments, slice_id, run, attempt, epoch, time_ns, duration_ns, kind,
     decision, _, dcm, streams, prescale, trigger_length, result_length, events, _) = _HEAD.unpack_from(view)
    if layout != _LAYOUT:
        raise FormatError("a slice record of layout %d, and %d is known" % (layout, _LAYOUT))
    if length != len(view) or meta > length or meta < _HEAD.size:
        raise FormatError("slice %d: a record of %d bytes that says %d, %d of them meta part" %
                          (slice_id, len(view), length, meta))
    if check and crc32c(view[4:meta]) != crc:
        raise FormatError("slice %d: the meta part's checksum does not match" % slice_id)
    tables = _HEAD.size + fragments * _FRAGMENT.size
    at = tables + events * _EVENT.size
    if at + trigger_length + result_length > meta:
        raise FormatError("slice %d: its tables lead outside of its meta part" % slice_id)
    return Slice(
        id=slice_id, run=run, attempt=attempt, epoch=epoch, time_ns=time_ns, duration_ns=duration_ns,
        trigger_type=kind, decision=_name(DECISION, decision), dcm=dcm, streams=streams, prescale=prescale,
        flags=flags, trigger_payload=view[at:at + trigger_length],
        filter_result=view[at + trigger_length:at + trigger_length + result_length],
        fragments=_fragments(view, slice_id, fragments, meta), events=_events(view, slice_id, tables, events, meta))


def _fragments(view, slice_id, count, meta):
    found = []
    place = meta
    for index in range(count):
        source, status, reason, flags, offset, stored, total, _, stored_crc = _FRAGMENT.unpack_from(
            view, _HEAD.size + index * _FRAGMENT.size)
        if offset != place or stored > len(view) - place:
            raise FormatError("slice %d: source %d leads outside of the record" % (slice_id, source))
        place += stored
        found.append(Fragment(source, _name(STATUS, status), _name(REASON, reason), bool(flags & _KEPT), total,
                              view[offset:place], stored_crc if flags & _CHECKSUMMED else None))
    if place != len(view):
        raise FormatError("slice %d: %d bytes belong to no fragment" % (slice_id, len(view) - place))
    return found


def _events(view, slice_id, tables, count, meta):
    found = []
    for index in range(count):
        event, offset, length = _EVENT.unpack_from(view, tables + index * _EVENT.size)
        if offset + length > meta:
            raise FormatError("slice %d: event %d leads outside of its meta part" % (slice_id, event))
        found.append((event, view[offset:offset + length]))
    return found


def read_run_file(path, check=False):
    """Yields a file's slices in the order in which they stand there, copies that do not count any more too.

    Ends quietly where a file that was not closed ends in the middle of a record.
    """
    with open(path, "rb") as file:
        data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    if len(data) < _FILE_HEADER.size or bytes(data[:8]) != _FILE_MAGIC:
        raise FormatError("%s: is no run file" % path)
    _, version, _, length = _FILE_HEADER.unpack_from(data)[:4]
    if version != _VERSION:
        raise FormatError("%s: a run file of version %d, and %d is known" % (path, version, _VERSION))
    if length > len(data) or length < _FILE_HEADER.size:
        raise FormatError("%s: its header is damaged" % path)
    tag = struct.unpack_from("<I", data, length - 4)[0]
    at = length
    while at + _RECORD_HEAD.size <= len(data):
        magic, its_tag, offset, body, kind, _, _ = _RECORD_HEAD.unpack_from(data, at)
        if magic != _RECORD_MAGIC or its_tag != tag or offset != at:
            raise FormatError("%s: there is no record at %d: `weir file verify` says more" % (path, at))
        begin = at + _RECORD_HEAD.size
        if body > len(data) - begin:
            return
        if kind == _SLICE_TYPE:
            yield parse_slice(data[begin:begin + body], check)
        at = begin + (body + 7) // 8 * 8


def _crc_table():
    table = []
    for value in range(256):
        for _ in range(8):
            value = (value >> 1) ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return table


_CRC = _crc_table()


def crc32c(data):
    """That of RFC 3720. Some MB a second."""
    crc = 0xFFFFFFFF
    for byte in bytes(data):
        crc = _CRC[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF
