#!/usr/bin/env bash
# Installs the package into a fresh Debian without Swift, starts that under systemd, and tries there what trial.sh does.
# Makes the machine in a temporary folder, with a network of its own, and removes it. `make test-package` builds first.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

fail() { echo "test-package: $1" >&2; exit 1; }

programs="$(swift build --configuration release --show-bin-path)"
[[ $EUID -eq 0 ]] || fail "only root can start a machine"
for program in debootstrap systemd-nspawn; do
    command -v "$program" >/dev/null || fail "$program is missing: apt-get install debootstrap systemd-container debhelper"
done

folder="$(mktemp --directory)"
trap 'rm -rf --one-file-system "$folder"' EXIT
machine="$folder/machine"
package="$(deploy/package.sh "$folder")"

echo "making a machine"
debootstrap --variant=minbase --include=systemd-sysv,dbus,openssl "$(. /etc/os-release; echo "$VERSION_CODENAME")" \
    "$machine" >"$folder/log" 2>&1 || { tail "$folder/log" >&2; fail "debootstrap could not make a machine"; }
printf '127.0.0.1 localhost\n' >"$machine/etc/hosts"
mkdir "$machine/srv/trial"
cp "$package" "$programs/postrider-example-app" Tests/Package/trial.sh "$machine/srv/trial"
cat >"$machine/etc/systemd/system/trial.service" <<'TEXT'
[Unit]
After=multi-user.target
SuccessAction=poweroff-force
FailureAction=poweroff-force

[Service]
Type=oneshot
ExecStart=/srv/trial/trial.sh
StandardOutput=file:/srv/trial/output
StandardError=inherit
TimeoutStartSec=300

[Install]
WantedBy=default.target
TEXT
chroot "$machine" systemctl --quiet enable trial.service
chroot "$machine" apt-get -qq install --yes --no-install-recommends "/srv/trial/${package##*/}" >"$folder/log" 2>&1 \
    || { cat "$folder/log" >&2; fail "the package cannot be installed"; }

# Devices have little room: the program of agent and relay, stripped, is held to 20 MB.
size="$(stat --format=%s "$machine/usr/bin/postrider")"
((size <= 20000000)) || fail "the installed program has $size bytes, more than 20000000"
echo "the installed program has $size bytes"

echo "starting it"
scope=()
[[ -d /run/systemd/system ]] || scope=(--keep-unit)
timeout 400 systemd-nspawn --quiet --directory "$machine" --boot --private-network --register=no "${scope[@]}" \
    --console=pipe >"$folder/log" 2>&1 || { cat "$folder/log" >&2; fail "the machine did not end by itself"; }
cat "$machine/srv/trial/output"
tail -n 1 "$machine/srv/trial/output" | grep -q '^all of it$' || fail "the last line is not true"
