#!/bin/bash
# Makes a Debian package of a binary: the binary, man pages, completions and systemd units.
#
#   contrib/deb.sh            target/dist/thermocline_VERSION_ARCHITECTURE.deb of the static binary (contrib/static.sh)
#   contrib/deb.sh BINARY     the same of another binary for this machine, which may need libraries
#   contrib/deb.sh --packages prints the Debian packages that this script needs
#
# Variables: DEBFULLNAME and DEBEMAIL, the maintainer (otherwise the author of the last commit); DEB_LEVEL, of the compression (6).
# Exit: 0 made, 1 dpkg-buildpackage failed, 2 no binary, 77 this machine has no dpkg-buildpackage.
set -euo pipefail

if [ "${1:-}" = --packages ]; then printf '%s\n' debhelper dpkg-dev lintian; exit; fi
root=$(dirname "$(dirname "$(realpath "${BASH_SOURCE[0]}")")")
binary=$(realpath -m "${1:-$root/target/dist/$(uname -m)-unknown-linux-musl/thermocline}")
cd "$root"
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
[ -x "$binary" ] || { echo "deb.sh: no $binary: contrib/static.sh makes it, or name another" >&2; exit 2; }
for program in dpkg-buildpackage dh; do
    command -v "$program" > /dev/null || { echo "deb.sh: no $program: apt-get install debhelper dpkg-dev" >&2; exit 77; }
done
version=$("$binary" --version | awk '{ print $2 }')
# Two builds of one commit give the same bytes.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2> /dev/null || echo 946684800)}
export SOURCE_DATE_EPOCH

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
source=$work/thermocline-$version
mkdir -p "$source"
cp -r contrib/debian "$source/debian"
cp CHANGELOG.md "$source"
make --no-print-directory install BINARY="$binary" TARGET="$work/made" DESTDIR="$source/stage" PREFIX=/usr \
    UNITDIR=/lib/systemd/system ZSHDIR=/usr/share/zsh/vendor-completions > "$work/log" || { cat "$work/log" >&2; exit 1; }
if ! readelf --program-headers "$binary" | grep -q INTERP; then
    # It is meant to be: the same file runs on every system.
    echo 'thermocline: statically-linked-binary [usr/bin/thermocline]' > "$source/debian/thermocline.lintian-overrides"
fi
maintainer="${DEBFULLNAME:-$(git log -1 --format=%an)} <${DEBEMAIL:-$(git log -1 --format=%ae)}>"
sed -i "s/@MAINTAINER@/$maintainer/" "$source/debian/control"
printf 'thermocline (%s) unstable; urgency=medium\n\n  * What changed is in /usr/share/doc/thermocline/changelog.gz.\n\n -- %s  %s\n' \
    "$version" "$maintainer" "$(date -uRd "@$SOURCE_DATE_EPOCH")" > "$source/debian/changelog"
# Nothing is compiled, so no compiler is asked for.
(cd "$source" && dpkg-buildpackage --build=binary --no-sign --no-check-builddeps > "$work/log" 2>&1) || { cat "$work/log" >&2; exit 1; }
mkdir -p "$target/dist"
for package in "$work"/thermocline_*.deb; do
    cp "$package" "$target/dist"
    echo "$target/dist/$(basename "$package")"
done
