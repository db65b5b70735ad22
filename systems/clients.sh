#!/usr/bin/env bash
# Every client at hand against the server: libnbd's tools, QEMU's, fio with its own verification, and
# by python3-libnbd and a bare socket the corners of the protocol and things that are wrong.
#
#   systems/clients.sh [nbdinfo|nbdcopy|qemu-img|qemu-io|fio|libnbd|bare|activation]...   all by default
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

CAPACITY=128MiB

# expect WHAT COMMAND...: its output must hold a line that matches the extended regular expression.
expect() {
    local what=$1 output
    shift
    output=$("$@" 2>&1) || die "$* fails: $output"
    grep -qE "$what" <<<"$output" || die "$* does not say '$what': $output"
}

# refuses COMMAND...: it must fail.
refuses() {
    if "$@" >"$work/refused" 2>&1; then die "$* succeeds: $(cat "$work/refused")"; fi
}

with_nbdinfo() {
    local can
    expect '^protocol: newstyle-fixed .* structured' nbdinfo "$uri"
    expect "export-size: $size " nbdinfo "$uri"
    expect "export-size: $size " nbdinfo --list "$uri"
    expect '"base:allocation"' nbdinfo --json "$uri"
    nbdinfo --json "$uri" | "$python" -m json.tool >"$work/json"
    nbdinfo --json --list "$uri" | "$python" -m json.tool >"$work/json"
    for can in connect read write trim zero fast-zero flush fua multi-conn cache df structured-reply; do
        [[ $SERVER/$can != nbdkit/fast-zero ]] || continue # its file plugin has no such promise
        nbdinfo --can $can "$uri" || die "nbdinfo: the server cannot $can"
    done
    refuses nbdinfo --is read-only "$uri"
    # Nothing was written yet: one hole that reads as zeroes.
    expect "^ *0 +$size +3 +hole,zero$" nbdinfo --map "$uri"
}

with_nbdcopy() {
    # Data and holes, and an end that is no multiple of anything much.
    truncate -s "$size" "$work/there"
    head -c 20000000 /dev/urandom | dd of="$work/there" bs=1M conv=notrunc status=none
    head -c 5000000 /dev/urandom | dd of="$work/there" bs=1M seek=60 conv=notrunc status=none
    nbdcopy --flush "$work/there" "$uri"
    nbdcopy "$uri" "$work/back"
    cmp "$work/there" "$work/back"
    nbdcopy --connections=1 --requests=1 --request-size=1048576 "$uri" "$work/back1"
    cmp "$work/there" "$work/back1"
    nbdcopy --synchronous "$uri" - | cmp - "$work/there"
    # The holes stayed holes.
    expect 'hole,zero' nbdinfo --map "$uri"
    # From the server to itself: reads and writes of the same places.
    nbdcopy "$uri" "$uri"
    nbdcopy "$uri" - | cmp - "$work/there"
    rm "$work/there" "$work/back" "$work/back1"
}

with_qemu_img() {
    expect 'virtual size: ' qemu-img info "$uri"
    expect "\"virtual-size\": $size" qemu-img info --output=json "$uri"
    truncate -s "$size" "$work/raw"
    head -c 30000000 /dev/urandom | dd of="$work/raw" bs=1M seek=7 conv=notrunc status=none
    qemu-img convert -n -f raw -O raw "$work/raw" "$uri"
    expect 'Images are identical' qemu-img compare -f raw -F raw "$work/raw" "$uri"
    qemu-img convert -f raw -O qcow2 -m 8 -W "$uri" "$work/qcow2"
    expect 'Images are identical' qemu-img compare -f raw -F qcow2 "$uri" "$work/qcow2"
    expect '"data": true' qemu-img map --output=json -f raw "$uri"
    expect '"data": false' qemu-img map --output=json -f raw "$uri"
    # One byte more must be noticed.
    printf x | dd of="$work/raw" bs=1 seek=33333333 conv=notrunc status=none
    refuses qemu-img compare -f raw -F raw "$work/raw" "$uri"
    rm "$work/raw" "$work/qcow2"
}

qemu_io() {
    local arguments=() each
    for each in "$@"; do arguments+=(-c "$each"); done
    qemu-io -f raw -d unmap -t none "${arguments[@]}" "$uri" >"$work/qemu-io" 2>&1 ||
        die "qemu-io: $* fails: $(cat "$work/qemu-io")"
    if grep -qiE 'failed|error' "$work/qemu-io"; then die "qemu-io: $*: $(cat "$work/qemu-io")"; fi
}

