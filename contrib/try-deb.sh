#!/bin/bash
# Makes the Debian package of a binary. lintian finds nothing in it; it installs into an empty folder, works there, and
# leaves nothing behind when it is removed.
#
#   contrib/try-deb.sh              the binary is THERMOCLINE, otherwise target/debug/thermocline
#   contrib/try-deb.sh --packages   prints the Debian packages that this needs
#
# Installs these packages first (systems/install.sh). Exit: 0 passed, 1 failed, 77 they cannot be had.
set -euo pipefail

packages=(debhelper dpkg-dev lintian)
if [ "${1:-}" = --packages ]; then printf '%s\n' "${packages[@]}"; exit; fi
root=$(dirname "$(dirname "$(realpath "${BASH_SOURCE[0]}")")")
binary=$(realpath "${THERMOCLINE:-${CARGO_TARGET_DIR:-$root/target}/debug/thermocline}")
"$root/systems/install.sh" "${packages[@]}" || true
for program in dpkg-buildpackage dh lintian; do
    command -v "$program" > /dev/null && continue
    [ -z "${THERMOCLINE_SKIPPED:-}" ] || echo "contrib/try-deb.sh: no $program" >> "$THERMOCLINE_SKIPPED"
    exit 77
done
fail() { echo "try-deb.sh: $*" >&2; exit 1; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
deb=$(CARGO_TARGET_DIR=$work DEB_LEVEL=0 "$root/contrib/deb.sh" "$binary")
lintian --allow-root --no-cfg --fail-on info,warning,error "$deb" || fail "lintian has something to say of $deb"

into=$work/into
mkdir -p "$into"/var/lib/dpkg/{info,updates}
touch "$into/var/lib/dpkg/status"
as_dpkg=(dpkg --root="$into" --log=/dev/null --force-not-root --force-depends)
[ "$(id -u)" = 0 ] || as_dpkg=(fakeroot "${as_dpkg[@]}")
"${as_dpkg[@]}" --install "$deb" > "$work/log" 2>&1 || { cat "$work/log" >&2; fail "dpkg does not install it"; }
"$into/usr/bin/thermocline" policies | grep -q thermocline || fail "the installed binary lists no policies"
for file in lib/systemd/system/thermocline@.socket usr/share/man/man1/thermocline-serve.1.gz \
    usr/share/bash-completion/completions/thermocline usr/share/doc/thermocline/copyright; do
    [ -s "$into/$file" ] || fail "no $file in the package"
done
grep -q '^ExecStart=/usr/bin/thermocline serve' "$into/lib/systemd/system/thermocline@.service" || fail "the unit starts another binary"
"${as_dpkg[@]}" --purge thermocline > "$work/log" 2>&1 || { cat "$work/log" >&2; fail "dpkg does not remove it"; }
left=$(find "$into" -type f ! -path "$into/var/lib/dpkg/*")
[ -z "$left" ] || fail "the package leaves files behind: $left"
echo "$(basename "$deb"): made, installed, removed"
