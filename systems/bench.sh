#!/usr/bin/env bash
# The server's speed beside nbdkit's and qemu-nbd's, in one run; `--help` says how.
#
#   systems/bench.sh [--quick] [--rounds N] [--seconds S] [--runs NAME...] [--servers NAME...] [--json FILE] [--goal]
#
# THERMOCLINE is the binary; otherwise that of `make build`. Prints Markdown, writes JSON.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

"$here/install.sh" "${packages[@]}"
skip_unless fio nbdkit nbdinfo qemu-nbd
[[ -d /dev/shm ]] || skip "needs /dev/shm"
target=$(dirname "$(dirname "$THERMOCLINE")")
[[ -d $target ]] || target=.
export THERMOCLINE
exec "$python" "$here/bench.py" --disk "$target" --json "$target/bench-server.json" "$@"