with_qemu_io() {
    qemu_io 'write -P 0xab 0 1M' 'write -P 0xcd 512k 64k' 'read -P 0xab 0 512k' 'read -P 0xcd 512k 64k' 'flush'
    qemu_io 'read -P 0xab 576k 448k'
    # Pieces of pages, over the edges of pages.
    qemu_io 'write -P 1 4000 512' 'write -P 2 8191 2' 'read -P 0xab 0 4000' 'read -P 1 4000 512' 'read -P 2 8191 2'
    qemu_io 'write -z 16k 100k' 'read -P 0 16k 100k' 'write -z -u 200k 64k' 'read -P 0 200k 64k' 'read -P 0xab 264k 4k'
    qemu_io 'write -z 300001 777' 'read -P 0 300001 777' 'read -P 0xab 300000 1' 'read -P 0xab 300778 1'
    qemu_io 'discard 400k 100k' 'read -P 0 400k 100k' 'read -P 0xab 500k 4k'
    qemu_io 'write -f -P 7 2M 64k' 'read -P 7 2M 64k' 'aio_write -P 9 3M 1M' 'aio_flush' 'read -P 9 3M 1M'
    qemu_io 'writev -P 5 4M 4k 8k 512 1536' 'read -P 5 4M 14k'
    # A pattern that is not there must be noticed.
    refuses qemu-io -f raw -c 'read -P 0x11 0 4k' "$uri"
}

with_fio() {
    # Each connection writes at random over a quarter of the disk, then reads all back and checks it.
    local quarter=$((size / 4 / 65536 * 65536)) each=(--ioengine=nbd --verify_state_save=0 "--uri=$uri" --thread --numjobs=4
        --iodepth=16 --group_reporting --randrepeat=0 --verify=crc32c --verify_fatal=1 --do_verify=1)
    fio --name=pages --rw=randwrite --bs=4k "${each[@]}" --size=$quarter --offset_increment=$quarter >"$work/fio" 2>&1 ||
        die "fio: $(cat "$work/fio")"
    fio --name=mixed --rw=randrw --bsrange=512-128k --bs_unaligned "${each[@]}" --size=$quarter --offset_increment=$quarter \
        --trim_percentage=5 >"$work/fio" 2>&1 || die "fio: $(cat "$work/fio")"
    # And after a restart.
    fio --name=last --rw=write --bs=64k "${each[@]}" --size=$quarter --offset_increment=$quarter >"$work/fio" 2>&1 ||
        die "fio: $(cat "$work/fio")"
    stop_server
    check_image "$image"
    start_server "$image"
    fio --name=last --rw=read --bs=64k "${each[@]}" --size=$quarter --offset_increment=$quarter >"$work/fio" 2>&1 ||
        die "fio: $(cat "$work/fio")"
    # A damaged block must be noticed.
    qemu_io "write -P 3 $((quarter + 4096)) 64"
    refuses fio --name=last --rw=read --bs=64k "${each[@]}" --size=$quarter --offset_increment=$quarter
    grep -qE 'verify: bad|verify failed' "$work/refused" || die "fio fails otherwise than it should: $(cat "$work/refused")"
}

# One client at a time that starts the server itself and hands it the socket, as systemd does.
with_activation() {
    stop_server
    server_command "$image"
    "$python" "$here/clients.py" activation "${command[@]}" 2>>"$work/server.log"
    check_image "$image"
    start_server "$image"
}

parts=(nbdinfo nbdcopy qemu-img qemu-io fio libnbd bare activation)
(($#)) || set -- "${parts[@]}"
for part in "$@"; do
    [[ " ${parts[*]} " == *" $part "* ]] || die "the clients are ${parts[*]}; not '$part'"
done
skip_unless nbdinfo nbdcopy qemu-img qemu-io fio python-nbd
start_work 180
image=$work/disk.img
make_image "$image" $CAPACITY
start_server "$image"
size=$(size_of_disk)
for part in "$@"; do
    step "$part"
    case $part in
    nbdinfo | nbdcopy | fio | activation) "with_$part" ;;
    qemu-img) with_qemu_img ;;
    qemu-io) with_qemu_io ;;
    libnbd | bare) "$python" "$here/clients.py" "$part" "$uri" ;;
    esac
    server_runs || die "the server ended under $part"
done
stop_server
check_image "$image"
finished
