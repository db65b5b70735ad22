# shellcheck shell=bash
# What the scripts of this folder share; sourced, never run.
#
#   start_work; skip_unless …; start_server IMAGE; disk_up; loop_up; mount_up; …; finished
#
# A script that does not reach `finished` has failed: the trap on EXIT takes everything down again and
# says so. Exit codes: 0 ok, 1 failed, 77 skipped because this machine cannot.
#
# Environment:
#   SERVER        thermocline (default), or nbdkit: the same tests against a server that others trust.
#                 A test that fails there is at fault itself.
#   NBDKIT        with SERVER=nbdkit, a filter and its parameters; can-fail.sh makes it a bad server so
#   THERMOCLINE   the binary; otherwise that of `make build`
#   DEVICE        the profile of the chips (slc-generic)
#   LIMIT         seconds after which a script that hangs is ended
#   THERMOCLINE_SKIPPED   a file that gets a line for each script that is skipped, with the reason
#   SYSTEMS_DIR   where images and mount points are made; otherwise TMPDIR or /tmp
set -Eeuo pipefail
export LC_ALL=C TZ=UTC PATH="$PATH:/usr/sbin:/sbin"

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$here")
script=$(basename "$0")
SERVER=${SERVER:-thermocline}
THERMOCLINE=${THERMOCLINE:-${CARGO_TARGET_DIR:-$root/target}/release/thermocline}
DEVICE=${DEVICE:-slc-generic}
python=/usr/bin/python3 # the one that Debian's python3-libnbd belongs to

# What a run holds, for the trap to take down.
work='' below='' socket='' uri='' server='' fuse='' fuse_pid='' dev='' mnt='' child='' watchdog='' at=''
verdict=failed began=$SECONDS doing='setting up'

say() { printf '%s: %s\n' "$script" "$*" >&2; }
die() {
    say "$*"
    exit 1
}
skip() {
    verdict=skipped
    say "$*"
    [[ -z ${THERMOCLINE_SKIPPED:-} ]] || echo "systems/$script: $*" >>"$THERMOCLINE_SKIPPED"
    exit 77
}

# step WHAT: names what comes next, for the log and for the message of a failure.
step() {
    doing=$*
    printf '%s: %3d s  %s\n' "$script" $((SECONDS - began)) "$*" >&2
}

finished() { verdict=ok; }

# --------------------------------------------------------------------------------- what the machine can

packages=(nbdkit libnbd-bin python3-libnbd qemu-utils fio fuse3 dosfstools e2fsprogs xfsprogs btrfs-progs mtools systemd)

# skip_unless PROGRAM...|root|fuse|loop|python-nbd|TYPE.fs: skips where the machine lacks one of them.
skip_unless() {
    local want
    for want in "$@"; do
        case $want in
        root) ((EUID == 0)) || skip "needs root: it attaches loop devices and mounts file systems" ;;
        fuse) [[ -c /dev/fuse ]] || skip "needs /dev/fuse (modprobe fuse)" ;;
        loop) losetup -f >/dev/null 2>&1 || skip "needs loop devices (modprobe loop)" ;;
        python-nbd) "$python" -c 'import nbd' 2>/dev/null || skip "needs python3-libnbd; make test-tools installs it" ;;
        *.fs) grep -qw "${want%.fs}" /proc/filesystems || modprobe -q "${want%.fs}" ||
            skip "this kernel has no ${want%.fs}" ;;
        *) command -v "$want" >/dev/null || skip "needs $want; make test-tools installs all programs" ;;
        esac
    done
}

# start_work SECONDS: the directory of this run, and an end to it when something hangs for four times as long as an
# idle machine may take.
start_work() {
    case $SERVER in
    thermocline) [[ -x $THERMOCLINE ]] || die "no $THERMOCLINE; run make build first" ;;
    nbdkit) command -v nbdkit >/dev/null || skip "needs nbdkit; make test-tools installs it" ;;
    *) die "SERVER is thermocline or nbdkit, not '$SERVER'" ;;
    esac
    work=$(mktemp -d "${SYSTEMS_DIR:-${TMPDIR:-/tmp}}/thermocline-systems.XXXXXX")
    socket=$work/socket uri="nbd+unix:///?socket=$socket"
    mkdir "$work/fuse" "$work/mnt"
    watch_over "${LIMIT:-$(($1 * 4))}" &
    watchdog=$!
}

