#!/bin/sh
# Makes the pictures of docs/src/scenarios.md: docs/thumbnails.sh [PROGRAM]
#
# Each file in scenarios/ is run once, with 60 samples in each time series. The chart is the one that
# shows the subject of the scenario: the throughput, unless the list below has another.
set -eu
cd "$(dirname "$0")/.."
program=${1:-${CARGO_TARGET_DIR:-target}/release/headway}
"$program" --version > /dev/null
pictures=docs/src/pictures/scenarios
rm -rf out/thumbnails "$pictures"
mkdir -p "$pictures"
for file in scenarios/*.toml; do
    name=$(basename "$file" .toml)
    case $name in
        clocks | classes | codel | dualpi2 | fq-codel | impaired | l4s | lte | pie | star-lan | tcp-prague | web | wifi) metric=delay ;;
        dccp | encoder | gcc | nada | prague | scream2 | shaper-changes | tcp-like | tfrc | udpm) metric=allowed-rate ;;
        early-random-drop | red | red-mark-p-2) metric=queue ;;
        in-phase | media-marks | tfrc-sp | ties) metric=loss ;;
        *) metric=throughput ;;
    esac
    sample=$(sed -n 's/^duration = "\(.*\)s"$/\1/p' "$file" | awk '{ printf "%.0fms", $1 * 1000 / 60 }')
    "$program" run "$file" --set "record.series=$sample" --quiet --out "out/thumbnails/$name" > /dev/null
    "$program" plot "out/thumbnails/$name" --metric "$metric" --title "" --legend none --size 300x200 \
        --format svg --out "out/thumbnails/$name" > /dev/null
    cp "out/thumbnails/$name/$metric.svg" "$pictures/$name.svg"
done
