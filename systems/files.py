#!/usr/bin/python3
"""Files with known contents, for the tests of file systems.

  files.py fill DIR MANIFEST BYTES SEED     adds files of BYTES in all to those of the manifest
  files.py thin DIR MANIFEST SEED           deletes every second file, at random
  files.py verify DIR MANIFEST              exactly the files of the manifest are there, with their contents
  files.py spoil IMAGE                      damages files where they lie in an image (to see a test fail)

The manifest has one line a file: SHA-256, size, path. Every file of some size begins with a line that
`spoil` finds; the rest are random bytes, so that no file system can compress or share them.
"""

import hashlib
import mmap
import os
import random
import sys

MARK = b"a file of thermocline's tests, number "


def sizes(rng, total):
    """Mostly small files, some of a few mebibytes, some empty."""
    while total > 0:
        kind = rng.random()
        if kind < 0.03:
            size = 0
        elif kind < 0.75:
            size = rng.randrange(1, 64 << 10)
        elif kind < 0.95:
            size = rng.randrange(64 << 10, 1 << 20)
        else:
            size = rng.randrange(1 << 20, 8 << 20)
        size = min(size, total)
        yield size
        total -= size


def contents(rng, number, size):
    head = MARK + b"%d\n" % number
    return (head + rng.randbytes(size - len(head))) if size > len(head) else rng.randbytes(size)


def load(manifest):
    if not os.path.exists(manifest):
        return {}
    with open(manifest, encoding="ascii") as lines:
        rows = (line.split() for line in lines)
        return {path: (digest, int(size)) for digest, size, path in rows}


def store(manifest, files):
    with open(manifest, "w", encoding="ascii") as out:
        for path, (digest, size) in files.items():
            print(digest, size, path, file=out)


def fill(top, manifest, total, seed):
    rng = random.Random(int(seed))
    files = load(manifest)
    for number, size in enumerate(sizes(rng, int(total))):
        path = f"round-{seed}/folder-{number % 13}/file-{number}"
        data = contents(rng, number, size)
        name = os.path.join(top, path)
        os.makedirs(os.path.dirname(name), exist_ok=True)
        with open(name, "wb") as out:
            out.write(data)
        files[path] = (hashlib.sha256(data).hexdigest(), size)
    store(manifest, files)


def thin(top, manifest, seed):
    rng = random.Random(int(seed))
    files = load(manifest)
    for path in rng.sample(list(files), len(files) // 2):
        os.remove(os.path.join(top, path))
        del files[path]
    store(manifest, files)


def verify(top, manifest):
    files = load(manifest)
    found = {
        os.path.relpath(os.path.join(folder, name), top)
        for folder, folders, names in os.walk(top)
        if "lost+found" not in folder.split("/")
        for name in names
    }
    wrong = [f"{path}: is there, though it was deleted" for path in found - files.keys()]
    for path, (digest, size) in files.items():
        try:
            with open(os.path.join(top, path), "rb") as data:
                real = data.read()
        except OSError as error:
            wrong.append(f"{path}: {error.strerror}")
            continue
        if len(real) != size:
            wrong.append(f"{path}: has {len(real)} bytes, not {size}")
        elif hashlib.sha256(real).hexdigest() != digest:
            wrong.append(f"{path}: its contents changed")
    for line in sorted(wrong)[:10]:
        print(line, file=sys.stderr)
    if wrong or not files:
        sys.exit(f"{len(wrong)} of {len(files)} files are not as they were")


def spoil(image):
    damaged = 0
    with open(image, "r+b") as raw, mmap.mmap(raw.fileno(), 0) as data:
        place = data.find(MARK)
        while place >= 0:
            data[place + len(MARK) + 20] ^= 1
            damaged += 1
            place = data.find(MARK, place + 1)
    if not damaged:
        sys.exit("found no file to damage")


def main():
    commands = {"fill": fill, "thin": thin, "verify": verify, "spoil": spoil}
    if len(sys.argv) < 2 or sys.argv[1] not in commands:
        sys.exit(__doc__)
    commands[sys.argv[1]](*sys.argv[2:])


main()
