#!/bin/sh
# build.sh DIR [KEY=VALUE...]: builds the stand-in libcuda.so.1 and libnvidia-ml.so.1 into DIR with their device.conf.
# The timeline is in /dev/shm, where a confined reader may write. nvml=0 leaves libnvidia-ml.so.1 away: no driver.
set -eu
dir=$1
shift
here=$(dirname "$(readlink -f "$0")")
mkdir -p "$dir"
dir=$(readlink -f "$dir")
flags="-shared -fPIC -O2 -std=gnu11 -Wall -Wextra -Werror -fvisibility=hidden -pthread"
nvml=1
: >"$dir/device.conf"
for setting; do
  case $setting in
    nvml=*) nvml=${setting#nvml=} ;;
    *) echo "${setting%%=*} ${setting#*=}" >>"$dir/device.conf" ;;
  esac
done
if ! grep -q '^timeline ' "$dir/device.conf"; then
  echo "timeline /dev/shm/pipetune-device-$(echo "$dir" | cksum | cut -d' ' -f1)" >>"$dir/device.conf"
fi
cd "$here"
# shellcheck disable=SC2086
gcc $flags -Wl,-soname,libcuda.so.1 -o "$dir/libcuda.so.1" device.c timeline.c settings.c -ldl
rm -f "$dir/libnvidia-ml.so.1"
if [ "$nvml" != 0 ]; then
  # shellcheck disable=SC2086
  gcc $flags -Wl,-soname,libnvidia-ml.so.1 -o "$dir/libnvidia-ml.so.1" nvml.c gpm.c timeline.c settings.c -ldl
fi
# The timeline begins now, so that a driver can be asked before a job computes.
python3 -c 'import ctypes, sys; sys.exit(ctypes.CDLL(sys.argv[1]).dev_attach())' "$dir/libcuda.so.1"
