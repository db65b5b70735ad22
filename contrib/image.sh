#!/bin/bash
# Makes an image for containers of the static binary (contrib/static.sh), by buildah, podman or docker.
#
#   contrib/image.sh           thermocline:VERSION, and target/dist/thermocline-VERSION-image.tar for `docker load`
#   contrib/image.sh BINARY    the same of another static binary
#
# Exit: 0 made, 2 no binary, 77 this machine has none of the three.
set -euo pipefail

root=$(dirname "$(dirname "$(realpath "${BASH_SOURCE[0]}")")")
binary=$(realpath -m "${1:-$root/target/dist/$(uname -m)-unknown-linux-musl/thermocline}")
cd "$root"
dist=$(realpath -m "${CARGO_TARGET_DIR:-target}")/dist
[ -x "$binary" ] || { echo "image.sh: no $binary: contrib/static.sh makes it, or name another" >&2; exit 2; }
tag=thermocline:$("$binary" --version | awk '{ print $2 }')
archive=$dist/${tag/:/-}-image.tar

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/root"/{data,tmp,usr/bin,usr/share/licenses/thermocline} "$dist"
# The data belong to the user of the image; the control socket is below /tmp.
chmod 1777 "$work/root/data" "$work/root/tmp"
cp "$binary" "$work/root/usr/bin/thermocline"
cp LICENSE-APACHE LICENSE-MIT "$work/root/usr/share/licenses/thermocline"
cp contrib/image/Containerfile "$work"
rm -f "$archive"
if command -v buildah > /dev/null; then
    # The format of docker has health checks, that of OCI has none.
    buildah build --quiet --format docker --tag "$tag" "$work" > /dev/null
    buildah push --quiet "$tag" "docker-archive:$archive:$tag"
elif command -v podman > /dev/null; then
    podman build --quiet --format docker --tag "$tag" "$work" > /dev/null
    podman save --quiet --output "$archive" "$tag"
elif command -v docker > /dev/null; then
    docker build --quiet --tag "$tag" --file "$work/Containerfile" "$work" > /dev/null
    docker save --output "$archive" "$tag"
else
    echo "image.sh: no buildah, podman or docker" >&2
    exit 77
fi
echo "$archive"
