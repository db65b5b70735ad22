#!/bin/bash
# Runs tests inside a machine of QEMU's with Debian's kernel, whatever the kernel here can do: our server
# on raw NAND (the kernel's simulator), file systems on what it serves, the kernel's own NBD client.
#
#   guest/run.sh                    every test of guest/tests, all in one boot: about two minutes
#   guest/run.sh mtd nbd_client     these, of guest/tests or of guest/measure
#   guest/run.sh --packages         prints the Debian packages that all tests need
#   guest/run.sh --kernel           only downloads the kernel (70 MB), once
#
# Installs these packages (systems/install.sh) and downloads the kernel first.
# Exit: 0 all passed, 1 a test failed, 2 usage, or nothing is built, 3 the machine did not come to its end,
# 77 this machine cannot: no QEMU or no kernel, and no way to get them.
#
# A test is a shell script that runs in the guest. Lines of comments at its top say what it needs:
#   # modules: nandsim ubi                    kernel modules, to be loaded by the test
#   # programs: mkfs.f2fs(f2fs-tools) …       programs of this machine (and the Debian package each is in)
#   # if there: dmzadm                        programs of this machine without which the test leaves a part out
#   # built: thermocline mtd_device           our binary, and integration tests of the workspace; found in /bin
#   # server: unix                            a served disk as a virtio disk: $DISK
#   # server: tcp                             a server at $SERVER_HOST, port $SERVER_PORT
#   # serve: --dead-data fsaf                 more options of that server
#   # zoned-nvme: 128M zone_size=4M max_active=14     a zoned NVMe namespace of QEMU's of that size, with these
#                                             settings (zoned.* of its nvme-ns, and logical_block_size)
#   # power-cut: 160M                        a disk of that size with a cache, $DISK. When the guest says "GUEST cut",
#                                             QEMU is killed and the cache dropped: all that no flush covered. Then
#                                             the guest is booted again, with $life 2, and $said what its last line
#                                             "GUEST says …" said. Such a test runs alone.
#   # seconds: 1200                           how long it may take, instead of 300
#   # host-check: [ "$(count requests trim)" -gt 0 ]      what must hold here when the guest is done; `count`
#                                             gives a counter of the server's, of an operation if one is named
# A server here is stopped in order when the guest is done, and what it served must be sound then.
#
# Variables: THERMOCLINE (our binary; otherwise the one that `cargo test` and `cargo build` leave), GUEST_DIR
# (the cache, target/guest), GUEST_TIMEOUT (seconds, 1500), GUEST_MEMORY (MiB, 1024), GUEST_ACCEL (`kvm`
# where that works; emulation works everywhere).
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
[ -z "${THERMOCLINE:-}" ] || THERMOCLINE=$(realpath -m "$THERMOCLINE")
cd "$here/.."
PATH=$PATH:/usr/sbin:/sbin
cache=${GUEST_DIR:-${CARGO_TARGET_DIR:-target}/guest}
mkdir -p "$cache"
cache=$(cd "$cache" && pwd)
thermocline=${THERMOCLINE:-${CARGO_TARGET_DIR:-target}/debug/thermocline}
# Little enough for the server to have to clean.
disk_size=128MiB

die() { echo "guest: $1" >&2; exit "${2:-2}"; }
# What cannot be run here, for the last lines of `make test`.
skip() {
    [ -z "${THERMOCLINE_SKIPPED:-}" ] || echo "guest/run.sh: $1" >> "$THERMOCLINE_SKIPPED"
    die "skipped: $1" 77
}
# The script of a test.
script() { local file; for file in "$here"/{tests,measure}/"$1.sh"; do if [ -f "$file" ]; then echo "$file"; return; fi; done; }
# The values of a test's header lines of one name.
header() { sed -n "/^#/!q; s/^# $2: //p" "$(script "$1")"; }

