#!/bin/sh
# Draws the pictures of README and book from a record: docs/pictures.sh out/demo
set -eu
cd "$(dirname "$0")/.."
mkdir -p docs/src/pictures
for figure in throughput queue; do
    cp "${1:-out/demo}/$figure.svg" "docs/src/pictures/demo-$figure.svg"
done
