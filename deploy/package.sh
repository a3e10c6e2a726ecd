#!/usr/bin/env bash
# Makes a Debian package of the release build, for machines without Swift: postrider_VERSION_ARCHITECTURE.deb, in the folder
# of the first argument or else in .build/package.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

fail() { echo "package.sh: $1" >&2; exit 1; }

program="$(swift build --configuration release --show-bin-path)/postrider"
[[ -x $program ]] || fail "$program is missing: build it with 'make build CONFIGURATION=release'"
[[ -d /usr/share/debhelper ]] || fail "debhelper is missing: install it as root: apt-get install debhelper"

mkdir -p "${1:-.build/package}"
output="$(realpath "${1:-.build/package}")"
folder="$(mktemp --directory)"
trap 'rm -rf "$folder"' EXIT
tree="$folder/postrider"
mkdir "$tree"
cp --recursive deploy/debian "$tree/debian"
cp LICENSE "$tree/debian/copyright"
cp deploy/postrider.sysusers "$tree/debian"
cp "$program" deploy/postrider.yaml deploy/agent.yaml deploy/agent-users.conf "$tree"
cp --recursive deploy/examples/handlers "$tree"
cp --recursive deploy/monitoring "$tree"
cp docs/reference/courier.proto docs/reference/agent.proto "$tree"
"$program" manual "$tree/manual" >/dev/null
# A completion has the name that its shell looks for.
mkdir "$tree/completion"
"$program" completion bash >"$tree/completion/postrider"
"$program" completion zsh >"$tree/completion/_postrider"
"$program" completion fish >"$tree/completion/postrider.fish"
# A package installs the program in another folder than an administrator does.
in_package() { sed 's,/usr/local/bin/,/usr/bin/,' "deploy/$1" >"$tree/debian/$2"; }
in_package postrider.service postrider.service
in_package postrider-agent.service postrider.postrider-agent.service
in_package postrider-agent-user.service postrider.postrider-agent.user.service
cp deploy/org.unifiedpush.Distributor.Postrider.service "$tree"
for unit in deploy/sockets/*.socket; do cp "$unit" "$tree/debian/postrider.$(basename "$unit")"; done
version="$("$program" --version | cut -d ' ' -f 2)"
cat >"$tree/debian/changelog" <<TEXT
postrider ($version) unstable; urgency=medium

  * A build of this repository.

 -- $(sed -n 's/^Maintainer: //p' deploy/debian/control)  $(git log -1 --format=%cD 2>/dev/null || date --rfc-email)
TEXT
(cd "$tree" && dpkg-buildpackage --build=binary --no-sign >"$folder/log" 2>&1) || { cat "$folder/log" >&2; fail "the package could not be made"; }
mv "$folder"/*.deb "$output"
ls "$output"/postrider_"$version"_*.deb
