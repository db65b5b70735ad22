#!/usr/bin/python3
"""Corners of the NBD protocol, asked by libnbd and over a bare socket.

  clients.py libnbd URI             what a good client asks, and what a bad one does
  clients.py bare URI               handshakes and requests that libnbd would never send
  clients.py activation COMMAND...  starts the server with a listening socket as systemd does

Every check is a function; the names of those that failed are printed, and the exit code is 1. What only
our server promises is not asked of another one (SERVER, see lib.sh).
"""

import errno
import os
import re
import socket
import struct
import sys
import threading
import time

import nbd

MIB = 1 << 20
OURS = os.environ.get("SERVER", "thermocline") == "thermocline"


def connect(uri, strict=True, **options):
    handle = nbd.NBD()
    if not strict:
        handle.set_strict_mode(0)
    for name, value in options.items():
        getattr(handle, name)(value) if not isinstance(value, list) else [getattr(handle, name)(v) for v in value]
    handle.connect_uri(uri)
    return handle


def fails_with(code, call, *arguments):
    """The request must fail with this errno, and the connection must live on."""
    try:
        call(*arguments)
    except nbd.Error as error:
        assert error.errnum == code, f"error {errno.errorcode.get(error.errnum)}, not {errno.errorcode[code]}: {error}"
        return
    raise AssertionError(f"succeeds, and should fail with {errno.errorcode[code]}")


# ------------------------------------------------------------------------------------- the good client


def structured_replies(uri):
    h = connect(uri)
    assert h.get_structured_replies_negotiated()
    assert h.can_df()


def simple_replies(uri):
    h = connect(uri, set_request_structured_replies=False)
    assert not h.get_structured_replies_negotiated()
    h.pwrite(b"simple" * 100, 4096)
    assert h.pread(600, 4096) == b"simple" * 100
    fails_with(errno.EINVAL, connect(uri, False, set_request_structured_replies=False).pread, 512, h.get_size())


def export_name_without_info(uri):
    """The oldest handshake: no options but EXPORT_NAME."""
    h = connect(uri, set_handshake_flags=0)
    h.pwrite(b"old" * 100, 8192)
    assert h.pread(300, 8192) == b"old" * 100


def block_sizes(uri):
    h = connect(uri)
    least, best, most = (h.get_block_size(n) for n in (nbd.SIZE_MINIMUM, nbd.SIZE_PREFERRED, nbd.SIZE_MAXIMUM))
    if (least, best, most) != (0, 0, 0):
        assert least in (1, 512) and best >= 512 and best & (best - 1) == 0 and most >= MIB, (least, best, most)


def chunks_of_a_read(uri):
    """pread_structured: the chunks cover the range once, and a hole is where nothing is."""
    h = connect(uri)
    h.trim(MIB, 0)
    h.pwrite(b"\xaa" * 65536, 256 << 10)
    seen = []

    def chunk(data, offset, status, error):
        assert not error.value
        assert status in (nbd.READ_DATA, nbd.READ_HOLE), status
        seen.append((offset, len(data), status))

    data = h.pread_structured(MIB, 0, chunk)
    assert data == bytes(256 << 10) + b"\xaa" * 65536 + bytes(MIB - (320 << 10))
    seen.sort()
    at = 0
    for offset, length, _ in seen:
        assert offset == at, seen
        at += length
    assert at == MIB, seen
    one = []
    h.pread_structured(MIB, 0, lambda data, offset, status, error: one.append(offset), nbd.CMD_FLAG_DF)
    assert len(one) == 1, f"{len(one)} chunks in spite of DF"


def extents(h, length, offset, flags=0):
    """[(length, flags), ...] of base:allocation."""
    got = []

    def entry(context, _offset, entries, _error):
        if context == "base:allocation":
            got.extend(zip(entries[::2], entries[1::2]))

    h.block_status(length, offset, entry, flags)
    return got


def block_status(uri):
    h = connect(uri, add_meta_context="base:allocation")
    assert h.can_meta_context("base:allocation")
    h.trim(4 * MIB, 0)
    h.pwrite(b"\x55" * MIB, MIB)
    h.pwrite(b"\x55" * MIB, 2 * MIB)
    found = extents(h, 4 * MIB, 0)
    assert found == [(MIB, 3), (2 * MIB, 0), (MIB, 3)] or (
        found[:2] == [(MIB, 3), (2 * MIB, 0)] and found[2][1] == 3 and found[2][0] >= MIB
    ), found
    one = extents(h, 4 * MIB, MIB, nbd.CMD_FLAG_REQ_ONE)
    assert len(one) == 1 and one[0] == (2 * MIB, 0), one
    # All of the disk, in as many answers as it takes.
    at = 0
    while at < h.get_size():
        part = extents(h, h.get_size() - at, at)
        assert part and all(length for length, _ in part)
        at += sum(length for length, _ in part)
    assert at == h.get_size()


