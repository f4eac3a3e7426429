#!/bin/sh
# Makes the pictures of docs/src/gallery.md with its commands: docs/gallery.sh [PROGRAM]
set -eu
cd "$(dirname "$0")/.."
program=${1:-${CARGO_TARGET_DIR:-target}/release/headway}
"$program" --version > /dev/null
page=docs/src/gallery.md
rm -rf out/gallery docs/src/pictures/gallery
mkdir -p docs/src/pictures/gallery
sed -n 's/^\$ headway //p' "$page" | while read -r words; do eval "$program $words" > /dev/null; done
sed -n 's|^!.*(pictures/gallery/\(.*\)\.svg)$|\1|p' "$page" | while read -r name; do
    cp "out/gallery/$name"/*.svg "docs/src/pictures/gallery/$name.svg"
done