mode=
case ${1:-} in --packages | --kernel) mode=$1; shift ;; esac
tests=("$@")
if [ $# = 0 ]; then
    for file in "$here"/tests/*.sh; do tests+=("$(basename "$file" .sh)"); done
fi
for test in "${tests[@]}"; do
    [ -n "$(script "$test")" ] || die "no such test: $test; there are: $(cd "$here" && for file in {tests,measure}/*.sh; do basename "$file" .sh; done | paste -sd' ')"
done

power_cut=
for test in "${tests[@]}"; do power_cut=$power_cut$(header "$test" power-cut); done
[ -z "$power_cut" ] || [ ${#tests[@]} = 1 ] || die "a test that cuts the power runs alone: ${tests[*]}"

# --- What is needed of this machine

packages=(qemu-system-x86 busybox-static cpio kmod binutils)
programs=()
for test in "${tests[@]}"; do
    for entry in $(header "$test" programs); do
        package=${entry#*(}
        packages+=("${package%)}")
        programs+=("${entry%(*}")
    done
done
if [ "$mode" = --packages ]; then printf '%s\n' "${packages[@]}" | sort -u; exit; fi
[ "$(uname -m)" = x86_64 ] || skip "the machine is an x86_64 one, and so must this be"
"$here/../systems/install.sh" "${packages[@]}" || skip "these packages cannot be installed: ${packages[*]}"
for program in qemu-system-x86_64 busybox cpio depmod strip "${programs[@]}"; do
    command -v "$program" > /dev/null || skip "no $program"
done

# --- The kernel, once

kernel_package() { apt-cache depends linux-image-amd64 2> /dev/null | awk '/Depends: linux-image-[0-9]/{print $2; exit}'; }
if ! [ -e "$cache/kernel/done" ]; then
    rm -rf "$cache/kernel"; mkdir -p "$cache/kernel"
    package=$(kernel_package)
    [ -n "$package" ] || skip "apt knows no kernel (linux-image-amd64): apt-get update, or unpack one into $cache/kernel and touch done in it"
    echo "guest: downloading $package (70 MB)"
    (cd "$cache/kernel" && apt-get -qq download "$package" 2> download.log) \
        || { cat "$cache/kernel/download.log" >&2; skip "$package could not be downloaded"; }
    dpkg-deb -x "$cache"/kernel/linux-image-*.deb "$cache/kernel"
    rm "$cache"/kernel/linux-image-*.deb
    depmod -b "$cache/kernel" "$(ls "$cache/kernel/lib/modules")"
    touch "$cache/kernel/done"
fi
[ "$mode" != --kernel ] || exit 0
[ -x "$thermocline" ] || die "no $thermocline; cargo build --package thermocline-cli, or name another in THERMOCLINE"
release=$(ls "$cache/kernel/lib/modules")

# --- What the guest starts from: a file system in memory

work=$(mktemp -d)
declare -A servers=() # of each test the process
cleanup() {
    for pid in "${servers[@]}"; do kill -9 "$pid" 2> /dev/null || true; done
    [ ! -e "$work/cache.pid" ] || kill -9 "$(cat "$work/cache.pid")" 2> /dev/null || true
    rm -rf "$work"
}
trap cleanup EXIT
root=$work/root
mkdir -p "$root"/{bin,sbin,dev,proc,sys,mnt,etc,tmp,run,tests,lib64,usr/bin,usr/sbin} "$root/lib/modules/$release"
ln -s ../run "$root/var" # for those who want /var/run or /var/lock
cp "$(command -v busybox)" "$root/bin/busybox"
cp "$here/init" "$root/init"; chmod +x "$root/init"
printf 'root:x:0:0::/tmp:/bin/sh\nnobody:x:65534:65534::/tmp:/bin/sh\n' > "$root/etc/passwd"
cp "$cache/kernel/lib/modules/$release"/modules.{dep,alias,builtin,order,softdep,symbols} "$root/lib/modules/$release/"

add_libraries() { # that a program needs
    local library
    for library in $(ldd "$1" 2> /dev/null | grep -oE '/[^ ]+' || true); do
        [ -e "$root$library" ] || { mkdir -p "$root$(dirname "$library")"; cp -L "$library" "$root$library"; }
    done
}
add_program() {
    local file
    file=$(command -v "$1")
    [ -e "$root$file" ] && return
    mkdir -p "$root$(dirname "$file")"
    cp -L "$file" "$root$file"
    add_libraries "$file"
}
add_module() { # with those that it needs
    modprobe -d "$cache/kernel" -S "$release" --show-depends "$1" | awk '/^insmod/{print $2}' | while read -r file; do
        local place=${file#"$cache/kernel"}
        mkdir -p "$root$(dirname "$place")"
        cp "$file" "$root$place"
    done
}
add_built() { # thermocline, or an integration test
    local built=$thermocline
    # The whole workspace decides of the features, so that nothing is built that `cargo test` has built.
    [ "$1" = thermocline ] || built=$(cargo test --workspace ${FEATURES:+--features "$FEATURES"} --no-run --quiet --locked --test "$1" \
        --message-format=json-render-diagnostics | grep -o '"executable":"[^"]*"' | tail -1 | cut -d'"' -f4) \
        || die "cargo test --no-run --test $1 failed" 1
    strip --strip-debug -o "$root/bin/$1" "$built"
    add_libraries "$built"
}

modules=()
for test in "${tests[@]}"; do
    cp "$(script "$test")" "$root/tests/"
    : > "$root/tests/$test.env"
    for module in $(header "$test" modules); do modules+=("$module"); done
    for name in $(header "$test" built); do [ -e "$root/bin/$name" ] || add_built "$name"; done
done
for program in "${programs[@]}"; do add_program "$program"; done
for test in "${tests[@]}"; do
    for program in $(header "$test" "if there"); do
        command -v "$program" > /dev/null || continue
        add_program "$program"
        # Those that load modules themselves look them up in these.
        cp "$cache/kernel/lib/modules/$release"/modules.{dep,alias,builtin,symbols}.bin "$root/lib/modules/$release/"
    done
done

# --- What serves disks to it

# listens MESSAGE TEST: the address that the log of a test's server says so of; ten seconds are enough for any.
listens() {
    local address
    for _ in $(seq 100); do
        address=$(sed -nE "s/^.* INFO $1 address=\"?([^\" ]+)\"?.*/\\1/p" "$work/$2.log")
        if [ -n "$address" ]; then echo "$address"; return; fi
        sleep 0.1
    done
    cat "$work/$2.log" >&2
    die "the server of $2 did not start" 1
}
serve() { # test, listening options
    "$thermocline" format --quiet "$work/$1.img" --capacity $disk_size > /dev/null
    NO_COLOR=1 "$thermocline" serve "$work/$1.img" --metrics 127.0.0.1:0 "${@:2}" > "$work/$1.log" 2>&1 &
    servers[$1]=$!
}
machine=()
for test in "${tests[@]}"; do
    case $(header "$test" server) in
        unix)
            # shellcheck disable=SC2046 # options, apart
            serve "$test" --unix "$work/$test.sock" $(header "$test" serve)
            socket=$(listens listening "$test")
            modules+=(virtio_pci virtio_blk)
            machine+=(-drive "file=nbd+unix:///?socket=$socket,if=none,id=$test,format=raw,discard=unmap,detect-zeroes=off"
                      -device "virtio-blk-pci,drive=$test,serial=${test:0:20}")
            echo "DISK=\$(disk_with_serial ${test:0:20})" > "$root/tests/$test.env" ;;
        tcp)
            # shellcheck disable=SC2046
            serve "$test" --tcp 127.0.0.1:0 $(header "$test" serve)
            port=$(listens listening "$test"); port=${port##*:}
            modules+=(virtio_pci virtio_net)
            [[ " ${machine[*]} " == *" -netdev "* ]] || machine+=(-netdev "user,id=net" -device "virtio-net-pci,netdev=net,romfile=")
            echo "SERVER_HOST=10.0.2.2 SERVER_PORT=$port; network_up" > "$root/tests/$test.env" ;;
        "") [ -z "$power_cut" ] || { modules+=(virtio_pci virtio_blk); echo "DISK=\$(disk_with_serial cached)" > "$root/tests/$test.env"; } ;;
        *) die "$test: '# server:' is unix or tcp" ;;
    esac