def contexts_are_listed(uri):
    h = connect(uri, set_opt_mode=True)
    names = []
    h.add_meta_context("base:")
    h.opt_list_meta_context(names.append)
    assert "base:allocation" in names, names
    h.clear_meta_contexts()
    h.add_meta_context("x-nobody:nothing")
    none = []
    assert h.opt_list_meta_context(none.append) == 0 and not none
    h.opt_abort()


def exports_are_listed(uri):
    h = connect(uri, set_opt_mode=True)
    names = []
    h.opt_list(lambda name, description: names.append(name))
    assert "" in names or len(names) == 1, names
    h.set_export_name(names[0])
    h.opt_info()
    assert h.get_size() > 0
    h.opt_go()
    h.pread(512, 0)


def fua(uri):
    h = connect(uri)
    assert h.can_fua()
    h.pwrite(b"f" * 5000, 10 * MIB + 100, nbd.CMD_FLAG_FUA)
    h.zero(1000, 10 * MIB + 200, nbd.CMD_FLAG_FUA)
    assert h.pread(5000, 10 * MIB + 100) == b"f" * 100 + bytes(1000) + b"f" * 3900
    h.trim(65536, 10 * MIB, nbd.CMD_FLAG_FUA)
    assert h.pread(65536, 10 * MIB) == bytes(65536)


def zeroes(uri):
    h = connect(uri, add_meta_context="base:allocation")
    assert h.can_zero() and (h.can_fast_zero() or not OURS)
    h.pwrite(b"z" * MIB, 0)
    h.zero(256 << 10, 256 << 10, nbd.CMD_FLAG_NO_HOLE)
    try:
        h.zero(256 << 10, 512 << 10, nbd.CMD_FLAG_FAST_ZERO if h.can_fast_zero() else 0)
        fast = True
    except nbd.Error as error:
        # It may say that it would not be fast, and then must have done nothing.
        assert error.errnum == errno.ENOTSUP, error
        fast = False
    half = bytes(256 << 10) if fast else b"z" * (256 << 10)
    assert h.pread(MIB, 0) == b"z" * (256 << 10) + bytes(256 << 10) + half + b"z" * (256 << 10)
    # Pieces of pages.
    h.pwrite(b"z" * 16384, 0)
    h.zero(5000, 3000)
    assert h.pread(16384, 0) == b"z" * 3000 + bytes(5000) + b"z" * 8384


def trims(uri):
    h = connect(uri)
    h.pwrite(b"t" * MIB, 20 * MIB)
    h.trim(512 << 10, 20 * MIB)
    assert h.pread(MIB, 20 * MIB) == bytes(512 << 10) + b"t" * (512 << 10)
    h.pwrite(b"t" * 512, 20 * MIB + 512)
    assert h.pread(4096, 20 * MIB) == bytes(512) + b"t" * 512 + bytes(3072)
    # All of the disk in one request.
    h.trim(h.get_size(), 0)
    for at in (0, 20 * MIB, h.get_size() - 4096):
        assert h.pread(4096, at) == bytes(4096)


def any_offset_and_length(uri):
    h = connect(uri)
    if h.get_block_size(nbd.SIZE_MINIMUM) > 1:
        return
    model = bytearray(h.pread(40000, 0))
    for start, length, byte in ((1, 1, 1), (4095, 2, 2), (4096, 4095, 3), (0, 12289, 4), (39999, 1, 5), (511, 514, 6)):
        h.pwrite(bytes([byte]) * length, start)
        model[start : start + length] = bytes([byte]) * length
        assert h.pread(40000, 0) == model
    last = h.get_size() - 1
    h.pwrite(b"!", last)
    assert h.pread(1, last) == b"!"


def large_requests(uri):
    h = connect(uri)
    data = os.urandom(MIB) * 32
    h.pwrite(data, 0)
    assert h.pread(len(data), 0) == data


def cache_and_flush(uri):
    h = connect(uri)
    assert h.can_flush() and h.can_cache()
    h.cache(MIB, 0)
    h.flush()


def connections_see_each_other(uri):
    """MULTI_CONN: what one wrote and another flushed, a third reads."""
    a, b, c = (connect(uri) for _ in range(3))
    assert a.can_multi_conn()
    for turn in range(50):
        a.pwrite(bytes([turn]) * 4096, 30 * MIB)
        b.flush()
        assert c.pread(4096, 30 * MIB) == bytes([turn]) * 4096


