#!/usr/bin/env bash
# Makes a container image of the release build: from an empty one, with the program of the package and the libraries that it
# needs, which are those of this Debian. Its name is the first argument, or else localhost/postrider; its tags are the version
# and latest. `make container` builds the program first.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

fail() { echo "container: $1" >&2; exit 1; }

command -v buildah >/dev/null || fail "buildah is missing: install it as root: apt-get install buildah"
image="${1:-localhost/postrider}"
folder="$(mktemp --directory)"
trap 'rm -rf "$folder"' EXIT

# The packages may have been made already, in the folder of the second argument.
packages="${2:-$folder}"
[[ -n ${2:-} ]] || deploy/package.sh "$folder" >/dev/null
package="$(ls "$packages"/postrider_*.deb)"
dpkg-deb --extract "$package" "$folder/package"
version="$(dpkg-deb --field "$package" Version)"
# A tag has no plus sign.
version="${version//+/-}"

root="$folder/root"
mkdir -p "$root"/{usr/bin,usr/lib,usr/lib64,usr/lib/ssl,etc/ssl/certs,etc/postrider,tmp,run,var/lib/dpkg/status.d,var/lib/postrider}
ln -s usr/lib "$root/lib"
ln -s usr/lib64 "$root/lib64"
cp "$folder/package/usr/bin/postrider" "$root/usr/bin"
cp deploy/container/postrider.yaml "$root/etc/postrider"

# Licences, and the packages' versions where scanners of images look for them.
describe() {
    mkdir -p "$root/usr/share/doc/$1"
    cp "$2/usr/share/doc/$1/copyright" "$root/usr/share/doc/$1"
}
describe postrider "$folder/package"
dpkg-deb --field "$package" >"$root/var/lib/dpkg/status.d/postrider"
take_package() {
    [[ ! -e $root/var/lib/dpkg/status.d/$1 ]] || return 0
    dpkg-query --status "$1" >"$root/var/lib/dpkg/status.d/$1"
    describe "$1" ""
}

libraries="$(ldd "$root/usr/bin/postrider" | sed -nE 's/^\s*(.* => )?(\/[^ ]+) .*/\2/p')"
while read -r library; do
    mkdir -p "$root$(dirname "$library")"
    cp --dereference "$library" "$root$library"
    # dpkg knows a library by the path that its package names, with or without /usr.
    real="$(realpath "$library")"
    owner="$(dpkg-query --search "$real" 2>/dev/null || dpkg-query --search "${real#/usr}" 2>/dev/null)" \
        || fail "no package of this machine has $library"
    owner="${owner%%:*}"
    take_package "$owner"
done <<<"$libraries"

# The authorities to trust where no other is named, at the places where OpenSSL and libcurl look.
cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs"
cp /etc/ssl/openssl.cnf "$root/etc/ssl"
ln -s ../../../etc/ssl/certs/ca-certificates.crt "$root/usr/lib/ssl/cert.pem"
ln -s ../../../etc/ssl/openssl.cnf "$root/usr/lib/ssl/openssl.cnf"
take_package ca-certificates
printf 'root:x:0:0::/:/nonexistent\npostrider:x:10001:10001::/var/lib/postrider:/nonexistent\n' >"$root/etc/passwd"
printf 'root:x:0:\npostrider:x:10001:\n' >"$root/etc/group"
printf 'passwd: files\ngroup: files\nhosts: files dns\n' >"$root/etc/nsswitch.conf"

# The same program and packages make the same bytes.
seconds="$(deploy/version.sh time)"
chmod -R u=rwX,go=rX "$root"
chmod 1777 "$root/tmp"
chmod 700 "$root/var/lib/postrider"
pack() { tar --directory "$root" --sort=name --mtime="@$seconds" --numeric-owner --format=gnu --no-recursion "$@"; }
(cd "$root" && find . -mindepth 1 ! -path ./var/lib/postrider | sort) >"$folder/list"
pack --owner=0 --group=0 --create --file "$folder/root.tar" --files-from "$folder/list"
pack --owner=10001 --group=10001 --append --file "$folder/root.tar" ./var/lib/postrider

# A health check is of Docker's format; OCI's has none.
buildah bud --quiet --format docker --timestamp "$seconds" --file deploy/container/Containerfile --tag "$image:$version" \
    --label org.opencontainers.image.title=postrider --label "org.opencontainers.image.version=$version" \
    --label org.opencontainers.image.licenses=Apache-2.0 "$folder" >/dev/null
buildah tag "$image:$version" "$image:latest"
echo "$image:$version"