done
for test in "${tests[@]}"; do
    # shellcheck disable=SC2046 # words
    set -- $(header "$test" zoned-nvme)
    [ $# -gt 0 ] || continue
    truncate -s "$1" "$work/$test.zones"
    shift
    namespace=nvme-ns,drive=$test,bus=nvme-$test,zoned=true
    for setting in "$@"; do
        case $setting in logical_block_size=*) namespace+=,$setting,physical_block_size=${setting#*=} ;; *) namespace+=,zoned.$setting ;; esac
    done
    machine+=(-drive "file=$work/$test.zones,if=none,id=$test,format=raw" -device "nvme,id=nvme-$test,serial=$test" -device "$namespace")
done
# Many modules share what they need: each is looked up once.
for module in $(printf '%s\n' "${modules[@]}" | sort -u); do add_module "$module"; done
(cd "$root" && find . | cpio -o -H newc --quiet > "$work/initrd")

# --- The machine

# What no flush covered is in nbdkit alone.
start_cache() {
    rm -f "$work/cache" "$work/cache.pid"
    nbdkit --unix "$work/cache" --pidfile "$work/cache.pid" --filter=cache file "$work/disk" cache=writeback
}
# Where the power has to be cut: without a word to QEMU, nor to the disk.
cut_power() {
    until grep -q '^GUEST cut' "$cache/console.log"; do sleep 0.1; done
    kill -9 "$(cat "$work/qemu.pid")" "$(cat "$work/cache.pid")"
}
if [ -n "$power_cut" ]; then
    truncate -s "$power_cut" "$work/disk"
    machine+=(-drive "file=nbd+unix:///?socket=$work/cache,if=none,id=cached,format=raw,cache=writeback"
              -device virtio-blk-pci,drive=cached,serial=cached -pidfile "$work/qemu.pid")
fi

begun=$SECONDS
boot() { # WORDS of the kernel's command line
    timeout --foreground "${GUEST_TIMEOUT:-1500}" qemu-system-x86_64 -accel "${GUEST_ACCEL:-tcg,thread=multi}" -smp 2 \
        -m "${GUEST_MEMORY:-1024}" -cpu max -nodefaults -nographic -no-reboot -serial stdio \
        -kernel "$cache/kernel/boot/vmlinuz-$release" -initrd "$work/initrd" \
        -append "console=ttyS0 quiet panic=-1 mitigations=off tsc=reliable $1" "${machine[@]}" \
        < /dev/null 2>&1 | stdbuf -oL tr -d '\r' | grep --line-buffered -v -E 'SeaBIOS|Booting from|^$' | sed -u 's/^.*GUEST booted/GUEST booted/' | tee "$cache/console.log" || true
}
if [ -n "$power_cut" ]; then
    : > "$cache/console.log"
    start_cache
    cut_power &
    { boot life=1; } 2> /dev/null # the shell's word of what was killed
    kill $! 2> /dev/null || true
    wait
    grep -q '^GUEST cut' "$cache/console.log" || die "the power was not cut; see $cache/console.log" 1
    said=$(sed -n 's/^GUEST says //p' "$cache/console.log" | tail -1)
    start_cache
    boot "life=2 said=$said"
else
    boot ""
fi
echo "guest: $((SECONDS - begun)) s in the machine"

grep -q '^GUEST done' "$cache/console.log" || die "the machine did not come to its end; see $cache/console.log" 3

# --- What the guest did, and what is left of it

# count COUNTER [OPERATION]: of the server of $test.
count() {
    local labels='[^}]*'
    [ $# = 1 ] || labels="[^}]*operation=\"$2\""
    sed -n "s/^thermocline_$1_total{$labels} //p" "$work/$test.metrics"
}
# The server of $test: what it counted, that it stops in order, and that the chip is sound then.
finish_server() {
    local address pid=${servers[$test]}
    address=$(listens metrics "$test")
    exec 3<> "/dev/tcp/${address%:*}/${address##*:}"
    printf 'GET /metrics HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n' "$address" >&3
    cat <&3 > "$work/$test.metrics"
    exec 3>&-
    kill -TERM "$pid"
    wait "$pid" || { cat "$work/$test.log" >&2; echo "guest: the server of $test ended with $?"; return 1; }
    unset "servers[$test]"
    "$thermocline" check --quiet "$work/$test.img" > "$work/$test.check" \
        || { cat "$work/$test.log" "$work/$test.check" >&2; echo "guest: what $test left is not sound"; return 1; }
    echo "guest: $test: $(count requests write) writes, $(($(count flushes) - $(count requests flush))) of them with FUA," \
        "$(count requests flush) flushes, $(count requests trim) trims, $(count flash_blocks_erased) erases: sound"
}

failed=()
for test in "${tests[@]}"; do
    passed=true
    grep -q "^GUEST passed $test " "$cache/console.log" || passed=false
    if [ -n "${servers[$test]:-}" ]; then
        finish_server || passed=false
        check=$(header "$test" host-check)
        if $passed && [ -n "$check" ] && ! eval "$check"; then echo "guest: $test: not so: $check"; passed=false; fi
    fi
    $passed || failed+=("$test")
done
[ ${#failed[@]} = 0 ] || die "failed: ${failed[*]}" 1
echo "guest: ${#tests[@]} passed: ${tests[*]}"
