"""``thermocline-python`` (``python -m thermocline``): runs, comparisons and traces from a shell, as JSON.

The command line of the simulator and the server is the program ``thermocline``; this is the package's own, for a
machine that has the wheel alone.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

import thermocline as tc


def settings(words: list[str]) -> dict[str, Any]:
    """``--over-provisioning 7% --check`` as settings."""
    given: dict[str, list[str]] = {}
    name = None
    for word in words:
        if word.startswith("--"):
            name, equals, value = word[2:].replace("-", "_").partition("=")
            given[name] = [value] if equals else []
        elif name is None:
            raise tc.UsageError(f"{word}: give settings as --name value")
        else:
            given[name].append(word)
    # A flag has no value, most settings have one.
    return {name: values if len(values) > 1 else values[0] if values else True for name, values in given.items()}


def main(words: list[str] | None = None) -> int:
    """Runs a command. Returns the exit codes of ``thermocline``."""
    parser = argparse.ArgumentParser("thermocline-python", description=__doc__, epilog="settings: --name value, as thermocline.settings() lists them")
    parser.add_argument("--version", action="version", version=tc.__version__)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="one policy on one trace, or on --workload")
    compare = commands.add_parser("compare", help="several policies beside the oracle")
    info = commands.add_parser("info", help="what is in a trace")
    convert = commands.add_parser("convert", help="a trace as a Parquet file")
    for command in (run, compare):
        command.add_argument("trace", nargs="?")
    for command in (info, convert):
        command.add_argument("trace")
    convert.add_argument("file")
    words = sys.argv[1:] if words is None else words
    # Settings follow the rest: argparse knows none of them.
    first = next((at for at, word in enumerate(words) if word.startswith("--") and word not in ("--help", "--version")), len(words))
    known = parser.parse_args(words[:first])
    try:
        given = settings(words[first:])
        if known.command == "run":
            told: Any = tc.run(known.trace, **given).data
        elif known.command == "compare":
            compared = tc.compare(known.trace, **given)
            told = {"answer": compared.answer, "runs": [one.data for one in compared.results], "failures": compared.failures}
        elif known.command == "info":
            told = tc.trace.info(known.trace, **given)
        else:
            told = {"requests": tc.trace.convert(known.trace, known.file, **given)}
    except tc.ThermoclineError as error:
        print(f"error: {error}", file=sys.stderr)
        codes = {tc.UsageError: 2, tc.InputError: 3, tc.BrokenError: 4}
        return next((code for kind, code in codes.items() if isinstance(error, kind)), 1)
    print(json.dumps(told, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