# A request that is never answered holds its caller where no signal reaches it; without server and
# nbdfuse it gets an error, and then the trap can clean up.
watch_over() {
    trap 'kill $! 2>/dev/null; exit' TERM
    trap - EXIT ERR
    sleep "$1" &
    wait $!
    say "stuck: not done after $1 s"
    : >"$work/stuck"
    local file
    for file in "$work/server.pid" "$work/fuse.pid"; do
        [[ ! -f $file ]] || kill -9 "$(cat "$file")" || true
    done
    kill -TERM $$
}

# ---------------------------------------------------------------------------------------------- server

# make_image IMAGE CAPACITY: a formatted image; what is exported of it is for size_of_disk to say.
make_image() {
    case $SERVER in
    thermocline) "$THERMOCLINE" format "$1" --device "$DEVICE" --capacity "$2" >&2 ;;
    nbdkit) truncate -s "${2%iB}" "$1" ;;
    esac
}

# server_command IMAGE ARGUMENT...: the command that serves IMAGE in the foreground, in $command; on
# the socket that a service manager passes where the arguments name none.
server_command() {
    local image=$1
    shift
    case $SERVER in
    thermocline) command=("$THERMOCLINE" serve "$image" "$@") ;;
    nbdkit)
        local filter parameters
        read -ra parameters <<<"${NBDKIT:-}"
        for filter in "${parameters[@]:0:1}"; do set -- "$@" "--filter=$filter"; done
        command=(nbdkit --foreground "$@" file "$image" "${parameters[@]:1}")
        ;;
    esac
}

# start_server IMAGE: returns when it answers.
start_server() {
    start_server_only "$1"
    local i
    for ((i = 0; i < 1200; i++)); do
        if nbdinfo --size "$uri" >/dev/null 2>&1; then return; fi
        server_runs || break
        sleep 0.05
    done
    tail -n 20 "$work/server.log" >&2
    if server_runs; then die "the server does not answer"; else die "the server did not start"; fi
}

# start_server_only IMAGE: does not wait. The socket of a server that was killed is left to the next
# one to replace; nbdkit leaves that to its caller.
start_server_only() {
    [[ $SERVER != nbdkit ]] || rm -f "$socket"
    server_command "$1" --unix "$socket"
    "${command[@]}" >>"$work/server.log" 2>&1 &
    server=$!
    echo "$server" >"$work/server.pid"
}

server_runs() { [[ $server ]] && kill -0 "$server" 2>/dev/null; }

# gone PID SECONDS: whether that child ends in time.
gone() {
    local i
    for ((i = 0; i < $2 * 20; i++)); do
        kill -0 "$1" 2>/dev/null || return 0
        sleep 0.05
    done
    return 1
}

# stop_server: as an operator does, by SIGTERM; it must end by itself and well.
stop_server() {
    local status=0
    kill -TERM "$server"
    gone "$server" 30 || die "the server still runs 30 s after SIGTERM"
    wait "$server" || status=$?
    server=''
    rm "$work/server.pid"
    if ((status)); then
        tail -n 20 "$work/server.log" >&2
        die "the server ended with exit code $status after SIGTERM"
    fi
}

# kill_server: as a crash does.
kill_server() {
    kill -9 "$server" || die "the server had ended by itself before it was killed"
    wait "$server" 2>/dev/null || true
    server=''
    rm "$work/server.pid"
}

# check_image IMAGE [CODE...]: fails unless `check` ends with 0 or one of the codes.
check_image() {
    [[ $SERVER == thermocline ]] || return 0
    local image=$1 status=0
    shift
    "$THERMOCLINE" check "$image" >"$work/check.log" 2>&1 || status=$?
    if [[ " 0 $* " != *" $status "* ]]; then
        cat "$work/check.log" >&2
        die "thermocline check ended with exit code $status"
    fi
}

