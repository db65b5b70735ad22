#!/bin/bash
# Runs tests inside a machine of QEMU's with Debian's kernel, whatever the kernel here can do:
# raw NAND (the kernel's simulator), file systems on a served disk, the kernel's own NBD client.
#
#   guest/run.sh            every test of guest/tests, all in one boot
#   guest/run.sh mtd f2fs   these
#
# Exit: 0 all passed, 1 a test failed, 2 something is missing here, 3 the machine did not come to its end.
#
# A test is a shell script that runs in the guest. Lines of comments at its top say what it needs:
#   # modules: nandsim ubi                    kernel modules, to be loaded by the test
#   # programs: mkfs.f2fs(f2fs-tools) …       programs of this machine (and the Debian package each is in)
#   # files: /usr/lib/…                       other files of this machine, with the libraries they need
#   # rust: test --no-run -p … --test mtd_device    what to build with cargo, statically; found in /bin
#   # server: unix                            a served disk as a virtio disk: $DISK
#   # server: tcp                             a server at $SERVER_HOST, port $SERVER_PORT
#   # host-check: grep -q fua=1 "$LOG"        a command for here when the guest is done; $LOG is the server's log,
#                                             if its command takes one
#
# What serves: GUEST_SERVER_UNIX and GUEST_SERVER_TCP, commands that stay in the foreground, in which
# {socket}, {port}, {log} and {dir} (an empty folder) are filled in. The default is nbdkit, which keeps it in memory.
# Other variables: GUEST_DIR (the cache, target/guest), GUEST_TIMEOUT (seconds, 600), GUEST_MEMORY (MiB,
# 1024), GUEST_ACCEL (`kvm` where that works; emulation works everywhere).
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
cd "$here/.."
PATH=$PATH:/usr/sbin:/sbin
cache=${GUEST_DIR:-${CARGO_TARGET_DIR:-target}/guest}
mkdir -p "$cache"
cache=$(cd "$cache" && pwd)
disk_size=512M
nbdkit="nbdkit --foreground --filter=log"
unix_server="$nbdkit --unix {socket} memory $disk_size logfile={log}"
tcp_server="$nbdkit --ipaddr 127.0.0.1 --port {port} memory $disk_size logfile={log}"
unix_server=${GUEST_SERVER_UNIX:-$unix_server}
tcp_server=${GUEST_SERVER_TCP:-$tcp_server}

die() { echo "guest: $1" >&2; exit "${2:-2}"; }
# The values of a test's header lines of one name.
header() { sed -n "/^#/!q; s/^# $2: //p" "$here/tests/$1.sh"; }

