#!/usr/bin/env python3
"""Puts faults into a copy of the tree, one at a time, and demands that a test fails: mutants/README.md."""

import os
import pathlib
import shutil
import subprocess
import sys
import time
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve() / "mutants"
TREE = TARGET / "tree"
# Cargo's exit code for a test that failed; others are its own errors.
FAILED = 101


def copy_tree():
    """The files that Git knows; those that are as they were keep their times, so little is built anew."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    )
    names = {name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()}
    for old in [path for path in TREE.rglob("*") if path.is_file()]:
        if str(old.relative_to(TREE)) not in names:
            old.unlink()
    for name in names:
        source, copy = ROOT / name, TREE / name
        if not copy.is_file() or copy.read_bytes() != source.read_bytes():
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, copy)


def cargo(test, *more):
    environment = {**os.environ, "CARGO_TARGET_DIR": str(TARGET / "target"), "RUST_BACKTRACE": "0"}
    arguments = ["cargo", "test", "--locked", "--quiet", *test.split(), *more]
    return subprocess.run(arguments, cwd=TREE, env=environment, capture_output=True, text=True)


def passes(test):
    done = cargo(test)
    if done.returncode or " 1 passed" not in done.stdout:
        sys.exit(f"without a fault `cargo test {test}` must run one test, and pass:\n"
                 + done.stdout[-3000:] + done.stderr[-3000:])


def is_noticed(mutant):
    """Whether the test fails with the fault, for no other reason than the fault."""
    path = TREE / mutant["file"]
    sound = path.read_text()
    if sound.count(mutant["was"]) != 1:
        sys.exit(f"{mutant['name']}: its text is not in {mutant['file']} exactly once; bring mutants.toml up to date")
    path.write_text(sound.replace(mutant["was"], mutant["is"]))
    try:
        # Options of the test binary stand behind `--`.
        built = cargo(mutant["test"].split(" -- ")[0], "--no-run")
        if built.returncode:
            sys.exit(f"{mutant['name']} does not compile:\n" + built.stderr[-3000:])
        done = cargo(mutant["test"])
        return done.returncode == FAILED and "test result: FAILED" in done.stdout
    finally:
        path.write_text(sound)


def main(words):
    listed = tomllib.loads((ROOT / "mutants/mutants.toml").read_text())["mutant"]
    mutants = [it for it in listed if not words or any(word in it["name"] for word in words)]
    if not mutants:
        sys.exit("no such mutant: " + " ".join(words))
    copy_tree()
    for test in sorted({mutant["test"] for mutant in mutants}):
        passes(test)
    missed = 0
    for mutant in mutants:
        began = time.monotonic()
        noticed = is_noticed(mutant)
        missed += not noticed
        verdict = "noticed" if noticed else "MISSED "
        print(f"{verdict}  {mutant['name']}: {mutant['rule']} ({time.monotonic() - began:.0f} s)", flush=True)
    if missed:
        sys.exit(f"{missed} of {len(mutants)} faults were not noticed")


main(sys.argv[1:])
