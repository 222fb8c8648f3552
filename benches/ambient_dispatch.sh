#!/usr/bin/env bash
# What it costs that one engine runs under either clock: instructions of a point select
# with the look at the current simulation, against a build in which it is a constant.
# Needs valgrind. Instructions are counted, so the load of the machine does not matter.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Instructions of the program with so many selects.
instructions() {
    valgrind --tool=callgrind --callgrind-out-file=/dev/null "$1" "$2" 2>&1 >/dev/null |
        sed -n 's/.*Collected : *//p'
}

# Instructions of one select.
per_select() {
    local few many
    few=$(instructions "$1" 10000)
    many=$(instructions "$1" 30000)
    echo $(((many - few) / 20000))
}

for build in both real; do
    features=()
    [ "$build" = real ] && features=(--features innosim-engine/real-clock-only)
    cargo build --release --quiet -p innosim-benches --bin point_selects "${features[@]}" \
        --target-dir "target/ambient-dispatch"
    cp target/ambient-dispatch/release/point_selects "$work/$build"
done
both=$(per_select "$work/both")
real=$(per_select "$work/real")
echo "instructions of a point select: $both with both clocks, $real with the real clock only"
awk -v both="$both" -v real="$real" \
    'BEGIN { share = both / real - 1; printf "the dispatch costs %.2f %%\n", 100 * share
             exit !(share <= 0.02) }'