tests=("$@")
if [ $# = 0 ]; then
    for file in "$here"/tests/*.sh; do tests+=("$(basename "$file" .sh)"); done
fi
for test in "${tests[@]}"; do
    [ -f "$here/tests/$test.sh" ] || die "no such test: $test; there are: $(cd "$here/tests" && for file in *.sh; do printf '%s ' "${file%.sh}"; done)"
done

# --- What is needed of this machine

missing=() packages=()
need() { # program package
    command -v "$1" > /dev/null && return
    missing+=("$1"); packages+=("$2")
}
need qemu-system-x86_64 qemu-system-x86
need busybox busybox-static
need cpio cpio
need depmod kmod
need dpkg-deb dpkg
programs=()
for test in "${tests[@]}"; do
    for entry in $(header "$test" programs); do
        need "${entry%(*}" "$(sed 's/.*(//; s/)$//' <<< "$entry")"
        programs+=("${entry%(*}")
    done
    case $(header "$test" server) in
        unix) need "${unix_server%% *}" "${unix_server%% *}" ;;
        tcp) need "${tcp_server%% *}" "${tcp_server%% *}" ;;
    esac
done
[ ${#missing[@]} = 0 ] || die "missing: ${missing[*]}; apt-get install --no-install-recommends $(printf '%s\n' "${packages[@]}" | sort -u | xargs)"
if ldd "$(command -v busybox)" > /dev/null 2>&1; then die "busybox is not static; apt-get install busybox-static"; fi

# --- The kernel, once

if ! [ -e "$cache/kernel/done" ]; then
    rm -rf "$cache/kernel"; mkdir -p "$cache/kernel"
    package=$(apt-cache depends linux-image-amd64 2> /dev/null | awk '/Depends: linux-image-[0-9]/{print $2; exit}')
    [ -n "$package" ] || die "apt knows no kernel (linux-image-amd64); apt-get update, or unpack one into $cache/kernel and touch done in it"
    echo "guest: downloading $package (70 MB)"
    (cd "$cache/kernel" && apt-get -qq download "$package" 2> download.log) \
        || { cat "$cache/kernel/download.log" >&2; die "could not download $package"; }
    dpkg-deb -x "$cache"/kernel/linux-image-*.deb "$cache/kernel"
    rm "$cache"/kernel/linux-image-*.deb
    depmod -b "$cache/kernel" "$(ls "$cache/kernel/lib/modules")"
    touch "$cache/kernel/done"
fi
release=$(ls "$cache/kernel/lib/modules")

# --- What the guest starts from: a file system in memory

work=$(mktemp -d)
servers=()
cleanup() {
    for pid in "${servers[@]}"; do kill "$pid" 2> /dev/null || true; done
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

add_file() { # with the libraries that it needs
    local file library
    file=$(command -v "$1" || echo "$1")
    [ -e "$file" ] || die "no such file: $1"
    [ -e "$root$file" ] && return
    mkdir -p "$root$(dirname "$file")"
    cp -L "$file" "$root$file"
    for library in $(ldd "$file" 2> /dev/null | grep -oE '/[^ ]+' || true); do
        [ -e "$root$library" ] || { mkdir -p "$root$(dirname "$library")"; cp -L "$library" "$root$library"; }
    done
}
add_module() { # with those that it needs
    modprobe -d "$cache/kernel" -S "$release" --show-depends "$1" | awk '/^insmod/{print $2}' | while read -r file; do
        local place=${file#"$cache/kernel"}
        mkdir -p "$root$(dirname "$place")"
        cp "$file" "$root$place"
    done
}
add_rust() { # arguments of cargo
    local name=${*: -1} built
    # shellcheck disable=SC2068
    built=$(RUSTFLAGS="-C target-feature=+crt-static" cargo "$1" --quiet --locked --target x86_64-unknown-linux-gnu \
        --message-format=json-render-diagnostics "${@:2}" | grep -o '"executable":"[^"]*"' | tail -1 | cut -d'"' -f4) || die "cargo $* failed" 1
    strip --strip-debug -o "$root/bin/$name" "$built" 2> /dev/null || cp "$built" "$root/bin/$name"
}

modules=()
for test in "${tests[@]}"; do
    cp "$here/tests/$test.sh" "$root/tests/"
    : > "$root/tests/$test.env"
    for module in $(header "$test" modules); do modules+=("$module"); done
    for file in $(header "$test" files); do add_file "$file"; done
    while read -r line; do
        # shellcheck disable=SC2086
        [ -z "$line" ] || [ -e "$root/bin/${line##* }" ] || add_rust $line
    done <<< "$(header "$test" rust)"
done
for program in "${programs[@]}"; do add_file "$program"; done

# --- What serves disks to it

# The slowest part of starting a server is that it is ready: try for ten seconds.
wait_for() { for _ in $(seq 100); do if "$@" 2> /dev/null; then return; fi; sleep 0.1; done; return 1; }
answers() { (exec 3<> "/dev/tcp/127.0.0.1/$1"); }
machine=()
serve() { # test, command, socket, port
    local log=$work/$1.log dir=$work/$1.dir
    mkdir -p "$dir"
    local command=${2//\{socket\}/$3}
    command=${command//\{port\}/$4}; command=${command//\{log\}/$log}; command=${command//\{dir\}/$dir}
    # shellcheck disable=SC2086
    $command > "$work/$1.out" 2>&1 &
    servers+=($!)
}
for test in "${tests[@]}"; do
    socket=$work/$test.sock
    case $(header "$test" server) in
        unix)
            serve "$test" "$unix_server" "$socket" 0
            wait_for test -S "$socket" || { cat "$work/$test.out" >&2; die "the server of $test did not start" 1; }
            modules+=(virtio_pci virtio_blk)
            machine+=(-drive "file=nbd+unix:///?socket=$socket,if=none,id=$test,format=raw,discard=unmap,detect-zeroes=off"
                      -device "virtio-blk-pci,drive=$test,serial=${test:0:20}")
            echo "DISK=\$(disk_with_serial ${test:0:20})" > "$root/tests/$test.env" ;;
        tcp)
            for _ in $(seq 20); do port=$((20000 + RANDOM % 12000)); answers $port 2> /dev/null || break; done
            serve "$test" "$tcp_server" "$socket" "$port"
            wait_for answers "$port" || { cat "$work/$test.out" >&2; die "the server of $test did not start" 1; }
            modules+=(virtio_pci virtio_net)
            [[ " ${machine[*]} " == *" -netdev "* ]] || machine+=(-netdev "user,id=net" -device "virtio-net-pci,netdev=net,romfile=")
            echo "SERVER_HOST=10.0.2.2 SERVER_PORT=$port; network_up" > "$root/tests/$test.env" ;;
        "") ;;
        *) die "$test: '# server:' is unix or tcp" ;;
    esac
done
# Many modules share what they need: each is looked up once.
for module in $(printf '%s\n' "${modules[@]}" | sort -u); do add_module "$module"; done
(cd "$root" && find . | cpio -o -H newc --quiet > "$work/initrd")

# --- The machine

begun=$SECONDS
timeout --foreground "${GUEST_TIMEOUT:-600}" qemu-system-x86_64 -accel "${GUEST_ACCEL:-tcg,thread=multi}" -smp 2 \
    -m "${GUEST_MEMORY:-1024}" -cpu max -nodefaults -nographic -no-reboot -serial stdio \
    -kernel "$cache/kernel/boot/vmlinuz-$release" -initrd "$work/initrd" \
    -append "console=ttyS0 quiet panic=-1 mitigations=off tsc=reliable" "${machine[@]}" \
    < /dev/null 2>&1 | tr -d '\r' | grep --line-buffered -v -E 'SeaBIOS|Booting from|^$' | sed -u 's/^.*GUEST booted/GUEST booted/' | tee "$cache/console.log" || true
echo "guest: $((SECONDS - begun)) s in the machine"

grep -q '^GUEST done' "$cache/console.log" || die "the machine did not come to its end; see $cache/console.log" 3
failed=()
for test in "${tests[@]}"; do
    if ! grep -q "^GUEST passed $test " "$cache/console.log"; then
        failed+=("$test")
    elif check=$(header "$test" host-check) && [ -n "$check" ]; then
        LOG=$work/$test.log bash -c "$check" || { echo "guest: $test: not so: $check"; failed+=("$test"); }
    fi
done
[ ${#failed[@]} = 0 ] || die "failed: ${failed[*]}" 1
echo "guest: ${#tests[@]} passed: ${tests[*]}"
