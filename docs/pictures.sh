#!/bin/sh
# Draws the pictures of README and book from a record, those of delays and charts, and the viewer: docs/pictures.sh out/demo
# Needs what viewer/check needs, and pdftocairo (Debian: apt-get install poppler-utils).
set -eu
cd "$(dirname "$0")/.."
mkdir -p docs/src/pictures
for figure in throughput queue; do
    cp "${1:-out/demo}/$figure.svg" "docs/src/pictures/demo-$figure.svg"
done
headway=${CARGO_TARGET_DIR:-target}/release/headway
"$headway" run scenarios/demo.toml --set record.distributions=true --out out/demo-delays --quiet > /dev/null
for kind in delay-cdf frames; do
    "$headway" plot out/demo-delays --kind "$kind" --format svg > /dev/null
    cp "out/demo-delays/$kind.svg" "docs/src/pictures/demo-$kind.svg"
done
# The how-to guide to distributions.
for queue in droptail fq-codel; do
    "$headway" run scenarios/demo.toml --set record.distributions=true --set "link[bottleneck].queue={ kind = \"$queue\" }" \
        --out "out/queues/$queue" --quiet > /dev/null
done
"$headway" plot out/queues/droptail out/queues/fq-codel --kind delay-cdf --format svg --out out/delay-of-queues > /dev/null
cp out/delay-of-queues/delay-cdf.svg docs/src/pictures/delay-of-queues.svg
# The video's delay over $rates and the queue: NAME, UNIT in the title, and what the sweep draws.
study() {
    name=$1
    unit=$2
    shift 2
    "$headway" sweep scenarios/demo.toml --seeds 20 --set 'flow[download].start={ uniform = ["4s", "6s"] }' \
        --vary 'link[bottleneck].queue.kind=droptail,red' --vary "link[bottleneck].rate=$rates" \
        --metric 'delay=flow[video].one_way_delay_s.p95 * 1e3' --title "The video's delay, 95 % of packets$unit" \
        --out out/study --quiet "$@" > /dev/null
    cp out/study/delay-over-*.svg "docs/src/pictures/study-$name.svg"
    rm out/study/delay-over-*
}
rates=1.5Mbps,2Mbps,3Mbps,4Mbps,6Mbps
study lines "" --plot rate --by kind --log-x --x-label "Rate (bit/s)" --y-label "Delay (ms)"
study places "" --plot kind --by rate --x-label "Queue" --y-label "Delay (ms)"
study boxes "" --plot rate --by kind --boxes --x-label "Rate (bit/s)" --y-label "Delay (ms)"
study heat-map " (ms)" --plot rate --by kind --heat-map --x-label "Rate (Mb/s)" --y-label "Queue"
rates=2Mbps
study distributions "" --plot kind --cdf --x-label "Delay (ms)"
# The viewer at an instant when the queue is full.
"$headway" run scenarios/demo.toml --trace packets --out out/viewer/demo --quiet > /dev/null
"$headway" report out/viewer/demo -o out/viewer.html > /dev/null
CHROMIUM=$(command -v "${CHROMIUM:-chromium-headless-shell}" || command -v "${CHROMIUM:-chromium}")
export CHROMIUM
node viewer/pictures/draw.mjs out/viewer.html "t=11.64&speed=0.05" docs/src/pictures/viewer.svg
