#!/usr/bin/python3
"""A program that relies on fsync, and the judge of what it was promised.

  writer.py write DIR LOG SEED       until the disk fails: creates, replaces and deletes files, each made
                                     durable, and overwrites sectors of one big file in place
  writer.py verify DIR LOG           whether DIR holds what the log says was acknowledged

The log stands on another disk: one line before each change ("try") and one after its last fsync
returned ("done"). What was acknowledged must be there; a change that was only tried may be there or
not, but nothing else may.
"""

import errno
import os
import random
import struct
import sys

SECTOR = 512
BIG = "big"
BIG_SECTORS = (16 << 20) // SECTOR
ABSENT = "-"


def contents(seed, size):
    return random.Random(seed).randbytes(size)


def sector(number, version):
    return struct.pack("<QQ", number, version) * (SECTOR // 16)


def sync_folder(path):
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def write_all(file, data, offset):
    """A dying disk makes a write short, and only the next one says why."""
    done = 0
    while done < len(data):
        done += os.pwrite(file.fileno(), data[done:], offset + done)


def put(name, data):
    with open(name, "wb", buffering=0) as out:
        write_all(out, data, 0)
        os.fsync(out.fileno())


class Log:
    """Lines `try KEY STATE` and `done KEY STATE`; STATE is SEED:SIZE or `-` for no file."""

    def __init__(self, path):
        self.out = open(path, "a", encoding="ascii", buffering=1)

    def note(self, what, key, state):
        print(what, key, state, file=self.out)


def read_log(path):
    """For each key: the states it may be in, the last acknowledged one first."""
    allowed = {}
    for line in open(path, encoding="ascii") if os.path.exists(path) else ():
        what, key, state = line.split()
        if what == "try":
            allowed.setdefault(key, [ABSENT]).append(state)
        else:
            # One change of a key is under way at a time, so this one ends all before it.
            allowed[key] = [state]
    return allowed


def overwrite(top, log, rng, version):
    """Some sectors of the big file, in place, and one fsync for all of them."""
    places = [(rng.randrange(BIG_SECTORS - 64), rng.choice((1, 1, 2, 8, 8, 8, 64))) for _ in range(8)]
    with open(os.path.join(top, BIG), "r+b", buffering=0) as big:
        for start, count in places:
            log.note("try", f"sectors:{start}:{count}", version)
            data = b"".join(sector(number, version) for number in range(start, start + count))
            write_all(big, data, start * SECTOR)
        os.fsync(big.fileno())
    for start, count in places:
        log.note("done", f"sectors:{start}:{count}", version)


def write(top, log_path, seed):
    rng = random.Random(int(seed))
    # What a crash left undecided is not touched again.
    known = [key for key, states in read_log(log_path).items() if key[0] == "f" and len(states) == 1 and states != [ABSENT]]
    log = Log(log_path)
    acknowledged = 0
    version = int(seed) << 32
    try:
        if not os.path.exists(os.path.join(top, BIG)):
            put(os.path.join(top, "new"), b"".join(sector(number, 0) for number in range(BIG_SECTORS)))
            os.rename(os.path.join(top, "new"), os.path.join(top, BIG))
            sync_folder(top)
        while True:
            kind = rng.random()
            version += 1
            state = f"{version}:{rng.randrange(1, 48 << 10)}"
            # Room is bounded: from 200 files on one goes for each that comes.
            if kind < 0.25 or (known and len(known) > 200):
                overwrite(top, log, rng, version)
            if known and (kind < 0.45 or len(known) > 200):
                key = known.pop(rng.randrange(len(known)))
                log.note("try", key, ABSENT)
                os.remove(os.path.join(top, key))
                sync_folder(top)
                log.note("done", key, ABSENT)
            elif known and kind < 0.65:
                key = rng.choice(known)
                log.note("try", key, state)
                put(os.path.join(top, "new"), contents(*map(int, state.split(":"))))
                os.rename(os.path.join(top, "new"), os.path.join(top, key))
                sync_folder(top)
                log.note("done", key, state)
            else:
                key = f"f{version}"
                known.append(key)
                log.note("try", key, state)
                put(os.path.join(top, key), contents(*map(int, state.split(":"))))
                sync_folder(top)
                log.note("done", key, state)
            acknowledged += 1
    except OSError as error:
        # libnbd answers EINVAL where it knows already that the connection is dead.
        if error.errno not in (errno.EIO, errno.EROFS, errno.ESHUTDOWN, errno.ENOTCONN, errno.ENODEV, errno.EINVAL):
            raise
        print(f"{acknowledged} changes acknowledged, then: {error.strerror}", file=sys.stderr)


def verify_files(top, allowed):
    wrong = []
    names = set(os.listdir(top)) - {"lost+found", "new", BIG}
    for key in names | {key for key in allowed if key[0] == "f"}:
        states = allowed.get(key, [])
        real = None
        if key in names:
            with open(os.path.join(top, key), "rb") as data:
                real = data.read()
        # A file whose creation was not acknowledged may be there in part.
        if real is not None and ABSENT in states[:1] and len(states) == 2:
            continue
        wanted = (None if state == ABSENT else contents(*map(int, state.split(":"))) for state in states)
        if not any(real == data for data in wanted):
            what = "is missing" if real is None else f"has {len(real)} bytes that it should not have"
            wrong.append(f"{key}: {what}; acknowledged: {states[:1]}, tried since: {states[1:]}")
    return wrong


def verify_sectors(top, log_path):
    """Each sector is of the last acknowledged version or of one tried since."""
    allowed = [[0] for _ in range(BIG_SECTORS)]
    acknowledged = False
    for line in open(log_path, encoding="ascii"):
        what, key, version = line.split()
        if not key.startswith("sectors:"):
            continue
        start, count = map(int, key.split(":")[1:])
        for number in range(start, start + count):
            versions = allowed[number]
            if what == "try":
                versions.append(int(version))
            else:
                acknowledged = True
                del versions[: versions.index(int(version))]
    name = os.path.join(top, BIG)
    if not os.path.exists(name):
        return [f"{BIG}: is missing"] if acknowledged else []
    with open(name, "rb") as data:
        big = data.read()
    wrong = []
    for number, versions in enumerate(allowed):
        real = big[number * SECTOR : (number + 1) * SECTOR]
        if not any(real == sector(number, version) for version in versions):
            found = struct.unpack("<QQ", real[:16]) if len(real) == SECTOR else len(real)
            wrong.append(f"{BIG}: sector {number} holds {found}; it may be of version {versions}")
    return wrong


def verify(top, log_path):
    allowed = read_log(log_path)
    wrong = verify_files(top, allowed) + verify_sectors(top, log_path)
    for line in wrong[:10]:
        print(line, file=sys.stderr)
    if wrong:
        sys.exit(f"{len(wrong)} things that were acknowledged are not there, or things are there that never were written")
    done = sum(line.startswith("done f") for line in open(log_path, encoding="ascii"))
    print(done)


def main():
    commands = {"write": write, "verify": verify}
    if len(sys.argv) < 4 or sys.argv[1] not in commands:
        sys.exit(__doc__)
    commands[sys.argv[1]](*sys.argv[2:])


main()
