#!/usr/bin/env bash
# Makes the release twice, from two clones of this commit in folders of different names and with different time zones, users' masks and
# locales, and compares the bytes. What is not committed does not count. It takes half an hour; the folders are removed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

folder="$(mktemp --directory)"
trap 'rm -rf "$folder"' EXIT
make_one() { # NAME
    git clone --quiet . "$folder/$1"
    (cd "$folder/$1" && make release) >"$folder/log" 2>&1 || { tail -n 40 "$folder/log" >&2; exit 1; }
    mkdir -p "$folder/$1.dist"
    mv "$folder/$1/.build/dist"/* "$folder/$1.dist"
    rm -rf "${folder:?}/$1"
}
make_one one
(umask 027 && TZ=Asia/Tokyo LC_ALL=C.UTF-8 make_one another/and-deeper)
if ! diff "$folder/one.dist/SHA256SUMS" "$folder/another/and-deeper.dist/SHA256SUMS"; then
    echo "release-check: these files differ" >&2
    exit 1
fi
cat "$folder/one.dist/SHA256SUMS"
echo "Both times the same bytes were made."
