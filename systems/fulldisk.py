"""The client of fulldisk.sh: pages that say which they are, and of which version.

  fulldisk.py write URI COUNT VERSION     pages from 0 on, then a flush; exit code 5 if that got EIO
  fulldisk.py churn URI COUNT             all other pages, twice in random order, then a flush
  fulldisk.py read URI COUNT              prints the version of each; fails at an error or anything else
"""

import random
import struct
import sys

import nbd

PAGE = 4096


def content(page, version):
    return struct.pack("<QQ", page, version) * (PAGE // 16)


def tried(call, *arguments):
    """The error number that a call ended with, or 0."""
    try:
        call(*arguments)
    except nbd.Error as error:
        return error.errnum
    return 0


def main(do, uri, count, *rest):
    disk, count = nbd.NBD(), int(count)
    disk.connect_uri(uri)
    if do == "write":
        version = int(rest[0])
        for page in range(count):
            # What finds no room below may be refused at once.
            if error := tried(disk.pwrite, content(page, version), page * PAGE):
                print(f"page {page} was refused: {error}", file=sys.stderr)
        sys.exit(tried(disk.flush))
    if do == "churn":
        pages = disk.get_size() // PAGE
        draw = random.Random(1)
        for _ in range(2 * pages):
            page = draw.randrange(count, pages)
            disk.pwrite(content(page, 9), page * PAGE)
        disk.flush()
    if do == "read":
        for page in range(count):
            found = bytes(disk.pread(PAGE, page * PAGE))
            version = struct.unpack_from("<Q", found, 8)[0]
            if found != content(page, version) or not version:
                sys.exit(f"page {page} holds something else")
            print(version)


main(*sys.argv[1:])
