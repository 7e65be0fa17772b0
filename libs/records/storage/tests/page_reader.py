#!/usr/bin/env python3
"""Reads run files as libs/records/storage/FORMAT.md says, and prints what is in them: page_reader.py FILE...

Written from that page alone, to see that it is enough: it shares no code with the C++ reader or with python/weir_daq, and must
not. Whoever changes the page changes this as the page says, and looks nowhere else.
"""
import struct
import sys

HEADER_MAGIC = bytes.fromhex('89574549520d0a1a')
RECORD_MAGIC = bytes.fromhex('57524543')
END_MAGIC = bytes.fromhex('8957454952454e44')
SLICE, BEGIN, END, DEAD_LIST, INDEX, FOOTER = 1, 2, 3, 4, 5, 6
HEAD = 32
MASK = (1 << 64) - 1


def _table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


TABLE = _table()


def crc32c(data):
    crc = 0xFFFFFFFF
    table = TABLE
    for byte in data:
        crc = crc >> 8 ^ table[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


assert crc32c(b'123456789') == 0xE3069283


def slice_hash(x):
    x = (x + 0x9E3779B97F4A7C15) & MASK
    x = ((x ^ x >> 30) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ x >> 27) * 0x94D049BB133111EB) & MASK
    return x ^ x >> 31


def up8(length):
    return (length + 7) // 8 * 8


class Refused(Exception):
    pass


def need(condition, why):
    if not condition:
        raise Refused(why)


def read_header(data):
    need(len(data) >= 48 and data[:8] == HEADER_MAGIC, 'no header')
    major, _minor, length, run, sequence, created = struct.unpack_from('<HHIIIq', data, 8)
    need(major == 1, 'another major version')
    writer, farm = struct.unpack_from('<HH', data, 40)
    need(writer <= 1024 and farm <= 1024 and length == up8(48 + writer + farm + 4) and length <= len(data), 'lengths')
    tag, = struct.unpack_from('<I', data, length - 4)
    need(crc32c(data[:length - 4]) == tag, 'header checksum')
    names = data[48:48 + writer], data[48 + writer:48 + writer + farm]
    return {'length': length, 'tag': tag, 'run': run, 'sequence': sequence, 'created': created, 'names': names}


def head_at(data, offset, tag):
    """(type, length of the body) of the record at `offset`, or None."""
    head = data[offset:offset + HEAD]
    if len(head) < HEAD or head[:4] != RECORD_MAGIC:
        return None
    its_tag, its_offset, length, kind, _flags, crc = struct.unpack('<IQQHHI', head[4:])
    if its_tag != tag or its_offset != offset or crc32c(head[:28]) != crc:
        return None
    if offset + HEAD + up8(length) > len(data):
        return None  # torn
    return kind, length


def records(data, header):
    offset = header['length']
    while offset < len(data):
        found = head_at(data, offset, header['tag'])
        if found is None:
            offset += 8
            while offset < len(data) and data[offset:offset + 4] != RECORD_MAGIC:
                offset += 8
            continue
        kind, length = found
        yield offset, kind, data[offset + HEAD:offset + HEAD + length]
        offset += HEAD + up8(length)


def sealed(body):
    need(len(body) >= 8 and crc32c(body[4:]) == struct.unpack_from('<I', body)[0], 'checksum')


def lines_of(body, length):
    need(len(body) >= 16, 'short')
    sealed(body)
    its_length, count = struct.unpack_from('<IQ', body, 4)
    need(its_length == length and len(body) == 16 + count * length, 'lines')
    return [body[16 + i * length:16 + (i + 1) * length] for i in range(count)]


