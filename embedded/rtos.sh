#!/bin/bash
# Runs the disk for Zephyr and the component of ESP-IDF on this computer, against declarations of the interfaces that they use.
#
#   embedded/rtos.sh ARCHIVE [BUILD]    with the archive for C, unpacked (contrib/dist-c.sh); seconds
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
archive=$(realpath "$1")
build=${2:-$(mktemp -d)}
mkdir -p "$build"

# Each property of the binding is used, and none that it lacks.
binding=$here/zephyr/dts/bindings/disk/thermocline,disk.yaml
diff <(sed -n 's/^  \([a-z-]*\):$/\1/p' "$binding" | tr - _ | sort) \
    <(grep -oE 'DT_INST_(PROP|PROP_OR|PHANDLE)\(n, [a-z_]+' "$here/zephyr/disk.c" | sed 's/.*, //' | sort -u) ||
    { echo "rtos.sh: the binding and disk.c have other properties" >&2; exit 1; }
cmake -P "$here/cmake/targets.cmake"

# For a Cortex-M4F, where integers have other names.
m4f=(arm-none-eabi-gcc -mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16 -std=gnu11 -Os -Wall -Wextra -Werror -I "$archive/include")
options=(-D CONFIG_THERMOCLINE_FORMAT=1 -D CONFIG_DISK_LOG_LEVEL=3 -D CONFIG_KERNEL_INIT_PRIORITY_DEVICE=50)
for part in disk chip; do
    for version in 0x40400 0x30600; do
        "${m4f[@]}" "${options[@]}" -D KERNEL_VERSION_NUMBER=$version -I "$here/zephyr/tests" -I "$here/zephyr/tests/include" -I "$here/zephyr/include" \
            -c "$here/zephyr/$part.c" -o "$build/$part.o"
    done
done
"${m4f[@]}" -I "$here/esp-idf/tests/include" -I "$here/esp-idf/thermocline_nand/include" -c "$here/esp-idf/thermocline_nand/thermocline_nand.c" -o "$build/nand.o"

for door in zephyr/tests:disk esp-idf/tests:nand; do
    from=${door%:*} program=${door#*:}
    rm -rf "${build:?}/$program"
    {
        cmake -S "$here/$from" -B "$build/$program" -G Ninja -D ARCHIVE="$archive"
        cmake --build "$build/$program"
    } > "$build/$program.log" 2>&1 || { cat "$build/$program.log"; exit 1; }
    "$build/$program/$program"
done
