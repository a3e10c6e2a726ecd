#!/usr/bin/env bash
# Prints the version of the packages that are made of this tree: that of the programs where its commit has the tag of this name, or
# else one that Debian takes for a later one, with the moment and the name of the commit. With the word "time": the moment of the
# commit, in seconds since 1970 (https://reproducible-builds.org/docs/source-date-epoch).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if [[ ${1:-} == time ]]; then
    echo "${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}"
    exit
fi
version="$(sed -n 's/.*static let version = "\(.*\)"/\1/p' Sources/PostriderCommands/Program/Program.swift)"
commit="$(TZ=UTC git log -1 --date=format-local:%Y%m%d%H%M%S --format=%cd.%h --abbrev=12 2>/dev/null || echo 0)"
[[ -z "$(git status --porcelain 2>/dev/null)" ]] || commit+=.changed
if [[ $commit == *.changed ]] || ! git describe --tags --exact-match --match "$version" >/dev/null 2>&1; then
    version+="+git$commit"
fi
echo "$version"
