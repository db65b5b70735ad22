#!/bin/sh
# Installs Debian packages that the tests need, where they are missing (as root or with sudo).
#
#   systems/install.sh PACKAGE...
#
# With THERMOCLINE_WITHOUT_TOOLS set it installs nothing, and what needs a missing program is skipped.
set -eu
installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

if ! command -v apt-get dpkg-query >/dev/null; then
    echo "install.sh: no apt-get here; what the tests need is in these packages of Debian: $*" >&2
    exit 0
fi
missing=
for package in $(printf '%s\n' "$@" | sort -u); do installed "$package" || missing="$missing $package"; done
if [ -z "$missing" ] || [ -n "${THERMOCLINE_WITHOUT_TOOLS:-}" ]; then exit 0; fi
as_root=
[ "$(id -u)" = 0 ] || as_root=sudo
echo "installing$missing"
# shellcheck disable=SC2086 # words
{
    $as_root apt-get update -qq && $as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq --no-install-recommends $missing
} >/dev/null || {
    echo "install.sh: not installed:$missing; THERMOCLINE_WITHOUT_TOOLS=1 does without them" >&2
    exit 1
}
