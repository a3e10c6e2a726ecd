#!/usr/bin/env bash
# Makes all files of a release from the release build, in the folder of the first argument or else in .build/dist: the Debian
# packages, a tarball, the container image (where buildah is installed), the list of what is in them (SPDX 2.3) and the checksums.
# The same commit makes the same bytes on the same Debian with the same Swift; `make release-check` shows it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

version="$(deploy/version.sh)"
seconds="$(deploy/version.sh time)"
output="${1:-.build/dist}"
rm -rf "$output"
mkdir -p "$output"
output="$(realpath "$output")"
folder="$(mktemp --directory)"
trap 'rm -rf "$folder"' EXIT
umask 022
deploy/package.sh "$output" >/dev/null

# The tarball has what docs/operate/install.md installs without the packages, and what the packages have besides.
name="postrider-$version-linux-$(uname -m)"
root="$folder/$name"
mkdir -p "$root"/{bin,docs/reference,share}
cp --recursive LICENSE CHANGELOG.md README.md deploy "$root"
rm -rf "$root"/deploy/{container,debian,release,python} "$root"/deploy/*.sh
cp docs/reference/{courier,agent}.proto "$root/docs/reference"
for package in "$output"/*.deb; do
    dpkg-deb --extract "$package" "$folder/packed"
done
cp "$folder"/packed/usr/bin/* "$root/bin"
cp --recursive "$folder"/packed/usr/share/{man,bash-completion,zsh,fish} "$root/share"
chmod -R u=rwX,go=rX "$root"
tar --directory "$folder" --sort=name --mtime="@$seconds" --owner=0 --group=0 --numeric-owner --format=gnu --create "$name" \
    | gzip --no-name --best >"$output/$name.tar.gz"

if command -v buildah >/dev/null; then
    image="$(deploy/container/build.sh localhost/postrider "$output")"
    buildah push --quiet "$image" "docker-archive:$folder/image.tar"
    python3 deploy/release/archive.py "$folder/image.tar" "$image" "$output/postrider-$version-image.tar"
    gzip --no-name --best "$output/postrider-$version-image.tar"
else
    echo "release: no image is made, because buildah is missing ('.ci/dependencies container' installs it)" >&2
fi

python3 deploy/release/sbom.py "$version" "$seconds" "$output"/*.deb >"$output/postrider-$version.spdx.json"
(cd "$output" && LC_ALL=C sha256sum -- * >"$folder/SHA256SUMS" && mv "$folder/SHA256SUMS" .)
cat "$output/SHA256SUMS"
