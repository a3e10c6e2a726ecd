#!/usr/bin/env bash
# Makes the Debian packages of the release build, for machines without Swift: postrider_VERSION_ARCHITECTURE.deb and
# postrider-agent_VERSION_ARCHITECTURE.deb, in the folder of the first argument or else in .build/package. The same programs and
# files make the same bytes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

fail() { echo "package.sh: $1" >&2; exit 1; }

programs="$(swift build --configuration release --show-bin-path)"
for program in postrider postrider-agent; do
    [[ -x $programs/$program ]] || fail "$programs/$program is missing: build it with 'make build-release'"
done
[[ -d /usr/share/debhelper ]] || fail "debhelper is missing: install it as root: apt-get install debhelper"

mkdir -p "${1:-.build/package}"
output="$(realpath "${1:-.build/package}")"
folder="$(mktemp --directory)"
trap 'rm -rf "$folder"' EXIT
tree="$folder/postrider"
mkdir "$tree"
umask 022
cp --recursive deploy/debian "$tree/debian"
cp LICENSE "$tree/debian/copyright"
# Both packages need the user, and each brings it.
cp deploy/postrider.sysusers "$tree/debian"
cp deploy/postrider.sysusers "$tree/debian/postrider-agent.sysusers"
cp deploy/postrider.yaml deploy/agent.yaml deploy/agent-users.conf deploy/org.unifiedpush.Distributor.Postrider.service "$tree"
cp --recursive deploy/examples/handlers deploy/monitoring "$tree"
cp docs/reference/courier.proto docs/reference/agent.proto "$tree"
# A completion has the name that its shell looks for.
mkdir "$tree/completion"
for program in postrider postrider-agent; do
    cp "$programs/$program" "$tree"
    "$programs/$program" manual "$tree/manual/$program" >/dev/null
    "$programs/$program" completion bash >"$tree/completion/$program"
    "$programs/$program" completion zsh >"$tree/completion/_$program"
    "$programs/$program" completion fish >"$tree/completion/$program.fish"
done
# A package installs the programs in another folder than an administrator does.
in_package() { sed 's,/usr/local/bin/,/usr/bin/,' "deploy/$1" >"$tree/debian/$2"; }
in_package postrider.service postrider.service
in_package postrider-agent.service postrider-agent.service
in_package postrider-agent-user.service postrider-agent.user.service
for unit in deploy/sockets/*.socket; do cp "$unit" "$tree/debian/postrider.$(basename "$unit")"; done
version="$(deploy/version.sh)"
cat >"$tree/debian/changelog" <<TEXT
postrider ($version) unstable; urgency=medium

  * A build of this repository.

 -- $(sed -n 's/^Maintainer: //p' deploy/debian/control)  $(LC_ALL=C date --utc --rfc-email --date "@$(deploy/version.sh time)")
TEXT
(cd "$tree" && dpkg-buildpackage --build=binary --no-sign >"$folder/log" 2>&1) || { cat "$folder/log" >&2; fail "the packages could not be made"; }
mv "$folder"/*.deb "$output"
ls "$output"/{postrider,postrider-agent}_"$version"_*.deb