size_of_disk() { nbdinfo --size "$uri"; }

# --------------------------------------------------------------------------- the disk, up and down again

# disk_up: the export as the file $disk, by nbdfuse (which makes several connections if it may).
disk_up() {
    disk=$work/fuse/disk
    nbdfuse "$disk" --unix "$socket" 2>>"$work/nbdfuse.log" &
    fuse_pid=$!
    disown # it may abort when its server dies, and that is nothing to report
    echo "$fuse_pid" >"$work/fuse.pid"
    fuse=$work/fuse
    local i
    for ((i = 0; i < 1200; i++)); do
        [[ ! -f $disk ]] || return 0
        sleep 0.05
    done
    cat "$work/nbdfuse.log" >&2
    die "nbdfuse did not come up"
}

# loop_up: a block device of it. Direct I/O: no second cache, and what syncs really syncs.
loop_up() { dev=$(losetup --find --show --direct-io=on "$disk"); }

# mount_up TYPE OPTIONS
mount_up() {
    mount -t "$1" -o "$2" "$dev" "$work/mnt"
    mnt=$work/mnt
}

mount_down() {
    umount "$mnt"
    mnt=''
}

loop_down() {
    losetup -d "$dev"
    dev=''
}

disk_down() {
    fusermount3 -u "$fuse"
    fuse=''
    gone "$fuse_pid" 20 || die "nbdfuse still runs after its unmount"
    fuse_pid=''
    rm "$work/fuse.pid"
}

# abandon: the same for a disk that answers with errors, or not at all.
abandon() {
    if [[ $mnt ]]; then timeout 20 umount "$mnt" 2>/dev/null || umount -l "$mnt" 2>/dev/null || true; fi
    if [[ $dev ]]; then losetup -d "$dev" || true; fi
    if [[ $fuse ]]; then fusermount3 -u "$fuse" 2>/dev/null || fusermount3 -uz "$fuse" || true; fi
    if [[ $fuse_pid ]]; then
        gone "$fuse_pid" 10 || kill -9 "$fuse_pid" || true
    fi
    mnt='' dev='' fuse='' fuse_pid=''
    rm -f "$work/fuse.pid"
}

at_exit() {
    local status=$?
    set +e
    trap - ERR
    trap '' INT TERM
    # An exit code of zero without `finished` is a failure too.
    if [[ $verdict == failed ]]; then
        say "failed while: $doing${at:+ ($at)}"
        # A signal from outside keeps its code.
        if [[ -e $work/stuck ]] || ((status != 130 && status != 143)); then status=1; fi
    fi
    if [[ $child ]]; then
        kill "$child" 2>/dev/null
        gone "$child" 5 || kill -9 "$child"
    fi
    if [[ $server && $verdict == failed ]]; then tail -n 5 "$work/server.log" >&2; fi
    # An image on a file system of the script's own: nobody may have it open.
    if [[ $below && $server ]]; then kill -9 "$server"; fi
    abandon
    if [[ $below ]]; then umount "$below"; fi
    if [[ $server ]]; then
        kill "$server" 2>/dev/null
        gone "$server" 10 || kill -9 "$server"
        wait "$server" 2>/dev/null
    fi
    if [[ $watchdog ]]; then
        kill "$watchdog" 2>/dev/null
        wait "$watchdog" 2>/dev/null
    fi
    if [[ $work ]]; then rm -rf --one-file-system "$work"; fi
    case $verdict in
    ok) printf 'ok      %s (%s, %d s)\n' "$script" "$SERVER" $((SECONDS - began)) ;;
    skipped) printf 'skipped %s\n' "$script" ;;
    *) printf 'FAILED  %s (%s, %d s): %s\n' "$script" "$SERVER" $((SECONDS - began)) "$doing" ;;
    esac
    exit "$status"
}

trap at_exit EXIT
trap 'at=${at:-${BASH_SOURCE[0]##*/}:$LINENO}' ERR
trap 'exit 130' INT
trap 'exit 143' TERM
