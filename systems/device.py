#!/usr/bin/python3
"""A host that knows what its disk promised, without a file system between them.

  device.py fill URI STATE           writes the whole disk once and flushes it
  device.py write URI STATE SEED     until the server dies: writes, trims, zeroes and flushes over several
                                     connections at once, some with FUA; what may be where goes to STATE
  device.py verify URI STATE         whether every sector holds what it may

What a flush covered, on whichever connection it was answered, must be there, trims included. What came
after it is either old or new, sector by sector.
"""

import pickle
import random
import struct
import sys
import threading

import nbd

SECTOR = 512
CHUNK = (1 << 20) // SECTOR
CONNECTIONS = 4


def contents(number, version):
    """Version 0 is what a trim or a write of zeroes leaves, and what a new disk holds."""
    return struct.pack("<QQ", number, version) * (SECTOR // 16) if version else bytes(SECTOR)


class Promises:
    """For each sector the changes that may have been its last: pairs of the change's number and version.

    The first of them is sure to have come through. One change of a sector is under way at a time, so
    they stand in the order of their making. A sector that is not in here was never changed.
    """

    def __init__(self, path):
        self.path = path
        self.lock = threading.Lock()
        self.under_way = []
        self.answered = []
        try:
            with open(path, "rb") as saved:
                self.changes, self.last, self.counts = pickle.load(saved)
        except FileNotFoundError:
            self.changes, self.last, self.counts = {}, 0, {}

    def save(self):
        with open(self.path, "wb") as out:
            pickle.dump((self.changes, self.last, self.counts), out)

    def begin(self, start, count, empties):
        """Notes a change; its number, or None if another one of these sectors is under way."""
        with self.lock:
            if any(start < other + length and other < start + count for other, length in self.under_way):
                return None
            self.under_way.append((start, count))
            self.last += 1
            change = (self.last, 0 if empties else self.last)
            for sector in range(start, start + count):
                self.changes.setdefault(sector, [(0, 0)]).append(change)
            return self.last

    def answer(self, kind, start, count, number, durable):
        with self.lock:
            self.under_way.remove((start, count))
            self.counts[kind] = self.counts.get(kind, 0) + 1
            if durable:
                self._settle(start, count, number)
            else:
                self.answered.append((start, count, number))

    def flush(self, handle):
        with self.lock:
            covered, self.answered = self.answered, []
        handle.flush()
        with self.lock:
            self.counts["flush"] = self.counts.get("flush", 0) + 1
            for change in covered:
                self._settle(*change)

    def _settle(self, start, count, number):
        """The change is durable: what was before it cannot come back. (It may itself be history by now.)"""
        for sector in range(start, start + count):
            self.changes[sector] = [change for change in self.changes[sector] if change[0] >= number]


def connect(uri, connections):
    handles = []
    while len(handles) < connections:
        handle = nbd.NBD()
        handle.connect_uri(uri)
        handles.append(handle)
        if not handle.can_multi_conn():
            break
    return handles


def fill(uri, state):
    """The whole disk once, so that the server has to clean from the start."""
    promises = Promises(state)
    (handle,) = connect(uri, 1)
    sectors = handle.get_size() // SECTOR
    for start in range(0, sectors, CHUNK):
        count = min(CHUNK, sectors - start)
        number = promises.begin(start, count, False)
        data = b"".join(contents(sector, number) for sector in range(start, start + count))
        handle.pwrite(data, start * SECTOR)
        promises.answer("write", start, count, number, False)
    promises.flush(handle)
    promises.save()


def traffic(handle, promises, rng):
    sectors = handle.get_size() // SECTOR
    page = max(handle.get_block_size(nbd.SIZE_PREFERRED), 4096) // SECTOR
    hot = sectors // 10
    while True:
        kind = rng.choices(("write", "trim", "zero", "flush"), (70, 8, 8, 14))[0]
        if kind == "flush":
            promises.flush(handle)
            continue
        # Half of the changes go to a tenth of the disk; most are whole pages, some begin and end anywhere.
        start = rng.randrange(hot if rng.random() < 0.5 else sectors)
        count = rng.choice((page, page, page, 2 * page, 16 * page)) if kind == "write" else rng.choice((1, 4, 32)) * page
        if kind == "trim" or rng.random() < 0.8:
            start -= start % page
        else:
            count = rng.choice((1, 3, page - 1, page + 1))
        count = min(count, sectors - start)
        number = promises.begin(start, count, kind != "write")
        if number is None:
            continue
        fua = nbd.CMD_FLAG_FUA if rng.random() < 0.15 and handle.can_fua() else 0
        if kind == "write":
            handle.pwrite(b"".join(contents(s, number) for s in range(start, start + count)), start * SECTOR, fua)
        elif kind == "trim":
            handle.trim(count * SECTOR, start * SECTOR, fua)
        else:
            no_hole = rng.choice((0, nbd.CMD_FLAG_NO_HOLE))
            handle.zero(count * SECTOR, start * SECTOR, fua | no_hole)
        promises.answer(kind, start, count, number, bool(fua))


def write(uri, state, seed):
    promises = Promises(state)
    handles = connect(uri, CONNECTIONS)
    refused = []

    def work(handle, number):
        try:
            traffic(handle, promises, random.Random(f"{seed} {number}"))
        except nbd.Error as error:
            if not handle.aio_is_dead() and not handle.aio_is_closed():
                refused.append(error)

    threads = [threading.Thread(target=work, args=(handle, n)) for n, handle in enumerate(handles)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    promises.save()
    if refused:
        sys.exit(f"the server refused a request and lived on: {refused[0]}")


def verify(uri, state):
    promises = Promises(state)
    (handle,) = connect(uri, 1)
    sectors = handle.get_size() // SECTOR
    wrong = []
    for first in range(0, sectors, CHUNK):
        count = min(CHUNK, sectors - first)
        real = bytes(handle.pread(count * SECTOR, first * SECTOR))
        for sector in range(first, first + count):
            found = real[(sector - first) * SECTOR :][:SECTOR]
            allowed = promises.changes.get(sector, [(0, 0)])
            # The newest first: of two that look alike either will do.
            match = next((change for change in reversed(allowed) if contents(sector, change[1]) == found), None)
            if match is None:
                holds = struct.unpack("<QQ", found[:16])
                wrong.append(f"sector {sector} holds (sector, version) {holds}; it may be of version "
                             f"{sorted({version for _, version in allowed})}")
            else:
                promises.changes[sector] = [match]
    # What was seen now stays.
    handle.flush()
    promises.save()
    for line in wrong[:10]:
        print(line, file=sys.stderr)
    if wrong:
        sys.exit(f"{len(wrong)} of {sectors} sectors hold what they must not")
    print(*(f"{count} {kind}" for kind, count in sorted(promises.counts.items())), sep=", ")


def main():
    commands = {"fill": fill, "write": write, "verify": verify}
    if len(sys.argv) < 4 or sys.argv[1] not in commands:
        sys.exit(__doc__)
    commands[sys.argv[1]](*sys.argv[2:])


main()
