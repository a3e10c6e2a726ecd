#!/usr/bin/env bash
# Runs the tests that `swift build --build-tests` has built: run.sh [unit]. What a process prints stays in
# .build/tests-<group>.txt; that of the unit tests is shown only if one fails.
#
# All tests run in two processes at once. Swift's runtime has as many threads for tests as the machine has processors,
# and a test that computes for minutes, or waits for a program, keeps one of them: in a single process, on two
# processors, one was idle for a third of the time.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# The tests take minutes. A test that hangs fails, and the last line names it. The processes do not wait for SwiftPM's
# lock, because none of them builds.
run() {
    local log=.build/tests-$1.txt
    shift
    timeout --foreground --signal INT --kill-after 30 2400 stdbuf -oL \
        swift test --ignore-lock --skip-build --disable-xctest "$@" 2>&1 | tee "$log"
}

# Repeats failures at the end of the output, because they are hard to find among thousands of lines and some logs keep
# only the last ones. A crash is printed by the test process itself, and its thread stands far above the registers and
# libraries.
say_failures() {
    echo
    grep -m 1 -A 12 "recorded an issue" "$1" | cut -c 1-300 || true
    grep -A 24 -E "^Thread [0-9]+.* crashed" "$1" | tail -n 25 | cut -c 1-300 || true
    echo "What failed (all of it is in $1):"
    grep "recorded an issue" "$1" | cut -c 1-200 | head -n 15 || true
}

failed=()
if [[ ${1:-} == unit ]]; then
    groups=(unit)
    run unit >/dev/null || failed+=(unit)
else
    # The tests that start programs take as much processor time as all others.
    groups=(programs others)
    run programs --filter '^EndToEndTests\.' &
    programs=$!
    run others --skip '^EndToEndTests\.' || failed+=(others)
    wait "$programs" || failed+=(programs)
fi
for group in "${failed[@]}"; do say_failures ".build/tests-$group.txt"; done
for group in "${groups[@]}"; do tail -n 1 ".build/tests-$group.txt"; done
exit $((${#failed[@]} > 0))
