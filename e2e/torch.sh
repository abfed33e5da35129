#!/usr/bin/env bash
# A newer PyTorch than the host's, from Debian's own packages, in a folder to chroot into.
#
#   e2e/torch.sh trixie     Python 3.13, torch 2.6     builds it once and prints its folder on stdout
#   e2e/torch.sh sid        Python 3.14, torch 2.14    (all else goes to stderr)
#   e2e/torch.sh --remove trixie
#
# It leaves no mount behind: /proc, /dev and /sys are mounted by whoever runs a job there, in a mount namespace of its
# own that ends with the job. Needs root, debootstrap, about 2.5 GB below PIPETUNE_TORCH_DIR (default
# /var/tmp/pipetune-torch) and some minutes the first time. Two at once wait for each other.
set -euo pipefail

base=${PIPETUNE_TORCH_DIR:-/var/tmp/pipetune-torch}
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
packages=python3-torch,python3-h5py,python3-pil,python3-numpy

fail() { echo "torch.sh: $*" >&2; exit 1; }

# Nothing is removed while something is mounted below it: rm -rf through a bind mount of /dev or of a home is final.
remove() {
  local dir=$1
  [[ -e $dir ]] || return 0
  if awk -v d="$dir/" 'index($5 "/", d) == 1 { found = 1 } END { exit !found }' /proc/self/mountinfo; then
    fail "something is still mounted below $dir; unmount it first"
  fi
  rm -rf --one-file-system -- "$dir"
}

action=build
if [[ ${1:-} == --remove ]]; then action=remove; shift; fi
suite=${1:-}
[[ $suite == trixie || $suite == sid ]] || fail "usage: torch.sh [--remove] trixie|sid"
[[ $(id -u) == 0 ]] || fail "a chroot needs root: sudo e2e/torch.sh $suite"
dir=$base/$suite

mkdir -p "$base"
exec 9>"$base/.$suite.lock"
flock 9

if [[ $action == remove ]]; then remove "$dir"; remove "$dir.building"; exit 0; fi

if [[ ! -e $dir/.complete ]]; then
  command -v debootstrap >/dev/null || { apt-get update -qq && apt-get install -y -qq debootstrap; } >&2
  # Built under another name and renamed when complete, so that an interrupted build is never taken for a finished one.
  remove "$dir"; remove "$dir.building"
  # In a mount namespace of its own: debootstrap mounts /proc and /sys there, and an abort leaves nothing mounted here.
  unshare --mount --propagation private \
    debootstrap --variant=minbase --include="$packages" "$suite" "$dir.building" "$mirror" >&2
  rm -f "$dir.building"/var/cache/apt/archives/*.deb
  touch "$dir.building/.complete"
  mv "$dir.building" "$dir"
fi

# What is there, and that it starts, is said each time: a table without its versions proves little.
chroot "$dir" /usr/bin/python3 -c 'import sys, torch, h5py, PIL
print("torch.sh: python", sys.version.split()[0], "torch", torch.__version__, "h5py", h5py.__version__,
      "hdf5", h5py.version.hdf5_version, "pillow", PIL.__version__)' >&2
echo "$dir"