def many_in_flight(uri):
    """A hundred and more requests under way on one connection; the answers may come in any order."""
    h = connect(uri)
    buffers = [nbd.Buffer.from_bytearray(bytearray([n % 251 + 1]) * 4096) for n in range(512)]
    cookies = [h.aio_pwrite(buffer, 40 * MIB + n * 4096) for n, buffer in enumerate(buffers)]
    reap(h, cookies)
    results = [nbd.Buffer(4096) for _ in buffers]
    reap(h, [h.aio_pread(result, 40 * MIB + n * 4096) for n, result in enumerate(results)])
    for buffer, result in zip(buffers, results):
        assert buffer.to_bytearray() == result.to_bytearray()


def reap(h, cookies):
    waiting = set(cookies)
    while waiting:
        done = {cookie for cookie in waiting if h.aio_command_completed(cookie)}
        waiting -= done
        if waiting and not done:
            h.poll(-1)


def many_connections(uri):
    handles = [connect(uri) for _ in range(40)]
    errors = []

    def work(h, n):
        try:
            for turn in range(20):
                data = bytes([n + 1]) * 4096
                h.pwrite(data, (n * 64 + turn) * 4096)
                assert h.pread(4096, (n * 64 + turn) * 4096) == data
        except Exception as error:  # pylint: disable=broad-except
            errors.append(error)

    threads = [threading.Thread(target=work, args=(h, n)) for n, h in enumerate(handles)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors, errors[0]


# -------------------------------------------------------------------------------------- the bad client


def past_the_end(uri):
    h = connect(uri, strict=False, add_meta_context="base:allocation")
    size = h.get_size()
    for offset, length in ((size, 512), (size - 512, 1024), (size + MIB, 512), ((1 << 63) - 512, 512)):
        fails_with(errno.EINVAL, h.pread, length, offset)
        fails_with(errno.EINVAL, h.trim, length, offset)
        fails_with(errno.ENOSPC, h.pwrite, bytes(length), offset)
        fails_with(errno.ENOSPC, h.zero, length, offset)
        fails_with(errno.EINVAL, h.block_status, length, offset, lambda *_: 0)
        fails_with(errno.EINVAL, h.cache, length, offset)
    assert h.pread(512, size - 512) is not None


def unknown_flags(uri):
    h = connect(uri, strict=False)
    fails_with(errno.EINVAL, h.pread, 512, 0, 1 << 9)
    fails_with(errno.EINVAL, h.pwrite, bytes(512), 0, 1 << 9)
    fails_with(errno.EINVAL, h.flush, 1 << 9)
    assert len(h.pread(512, 0)) == 512


def zero_lengths(uri):
    """What they answer is not laid down; that the connection lives is what matters."""
    h = connect(uri, strict=False)
    for call, arguments in ((h.pwrite, (b"", 0)), (h.trim, (0, 0)), (h.zero, (0, 0)), (h.cache, (0, 0))):
        try:
            call(*arguments)
        except nbd.Error as error:
            assert error.errnum in (errno.EINVAL, errno.ENOSPC), error
    assert len(h.pread(512, 0)) == 512


def status_without_context(uri):
    h = connect(uri, strict=False)
    fails_with(errno.EINVAL, h.block_status, 512, 0, lambda *_: 0)
    assert len(h.pread(512, 0)) == 512


def read_too_long(uri):
    """More than the advertised maximum (32 MiB where none is): refused, or served; the connection lives."""
    h = connect(uri, strict=False)
    try:
        h.pread(64 * MIB, 0)
    except nbd.Error as error:
        assert error.errnum in (errno.EINVAL, errno.EOVERFLOW, errno.ENOMEM, errno.ERANGE), error
    assert len(h.pread(512, 0)) == 512


def unknown_export(uri):
    h = connect(uri, set_opt_mode=True)
    h.set_export_name("no such export")
    try:
        h.opt_go()
    except nbd.Error:
        # Refused: the handshake goes on, and the right name works.
        h.set_export_name("")
        h.opt_go()
        assert len(h.pread(512, 0)) == 512


# ------------------------------------------------------------------------------------ on a bare socket

OPTION = b"IHAVEOPT"
REPLY = 0x3E889045565A9
REQUEST = 0x25609513
SIMPLE = 0x67446698
ERR_UNSUP, ERR_INVALID, ACK = 0x80000001, 0x80000003, 1
EXPORT_NAME, ABORT, LIST, GO, STRUCTURED = 1, 2, 3, 7, 8
CHUNK, ERROR_CHUNK = 0x668E33EF, 0x8001


class Bare:
    """The client's side of the protocol, byte by byte."""

    def __init__(self, uri, flags=3):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(10)
        self.socket.connect(re.search("socket=(.*)", uri)[1])
        if flags is not None:
            magic, option, self.server = struct.unpack(">8s8sH", self.read(18))
            assert (magic, option) == (b"NBDMAGIC", OPTION)
            self.send(struct.pack(">I", flags))

    def send(self, data):
        self.socket.sendall(data)

    def read(self, length):
        data = b""
        while len(data) < length:
            more = self.socket.recv(length - len(data))
            if not more:
                raise EOFError
            data += more
        return data

    def option(self, number, data=b"", length=None):
        self.send(OPTION + struct.pack(">II", number, len(data) if length is None else length) + data)

    def reply(self):
        magic, option, kind, length = struct.unpack(">QIII", self.read(20))
        assert magic == REPLY
        return option, kind, self.read(length)

    def go(self):
        self.option(GO, struct.pack(">IH", 0, 0))
        while True:
            option, kind, _ = self.reply()
            assert option == GO and kind in (ACK, 3), (option, kind)
            if kind == ACK:
                return self

    def request(self, kind, offset=0, length=0, cookie=7, flags=0, data=b""):
        self.send(struct.pack(">IHHQQI", REQUEST, flags, kind, cookie, offset, length) + data)

    def answer(self, payload=0):
        magic, error, cookie = struct.unpack(">IIQ", self.read(16))
        assert magic == SIMPLE
        return error, cookie, self.read(payload) if not error else b""

    def is_dropped(self):
        """The server hangs up (after an error reply, perhaps), rather than wait for more or carry on."""
        try:
            while self.socket.recv(65536):
                pass
        except ConnectionError:
            pass
        except TimeoutError as error:
            raise AssertionError("the server keeps the connection") from error


def still_serves(uri):
    h = connect(uri)
    h.pwrite(b"alive", 50 * MIB)
    assert h.pread(5, 50 * MIB) == b"alive"


def unknown_option(uri):
    c = Bare(uri)
    for data in (b"", b"x" * 1000):
        c.option(0x7777, data)
        assert c.reply()[:2] == (0x7777, ERR_UNSUP)
    c.go()
    c.request(0, 0, 512)
    assert c.answer(512)[:2] == (0, 7)


def malformed_options(uri):
    c = Bare(uri)
    for data in (b"", b"\0", struct.pack(">I", 100) + b"short", struct.pack(">IH", 0, 5)):
        c.option(GO, data)
        option, kind, _ = c.reply()
        assert option == GO and kind >= 1 << 31, hex(kind)
    c.option(LIST, b"must be empty")
    assert c.reply()[1] == ERR_INVALID
    c.go()


def option_of_four_gigabytes(uri):
    c = Bare(uri)
    c.option(LIST, length=0xFFFFFFFF)
    c.is_dropped()


def wrong_option_magic(uri):
    c = Bare(uri)
    c.send(b"IHAVENOT" + struct.pack(">II", LIST, 0))
    c.is_dropped()


def unknown_client_flags(uri):
    Bare(uri, flags=0xFF03).is_dropped()


def abort_is_acknowledged(uri):
    c = Bare(uri)
    c.option(ABORT)
    assert c.reply()[:2] == (ABORT, ACK)
    c.is_dropped()


def export_name_with_zeroes(uri):
    """Without NO_ZEROES 124 of them follow the export's size and flags."""
    c = Bare(uri, flags=1)
    c.option(EXPORT_NAME)
    size, _flags = struct.unpack(">QH", c.read(10))
    assert c.read(124) == bytes(124)
    c.request(0, size - 512, 512)
    assert c.answer(512)[0] == 0


def errors_have_a_text(uri):
    c = Bare(uri)
    c.option(STRUCTURED)
    assert c.reply()[:2] == (STRUCTURED, ACK)
    c.go()
    c.request(0, 1 << 60, 512)
    magic, flags, kind, cookie, length = struct.unpack(">IHHQI", c.read(20))
    assert (magic, flags, kind, cookie) == (CHUNK, 1, ERROR_CHUNK, 7), (hex(magic), flags, hex(kind), cookie)
    body = c.read(length)
    code, told = struct.unpack(">IH", body[:6])
    assert code == errno.EINVAL and len(body) == 6 + told
    body[6:].decode()
    assert told or not OURS, "an error without a text"


def unknown_command(uri):
    c = Bare(uri).go()
    c.request(99, cookie=1)
    assert c.answer()[:2] == (errno.EINVAL, 1)
    c.request(3, cookie=2)
    assert c.answer()[:2] == (0, 2)


def wrong_request_magic(uri):
    c = Bare(uri).go()
    c.send(b"\0" * 28)
    c.is_dropped()


def disconnects(uri):
    c = Bare(uri).go()
    c.request(2)
    c.is_dropped()


def written_byte_by_byte(uri):
    c = Bare(uri).go()
    message = struct.pack(">IHHQQI", REQUEST, 0, 1, 5, 51 * MIB, 64) + b"slowly, " * 8
    for n in range(len(message)):
        c.send(message[n : n + 1])
    assert c.answer()[:2] == (0, 5)
    c.request(0, 51 * MIB, 64)
    assert c.answer(64)[2] == b"slowly, " * 8


def a_write_too_far_is_read_to_its_end(uri):
    """Its payload must not be taken for requests."""
    h = connect(uri)
    c = Bare(uri).go()
    c.request(1, h.get_size(), 100_000, cookie=1, data=b"\x25\x60\x95\x13" * 25_000)
    assert c.answer()[:2] == (errno.ENOSPC, 1)
    c.request(0, 0, 512, cookie=2)
    assert c.answer(512)[:2] == (0, 2)


def gone_in_the_middle(uri):
    """At every point of a write, from the greeting on."""
    message = struct.pack(">IHHQQI", REQUEST, 0, 1, 5, 52 * MIB, 4096) + bytes(4096)
    for cut in (0, 1, 27, 28, 29, 2000, len(message) - 1, len(message)):
        c = Bare(uri).go()
        c.send(message[:cut])
        c.socket.close()
    Bare(uri, flags=None).socket.close()
    c = Bare(uri)
    c.send(b"IHAVE")
    c.socket.close()


def garbage(uri):
    for n in range(20):
        c = Bare(uri, flags=None if n % 2 else 3)
        try:
            c.send(os.urandom(1000))
        except ConnectionError:
            pass
        c.socket.close()


def a_silent_one_stops_nobody(uri):
    """One that asks for much and reads nothing, and one that says nothing at all. (nbdkit 1.32 aborts.)"""
    c = Bare(uri).go()
    c.socket.settimeout(0.2)
    try:
        for cookie in range(2000):
            c.request(0, 0, MIB, cookie)
    except TimeoutError:
        pass
    quiet = Bare(uri, flags=None)
    began = time.monotonic()
    still_serves(uri)
    assert time.monotonic() - began < 5
    c.socket.close()
    quiet.socket.close()


# ----------------------------------------------------------------------------------------- activation


def activation(command):
    for turn in range(2):
        h = nbd.NBD()
        h.connect_systemd_socket_activation(command)
        if turn:
            assert h.pread(9, 0) == b"activated"
        h.pwrite(b"activated", 0)
        h.flush()
        # With the handle goes the server (SIGTERM). The second one reads what the first one wrote.
        h.shutdown()
        del h


LIBNBD = (
    structured_replies, simple_replies, export_name_without_info, block_sizes, chunks_of_a_read, block_status,
    contexts_are_listed, exports_are_listed, fua, zeroes, trims, any_offset_and_length, large_requests,
    cache_and_flush, connections_see_each_other, many_in_flight, many_connections, past_the_end,
    unknown_flags, zero_lengths, status_without_context, read_too_long, unknown_export,
)
BARE = (
    unknown_option, malformed_options, option_of_four_gigabytes, wrong_option_magic, unknown_client_flags,
    abort_is_acknowledged, errors_have_a_text, export_name_with_zeroes, unknown_command, wrong_request_magic, disconnects,
    written_byte_by_byte, a_write_too_far_is_read_to_its_end, gone_in_the_middle, garbage,
    *((a_silent_one_stops_nobody,) if OURS else ()),
)


def run(checks, uri):
    failed = 0
    for check in checks:
        try:
            check(uri)
            still_serves(uri)
        except (AssertionError, nbd.Error, EOFError, OSError) as error:
            failed += 1
            print(f"{check.__name__}: {type(error).__name__} {error}", file=sys.stderr)
    if failed:
        sys.exit(f"{failed} of {len(checks)} checks failed")


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    kind, *rest = sys.argv[1:]
    if kind == "libnbd":
        run(LIBNBD, rest[0])
    elif kind == "bare":
        run(BARE, rest[0])
    elif kind == "activation":
        activation(rest)
    else:
        sys.exit(__doc__)


main()
