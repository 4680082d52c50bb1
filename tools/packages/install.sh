#!/bin/sh
# install.sh [FOLDER]: installs rorqual from the tarball beside this script, or from the folder or
# address in RORQUAL_FROM, below FOLDER (~/.local). Nothing is installed before its checksum is right.
set -eu
prefix=${1:-$HOME/.local}
from=${RORQUAL_FROM:-$(dirname "$0")}
case $(uname -s)-$(uname -m) in
Linux-x86_64) name=rorqual-x86_64-linux.tar.gz ;;
*) echo "install.sh: there is no package for $(uname -s) on $(uname -m): build it, as README says" >&2; exit 1 ;;
esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
get() {
  case $from in
  http://* | https://*) curl -fsSL --retry 3 -o "$work/$1" "$from/$1" ;;
  *) cp "$from/$1" "$work/$1" ;;
  esac
}
get "$name"
get SHA256SUMS
(cd "$work" && grep "  $name\$" SHA256SUMS | sha256sum -c --quiet -) || {
  echo "install.sh: $name has another checksum than SHA256SUMS says; nothing was installed" >&2
  exit 1
}
mkdir -p "$prefix"
tar -xzf "$work/$name" -C "$work"
cp -R "$work/rorqual/." "$prefix/"
echo "rorqual is in $prefix/bin; uninstall: rm $prefix/bin/rorqual $prefix/bin/rorqual-query"
