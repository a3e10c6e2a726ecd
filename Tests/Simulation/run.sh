#!/usr/bin/env bash
# Builds the simulation and runs seeds: run.sh SEEDS MINUTES, where SEEDS is FROM..TO, a number of seeds, or empty for as
# many as the minutes allow. Ends with 1 at the first seed that finds something, and tells how to see it again.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

seeds=${1?usage: run.sh SEEDS MINUTES}
minutes=${2:?usage: run.sh SEEDS MINUTES}
place=.build/simulate

case $seeds in
    "") first=1 last=18446744073709551615 ;;
    *..*) first=${seeds%%..*} last=${seeds##*..} minutes=1000000 ;;
    *) first=1 last=$seeds minutes=1000000 ;;
esac

# Optimised, but with its assertions; `@testable` wants what a release build leaves out.
POSTRIDER_SIMULATE=1 swift build --configuration release --scratch-path "$place" --product simulate \
    -Xswiftc -enable-testing -Xswiftc -assert-config -Xswiftc Debug >"$place.log" 2>&1 \
    || { cat "$place.log"; echo "make simulate: it cannot be built" >&2; exit 1; }

code=0
"$place/release/simulate" "$first" "$last" "$minutes" "$place/seed" || code=$?
if [[ $code -gt 2 ]]; then
    seed=$(<"$place/seed")
    echo "seed $seed ended the process with $code; see it again with: make simulate SEEDS=$seed..$seed"
fi
exit "$code"
