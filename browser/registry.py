"""Files of packages of the npm registry, fetched once: tools that test pages, which no build needs.

    browser/registry.py NAME@VERSION MEMBER     prints where the file is
"""

import io
import os
import pathlib
import sys
import tarfile
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
KEPT = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "browser"


def fetched(package, member):
    """A file of a package, all of which is unpacked beside it; nothing where the registry cannot be reached."""
    folder = KEPT / package.replace("/", "+")
    if not (folder / "package" / member).exists():
        name, version = package.rsplit("@", 1)
        url = f"https://registry.npmjs.org/{name}/-/{name.rsplit('/', 1)[-1]}-{version}.tgz"
        try:
            with urllib.request.urlopen(url, timeout=60) as answer:
                packed = io.BytesIO(answer.read())
        except (urllib.error.URLError, OSError) as error:
            print(f"registry.py: {url}: {error}", file=sys.stderr)
            return None
        folder.mkdir(parents=True, exist_ok=True)
        with tarfile.open(fileobj=packed) as files:
            files.extractall(folder)
    return folder / "package" / member


def axe():
    """The accessibility checker's script."""
    path = fetched("axe-core@4.10.3", "axe.min.js")
    return path and path.read_text(encoding="utf-8")


if __name__ == "__main__":
    path = fetched(*sys.argv[1:])
    sys.exit(print(path) if path else 1)
