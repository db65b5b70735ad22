"""Where traces are, for workers that are elsewhere: paths, addresses of object stores, arrays.

An address (``s3://bucket/trace.csv.gz``, whatever fsspec opens) is fetched once a machine, into a folder of the
cache named by the SHA-256 of its bytes: $THERMOCLINE_CACHE, by default ~/.cache/thermocline. It may be deleted.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import tempfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Union, cast
from urllib.parse import urlsplit

from . import _native
from . import trace as _trace
from ._pool import Pool

_STEP = 1 << 20
_OPTIONS = "storage_options= is what fsspec takes for such an address"
_VERSIONS = ("ETag", "etag", "mtime", "LastModified", "last_modified", "updated", "md5Hash", "content_md5")
"""What file systems call that which changes with a file."""


Options = Union[Mapping[str, Any], None]
"""What a file system of fsspec is made with: keys, an endpoint."""


@dataclass(frozen=True)
class Remote:
    """A trace at an address, and the SHA-256 of its bytes."""

    url: str
    digest: str
    options: Options = field(default=None, repr=False, hash=False)


@dataclass(frozen=True)
class Spooled:
    """A trace in memory that was written to files: a file an array, or one of a table."""

    name: str
    folder: str


@dataclass(frozen=True)
class Missing:
    """No trace, and why."""

    why: str


Place = Union[Remote, Spooled, Missing, _trace.Trace, None]


def is_address(name: str) -> bool:
    """Whether fsspec opens it."""
    return "://" in name


def cache() -> Path:
    """The folder of what was fetched."""
    usual = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "thermocline"
    return Path(os.environ.get("THERMOCLINE_CACHE") or usual)


@contextmanager
def alone(folder: str | os.PathLike[str], name: str) -> Generator[Path]:
    """One holder of this name in a folder at a time, on all machines that share it, and the file of the lock. That of one
    that died is free. A file system without locks has none."""
    locks = Path(folder, ".locks")
    locks.mkdir(parents=True, exist_ok=True)
    with (locks / name).open("w") as file:
        if os.name == "nt":
            msvcrt: Any = importlib.import_module("msvcrt")
            with suppress(OSError):
                msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)
            yield locks / name
            return
        import fcntl

        with suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)
        try:
            yield locks / name
        finally:
            # A process that was forked meanwhile has the file open, too, and would hold the lock for as long as it lives.
            with suppress(OSError):
                fcntl.flock(file, fcntl.LOCK_UN)


def file_system(url: str, options: Options) -> tuple[Any, str]:
    """The file system of fsspec for an address, and the path in it."""
    try:
        core: Any = importlib.import_module("fsspec.core")
        return cast("tuple[Any, str]", core.url_to_fs(url, **(options or {})))
    except ImportError as error:
        if error.name == "fsspec":
            raise _native.UsageError(f"{url} needs fsspec; pip install 'thermocline[remote]'") from None
        raise _native.UsageError(f"{url}: {error}") from None
    except (TypeError, ValueError) as error:
        raise _native.UsageError(f"{url}: {error}; {_OPTIONS}") from None


def looked_up(url: str, options: Options = None) -> tuple[str | None, str]:
    """The digest of what is at an address, or why there is none."""
    try:
        return digest_of(url, options), ""
    except _native.ThermoclineError as error:
        return None, str(error)


def digest_of(url: str, options: Options = None) -> str:
    """The SHA-256 of what is at an address, which is fetched unless it is known and has not changed."""
    system, path = file_system(url, options)
    try:
        return _digest(system, path, url, options)
    except _native.ThermoclineError:
        raise
    except TypeError as error:
        raise _native.UsageError(f"{url}: {error}; {_OPTIONS}") from error
    except Exception as error:
        # Each file system has exceptions of its own.
        if isinstance(error, FileNotFoundError):
            # Of HTTP's file system a server that cannot be reached is a file that is not there.
            unreached = isinstance(error.__cause__, OSError) and not isinstance(error.__cause__, FileNotFoundError)
            why = f"it cannot be reached: {error.__cause__}" if unreached else "there is no such object"
        else:
            why = f"it cannot be read: {error or type(error).__name__}"
        raise _native.InputError(f"{url}: {why}") from error


def _digest(system: Any, path: str, url: str, options: Options) -> str:
    info: dict[str, Any] = system.info(path)
    version = [str(info[key]) for key in _VERSIONS if info.get(key)]
    version.append(str(info.get("size")))
    # One name may be two objects, at two endpoints.
    said = url + (json.dumps(dict(options), sort_keys=True, default=str) if options else "")
    name = hashlib.sha256(said.encode()).hexdigest()
    known = cache() / "addresses" / name
    with alone(cache(), name):
        if len(version) > 1 and known.is_file():
            kept = json.loads(known.read_text())
            if kept["version"] == version:
                return kept["digest"]
        digest = _fetched(system, path, _file_name(url))
        known.parent.mkdir(parents=True, exist_ok=True)
        known.write_text(json.dumps({"url": url, "version": version, "digest": digest}))
    return digest


def fetch(remote: Remote) -> Path:
    """The file of a trace at an address."""
    path = cache() / remote.digest / _file_name(remote.url)
    if path.is_file():
        return path
    with alone(cache(), remote.digest):
        if not path.is_file():
            system, there = file_system(remote.url, remote.options)
            if _fetched(system, there, path.name) != remote.digest:
                raise _native.InputError(f"{remote.url}: it is not what it was when the work began; begin again")
    return path


def _file_name(url: str) -> str:
    """The end of an address, by which a format may be known."""
    return os.path.basename(urlsplit(url).path) or "trace"


def _fetched(system: Any, path: str, name: str) -> str:
    folder = cache()
    folder.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    with tempfile.NamedTemporaryFile(dir=folder, prefix=".", suffix=".part", delete=False) as part:
        try:
            with system.open(path, "rb") as file:
                while piece := file.read(_STEP):
                    digest.update(piece)
                    part.write(piece)
            part.close()
            there = folder / digest.hexdigest() / name
            there.parent.mkdir(exist_ok=True)
            os.replace(part.name, there)
        except BaseException:
            os.unlink(part.name)
            raise
    return digest.hexdigest()


def of_here(trace: Place) -> tuple[str | None, dict[str, _native.Memory], str]:
    """On a worker: the path of a trace, or it in memory; and what tells it from others of its name."""
    if isinstance(trace, Missing):
        raise _native.InputError(trace.why)
    if isinstance(trace, Remote):
        return str(fetch(trace)), {}, trace.digest
    if isinstance(trace, Spooled):
        import numpy as np

        table = Path(trace.folder, "table.arrow")
        if table.is_file():
            memory = _native.Memory.of_ipc(table.read_bytes())
        else:
            files = (Path(trace.folder, f"{one}.npy") for one in _trace.COLUMNS)
            arrays: list[Any] = [np.load(file, mmap_mode="r") if file.is_file() else None for file in files]
            memory = _native.Memory.of_arrays(*arrays)
        return None, {trace.name: memory}, trace.folder
    if isinstance(trace, _trace.Trace):
        return None, {trace.name: trace._memory}, str(id(trace._memory))
    return None, {}, ""


class Places:
    """The traces of a call, by the names they have in it."""

    def __init__(self, traces: Sequence[_trace.TraceLike], options: Options = None) -> None:
        self.names: list[str] = []
        self.traces: dict[str, _trace.Trace] = {}
        self.digests: dict[str, str] = {}
        self.missing: dict[str, str] = {}
        """Why nothing is known of what is at an address."""
        self._options = options
        self._placed: dict[str, Any] = {}
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        for one in traces:
            opened = _trace.open(one)
            if isinstance(opened, _trace.Trace):
                known = self.traces.setdefault(opened.name, opened)
                if known._memory is not opened._memory and known._memory.digest() != opened._memory.digest():
                    raise _native.UsageError(f"two traces are called {opened.name}; name them by trace.open(name=)")
                opened = opened.name
            self.names.append(opened)

    @property
    def memories(self) -> dict[str, _native.Memory]:
        """Traces of this process."""
        return {name: trace._memory for name, trace in self.traces.items()}

    def local(self) -> list[str]:
        """Their names for this process, in which those at addresses are files."""
        return [self._fetched(name) if is_address(name) else name for name in self.names]

    def _fetched(self, url: str) -> str:
        return str(fetch(Remote(url, digest_of(url, self._options), self._options)))

    def digest(self, pool: Pool) -> None:
        """Learns what is at the addresses; workers read them."""
        addresses = list(dict.fromkeys(name for name in self.names if is_address(name)))
        for name, told, error in pool.run(looked_up, addresses, lambda name: (name, self._options)):
            digest, why = told or (None, f"{name}: {error}")
            if digest is None:
                self.missing[name] = why
            else:
                self.digests[name] = digest

    def placed(self, name: str | None, pool: Pool) -> Any:
        """What a worker is given for a trace: for one in memory a future of Dask, or files. Each is sent once."""
        if name in self.digests:
            return Remote(name, self.digests[name], self._options)
        if name in self.missing:
            return Missing(self.missing[name])
        trace = self.traces.get(name or "")
        if trace is None or pool.local:
            return trace
        if trace.name not in self._placed:
            self._placed[trace.name] = pool.client.scatter(trace, hash=False) if pool.client else self._spool(trace)
        return self._placed[trace.name]

    def _spool(self, trace: _trace.Trace) -> Spooled:
        import numpy as np

        self._folder = self._folder or tempfile.TemporaryDirectory(prefix="thermocline-")
        folder = tempfile.mkdtemp(dir=self._folder.name)
        arrays = trace._memory.arrays()
        if arrays is None:
            Path(folder, "table.arrow").write_bytes(trace._memory.parcel())
        else:
            for name, column in zip(_trace.COLUMNS, arrays, strict=True):
                if column is not None:
                    np.save(os.path.join(folder, f"{name}.npy"), column)
        return Spooled(trace.name, folder)

    def forget(self) -> None:
        """What was sent to workers may be gone with one of them."""
        if self._folder is None:
            self._placed.clear()

    def close(self) -> None:
        """Takes the files away."""
        if self._folder is not None:
            self._folder.cleanup()


@contextmanager
def shared(folder: str) -> Generator[str]:
    """A file in a folder, by which workers see whether it is theirs too."""
    os.makedirs(folder, exist_ok=True)
    descriptor, marker = tempfile.mkstemp(dir=folder, prefix=".shared-")
    os.close(descriptor)
    try:
        yield marker
    finally:
        os.unlink(marker)


