#!/usr/bin/env bash
# The server among real programs: file systems, crashes, a full disk, clients. About two minutes on two cores.
#
#   systems/run.sh [filesystems|kill9|fulldisk|clients]...         all of them by default
#   systems/run.sh --packages                             the Debian packages that they need
#
# Installs these packages (systems/install.sh), runs each script, and prints a line for each. Exit code 0
# if none failed; 77 if none could run. The environment is that of lib.sh: SERVER=nbdkit runs the same tests
# against nbdkit.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
trap - EXIT

if [[ ${1:-} == --packages ]]; then
    echo "${packages[*]}"
    exit
fi
parts=(filesystems kill9 fulldisk clients)
(($#)) || set -- "${parts[@]}"
for part in "$@"; do
    [[ " ${parts[*]} " == *" $part "* ]] || die "the tests are ${parts[*]}; not '$part'"
done
"$here/install.sh" "${packages[@]}"
summary=() failed=0 passed=0
for part in "$@"; do
    status=0
    last=$("$here/$part.sh") || status=$?
    summary+=("${last:-FAILED  $part.sh}")
    case $status in
    0) passed=$((passed + 1)) ;;
    77) ;;
    130 | 143) exit $status ;;
    *) failed=$((failed + 1)) ;;
    esac
done
printf '%s\n' "${summary[@]}"
((failed == 0)) || exit 1
((passed)) || exit 77
