#!/usr/bin/env bash
# Builds the fuzzer and runs it: run.sh SECONDS [TARGET]. Each target gets so many seconds, two targets at a time.
# What it learns stays in .build/fuzz; what it finds is told with the command that shows it again, and ends it with 1.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

seconds=${1:?usage: run.sh SECONDS [TARGET]}
wanted=${2:-}
place=.build/fuzz
fuzzer=$place/debug/fuzz
corpora=Tests/Fuzz/Corpora

# Swift's own report of a crash would come between libFuzzer and its signal.
export SWIFT_BACKTRACE=enable=no
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_stack_use_after_return=0}
# Another build may have asked for a library to be loaded first.
unset LD_PRELOAD

POSTRIDER_FUZZ=1 swift build --scratch-path "$place" --product fuzz >"$place.log" 2>&1 \
    || { cat "$place.log"; echo "make fuzz: the fuzzer cannot be built" >&2; exit 1; }

# Runs one target to its end, and prints one line about it.
run() {
    local target=$1 longest=$2 log=$place/$1.log code=0
    mkdir -p "$place/learned/$target" "$place/found/$target"
    POSTRIDER_FUZZ_TARGET=$target "$fuzzer" \
        -max_total_time="$seconds" -max_len="$longest" -timeout=20 -rss_limit_mb=1024 -print_final_stats=1 \
        -dict="Tests/Fuzz/Dictionaries/$target.dict" -artifact_prefix="$place/found/$target/" \
        "$place/learned/$target" "$corpora/$target" >"$log" 2>&1 || code=$?
    if [[ $code -ne 0 ]]; then
        tail -n 60 "$log"
        local input
        input=$(sed -n 's/.*Test unit written to //p' "$log" | tail -n 1)
        echo "make fuzz: $target found something; see it again with"
        echo "    SWIFT_BACKTRACE=enable=no POSTRIDER_FUZZ_TARGET=$target $fuzzer ${input:-(no input was written)}"
        echo "and keep the input in $corpora/$target once it is mended"
        return 1
    fi
    local rate coverage features
    rate=$(sed -n 's/^stat::average_exec_per_sec: *//p' "$log")
    read -r coverage features < <(sed -n 's/.*cov: \([0-9]*\) ft: \([0-9]*\).*/\1 \2/p' "$log" | tail -n 1) || true
    echo "fuzz $target: $rate inputs/s, $coverage edges, $features features in $seconds s"
}

targets=$("$fuzzer" --targets)
if [[ -n $wanted ]]; then
    targets=$(grep "^$wanted " <<<"$targets") || { echo "make fuzz: there is no target $wanted" >&2; exit 1; }
fi

running=()
failed=0
while read -r target longest; do
    if [[ ${#running[@]} -eq 2 ]]; then
        wait "${running[0]}" || failed=1
        running=("${running[1]}")
    fi
    run "$target" "$longest" &
    running+=($!)
done <<<"$targets"
for job in "${running[@]}"; do wait "$job" || failed=1; done
exit "$failed"
