#!/usr/bin/env bash
# How long writes to a full chip wait, with and without pacing, beside nbdkit; `--help` says how.
#
#   systems/latency.sh [--rounds N] [--seconds S] [--policy NAME] [--capacity SIZE] [--image FOLDER] [--json FILE]
#
# THERMOCLINE is the binary; otherwise that of `make build`. Prints Markdown.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

"$here/install.sh" "${packages[@]}"
skip_unless fio nbdkit nbdinfo
[[ -d /dev/shm ]] || skip "needs /dev/shm"
export THERMOCLINE
exec "$python" "$here/latency.py" "$@"
