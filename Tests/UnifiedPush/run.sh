#!/usr/bin/env bash
# Tries UnifiedPush with KDE's stock connector library and distributor, which are in Debian's next release (forky): makes a Debian of
# that in a temporary folder, and removes it. The relay and the agent of this tree run beside it. `make test-unifiedpush` builds first.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

fail() { echo "test-unifiedpush: $1" >&2; exit 1; }

programs="$(swift build --show-bin-path)"
[[ $EUID -eq 0 ]] || fail "only root can make a Debian"
command -v debootstrap >/dev/null || fail "debootstrap is missing: apt-get install debootstrap"

folder="$(mktemp --directory)"
trap 'rm -rf --one-file-system "$folder"' EXIT
machine="$folder/machine"
# The mirror of this machine's own Debian has all releases. Older versions of debootstrap do not know the name of the next one.
mirror="$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' "Codename: $(. /etc/os-release; echo "$VERSION_CODENAME")" | head -n 1)"
[[ -n $mirror ]] || fail "apt knows no mirror of this machine's Debian"

echo "making a Debian"
debootstrap --variant=minbase --include=dbus,kunifiedpush,libkunifiedpush-dev,qt6-base-dev,g++ forky "$machine" "$mirror" \
    /usr/share/debootstrap/scripts/sid >"$folder/log" 2>&1 || { tail "$folder/log" >&2; fail "debootstrap has failed"; }
mkdir "$machine/srv/trial"
cp Tests/UnifiedPush/app.cpp "$machine/srv/trial"
echo "building the app"
chroot "$machine" sh -c 'cd /srv/trial && qt=$(qmake6 -query QT_INSTALL_HEADERS) && g++ -std=c++20 -fPIC app.cpp -o app \
    -I"$qt" -I"$qt/QtCore" -I"$qt/QtDBus" -I/usr/include/KUnifiedPush -lKUnifiedPush -lQt6Core -lQt6DBus' >"$folder/log" 2>&1 \
    || { cat "$folder/log" >&2; fail "the app cannot be built"; }
.build/venv/bin/python Tests/UnifiedPush/trial.py "$programs/postrider" "$folder"