def read_slice(body):
    need(len(body) >= 96, 'short')
    crc, layout, flags, length, meta, fragments = struct.unpack_from('<IHHQII', body)
    need(layout == 1, 'another layout')
    need(length == len(body) and 96 <= meta <= length and meta % 8 == 0, 'lengths')
    need(crc32c(body[4:meta]) == crc, 'checksum of the meta part')
    slice_id, run, attempt, epoch, time, duration, trigger = struct.unpack_from('<QIHHqqI', body, 24)
    decision, zero, dcm, streams, prescale, t, r, events, zeros = struct.unpack_from('<BBHQIIIIQ', body, 60)
    need(zero == 0 and zeros == 0, 'not zero')
    out = {'id': slice_id, 'run': run, 'attempt': attempt, 'epoch': epoch, 'flags': flags, 'streams': streams,
           'time': time, 'sound': True}
    at = 96 + 32 * fragments + 16 * events
    need(at + t + r <= meta, 'lengths')
    payload, result = body[at:at + t], body[at + t:at + t + r]
    out['line'] = (f'slice {slice_id} run {run} attempt {attempt} epoch {epoch} flags {flags} time {time} duration {duration} '
                   f'type {trigger} decision {decision} dcm {dcm} streams {streams} prescale {prescale} '
                   f'trigger {t} {crc32c(payload):08x} result {r} {crc32c(result):08x}')
    out['more'] = []
    offset = meta
    for i in range(fragments):
        source, status, reason, bits, where, stored, total, whole, kept_crc = struct.unpack_from('<IBBHQIIII', body, 96 + 32 * i)
        kept, checksummed = bits & 1, bits >> 1 & 1
        need(where == offset and (kept or stored == 0), 'fragment table')
        data = body[offset:offset + stored]
        need(len(data) == stored, 'fragment table')
        crc = crc32c(data)
        if kept and checksummed:
            # Equal for a whole, sound fragment.
            wrong = crc != kept_crc or (status == 0 and stored == total and whole != kept_crc)
            out['sound'] = out['sound'] and not wrong
        offset += stored
        out['more'].append(f'  fragment {source} status {status} reason {reason} kept {kept} checksummed {checksummed} '
                           f'stored {stored} total {total} crc {whole:08x} {kept_crc:08x} is {crc:08x}')
    need(offset == len(body), 'fragments')
    at += t + r
    for i in range(events):
        event, where, stored = struct.unpack_from('<QII', body, 96 + 32 * fragments + 16 * i)
        need(where == at and at + stored <= meta, 'event table')
        out['more'].append(f'  event {event} bytes {stored} {crc32c(body[at:at + stored]):08x}')
        at += stored
    need(up8(at) == meta and not any(body[at:meta]), 'end of the meta part')
    return out


def read_footer(data, header):
    """None: the file was not closed. Refused: it was, and footer or index are damaged."""
    if len(data) < 104 or data[-8:] != END_MAGIC:
        return None
    found = head_at(data, len(data) - 104, header['tag'])
    need(found == (FOOTER, 72), 'footer')
    body = data[-72:]
    sealed(body)
    content, where, length, count, tail, live, hashes, number = struct.unpack_from('<IQQQQQQQ', body, 4)
    index = head_at(data, where, header['tag'])
    need(index == (INDEX, length), 'index')
    lines = [struct.unpack('<QQQQqHHHH', line) for line in lines_of(data[where + HEAD:where + HEAD + length], 48)]
    need(len(lines) == count, 'index')
    is_content = crc32c(data[:-104]) == content
    said = (f'footer content {content:08x} {"right" if is_content else "wrong"} index {where} {length} {count} '
            f'tail {tail} live {live} {hashes:016x} records {number}')
    return {'said': said, 'lines': lines}


def read(data):
    header = read_header(data)
    writer, farm = header['names']
    print(f'run {header["run"]} sequence {header["sequence"]} created {header["created"]} '
          f'writer {writer.decode()} farm {farm.decode()}')
    try:
        footer = read_footer(data, header)
        state = 'not closed' if footer is None else 'closed'
    except Refused:
        footer, state = None, 'damaged'
    print(state)
    copies = []  # slice, attempt, epoch, offset, dead
    dead = set()
    for offset, kind, body in records(data, header):
        print(f'record {offset} type {kind} length {len(body)}')
        try:
            if kind == SLICE:
                one = read_slice(body)
                print(f'{one["line"]} {"sound" if one["sound"] else "fragments damaged"}')
                for line in one['more']:
                    print(line)
                # A torn record does not count.
                if one['sound'] or state == 'damaged':
                    copies.append((one['id'], one['attempt'], one['epoch'], offset, False))
            elif kind in (BEGIN, END):
                sealed(body)
                print(f'content {body[8:].decode()}')
            elif kind == DEAD_LIST:
                for line in lines_of(body, 16):
                    its_slice, attempt, epoch, sequence = struct.unpack('<QHHI', line)
                    dead.add((its_slice, attempt, epoch))
                    print(f'dead {its_slice} attempt {attempt} epoch {epoch} sequence {sequence}')
            elif kind == INDEX:
                for line in lines_of(body, 48):
                    print('index %d %d %d %d %d %d %d %d %d' % struct.unpack('<QQQQqHHHH', line))
        except Refused:
            print('damaged')
    if footer:
        print(footer['said'])
        copies = [(one[0], one[5], one[6], one[1], bool(one[8] & 1)) for one in footer['lines']]
    counting = {}
    for its_slice, attempt, epoch, offset, is_dead in sorted(copies, key=lambda one: one[3]):
        best = counting.get(its_slice)
        # The highest epoch, dead or not, decides; of two alike the first.
        if best is None or epoch > best[0]:
            counting[its_slice] = (epoch, offset, is_dead or (its_slice, attempt, epoch) in dead)
    alive = sorted((its_slice, offset) for its_slice, (_, offset, is_dead) in counting.items() if not is_dead)
    for its_slice, offset in alive:
        print(f'counts {its_slice} at {offset}')
    print(f'live {len(alive)} {sum(slice_hash(one[0]) for one in alive) & MASK:016x}')


for path in sys.argv[1:]:
    print('file ' + path)
    with open(path, 'rb') as file:
        content = file.read()
    try:
        read(content)
    except Refused:
        print('unreadable')
