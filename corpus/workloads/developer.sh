#!/usr/bin/env bash
# A developer's hour: history, branches, builds, packages, and throwing it all away again.
#
#   developer.sh fetch SOURCES     once, needs the network: libgit2 in seven versions (from the crate
#                                  libgit2-sys, by cargo) and a few Debian packages (by apt)
#   developer.sh run SOURCES DISK  the work itself, on the mounted file system DISK
#
# The choices are seeded. After each step the file system is synced: the step stands for more time than
# it takes, enough for the kernel to have written the pages back.
set -euo pipefail

# Versions that libgit2.mk builds; the others are only checked out.
built=(0.15.2 0.16.2 0.17.0)
versions=(0.12.26 0.13.5 0.14.2 "${built[@]}" 0.18.8)
packages=(vim-runtime linux-libc-dev libpython3.11-stdlib perl-modules-5.36 libstdc++-12-dev)
rounds=16
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

fetch() {
    local sources=$1 version
    for version in "${versions[@]}"; do
        mkdir -p "$sources/crate/src"
        : >"$sources/crate/src/lib.rs"
        printf '[package]\nname = "fetch"\nversion = "0.0.0"\nedition = "2021"\n[dependencies]\nlibgit2-sys = "=%s"\n' \
            "$version" >"$sources/crate/Cargo.toml"
        (cd "$sources/crate" && cargo vendor --quiet vendor >/dev/null)
        mv "$sources/crate/vendor/libgit2-sys/libgit2" "$sources/libgit2-$version"
        rm -rf "$sources/crate"
    done
    mkdir "$sources/packages"
    (cd "$sources/packages" && apt-get -qq -o APT::Sandbox::User=root download "${packages[@]}")
}

# step TEXT: ends a step; what was written goes to the disk, and the developer thinks.
began=$SECONDS
step() {
    sync -f "$disk"
    printf '%5d s  %s, %s used\n' $((SECONDS - began)) "$1" "$(df -h --output=used "$disk" | tail -n 1 | tr -d ' ')" >&2
    sleep "0.$((RANDOM % 8 + 2))"
}

commit() {
    ((++commits))
    GIT_AUTHOR_DATE="2026-01-01T00:00:$((commits % 60)) +0000" GIT_COMMITTER_DATE="2026-01-01T00:00:$((commits % 60)) +0000" \
        git -C "$1" -c user.name=Developer -c user.email=developer@example.org commit -q -a -m "$2"
}

# import: the history, a commit and a tag for each version.
import() {
    local version
    git init -q -b main "$disk/upstream"
    for version in "${versions[@]}"; do
        (cd "$disk/upstream" && find . -mindepth 1 -maxdepth 1 ! -name .git -exec rm -rf {} +)
        cp -R "$sources/libgit2-$version/." "$disk/upstream/"
        git -C "$disk/upstream" add -A
        commit "$disk/upstream" "libgit2 of libgit2-sys $version"
        git -C "$disk/upstream" tag "v$version"
        step "import $version"
    done
}

build() { make -s -j2 -C "$tree" -f "$here/libgit2.mk" B="$disk/build-$1" >/dev/null; }

# edit: touches a few sources, some of them favourites, so that a rebuild has something to do.
edit() {
    local files file i
    mapfile -t files < <(find "$tree/src/libgit2" -name '*.c' | LC_ALL=C sort)
    for ((i = 0; i < 5; i++)); do
        file=${files[$((i < 2 ? RANDOM % 8 : RANDOM % ${#files[@]}))]}
        printf '/* edit %d */\n' "$RANDOM" >>"$file"
    done
}

# unpack N: a package into a directory of its own; the two latest are kept.
unpack() {
    local debs=("$sources"/packages/*.deb)
    dpkg -x "${debs[$(($1 % ${#debs[@]}))]}" "$disk/sysroot-$1"
    rm -rf "$disk/sysroot-$(($1 - 3))"
}

run() {
    local round version i
    RANDOM=20260101
    commits=0
    tree=$disk/work
    mkdir "$disk/tmp"
    export TMPDIR=$disk/tmp GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
    import
    git clone -q --no-hardlinks "$disk/upstream" "$tree"
    git -C "$tree" config advice.detachedHead false
    git -C "$tree" config gc.auto 0
    step "clone"
    for ((round = 1; round <= rounds; round++)); do
        # A look at old versions, then work on a branch of one that builds.
        for i in 1 2 3; do git -C "$tree" checkout -q "v${versions[$((RANDOM % ${#versions[@]}))]}"; done
        version=${built[$((RANDOM % ${#built[@]}))]}
        git -C "$tree" checkout -q -b "topic-$round" "v$version"
        build $((round % 3))
        step "round $round: branch and build of $version"
        for i in 1 2 3; do
            edit
            build $((round % 3))
            commit "$tree" "Edit $round.$i"
            step "round $round: edit $i"
        done
        unpack "$round"
        step "round $round: package"
        if ((round % 2 == 0)); then
            rm -rf "$disk/build-$(((round + 1) % 3))"
            git clone -q --no-hardlinks "$tree" "$disk/review"
            git -C "$disk/review" checkout -q "v${versions[$((RANDOM % ${#versions[@]}))]}"
            step "round $round: build tree deleted, clone for review"
            git -C "$tree" archive --format=tar HEAD >"$disk/release.tar"
            gzip -f "$disk/release.tar"
            rm -rf "$disk/review"
            step "round $round: release packed, review deleted"
        fi
        if ((round % 4 == 0)); then
            git -C "$tree" gc -q
            step "round $round: gc"
            fstrim "$disk"
            sleep 2
        fi
    done
}

case ${1-} in
fetch) fetch "$2" ;;
run)
    sources=$2
    disk=$3
    run
    ;;
*)
    sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}" >&2
    exit 2
    ;;
esac
