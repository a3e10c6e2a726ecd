#!/usr/bin/env bash
# Installs the packages into a fresh Debian without Swift, starts that under systemd, and tries there what trial.sh does, and in
# other copies of it what upgrade.sh, fleet.sh and cluster.sh do; arguments select some of these. Makes the machines in a temporary folder, with networks
# of their own, and removes them. `make test-package` builds first.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

fail() { echo "test-package: $1" >&2; exit 1; }

programs="$(swift build --configuration release --show-bin-path)"
[[ $EUID -eq 0 ]] || fail "only root can start a machine"
for program in debootstrap systemd-nspawn; do
    command -v "$program" >/dev/null || fail "$program is missing: apt-get install debootstrap systemd-container debhelper"
done

trials=("$@")
((${#trials[@]})) || trials=(trial upgrade fleet cluster)
folder="$(mktemp --directory)"
trap 'rm -rf --one-file-system "$folder"' EXIT
machine="$folder/machine"
deploy/package.sh "$folder" >/dev/null
mkdir "$folder/single"
[[ " ${trials[*]} " != *" upgrade "* ]] || Tests/Package/single.sh "$folder/single" >/dev/null

echo "making a machine"
debootstrap --variant=minbase --include=systemd-sysv,dbus,openssl,iproute2 "$(. /etc/os-release; echo "$VERSION_CODENAME")" \
    "$machine" >"$folder/log" 2>&1 || { tail "$folder/log" >&2; fail "debootstrap could not make a machine"; }
printf '127.0.0.1 localhost\n' >"$machine/etc/hosts"
mkdir -p "$machine/srv/trial/new"
cp "$folder"/*.deb "$machine/srv/trial/new"
cp -r "$folder/single" "$programs/postrider-example-app" Tests/Package/{common,trial,upgrade,fleet,cluster}.sh "$machine/srv/trial"
chroot "$machine" sh -c 'apt-get -qq install --yes --no-install-recommends /srv/trial/new/*.deb' >"$folder/log" 2>&1 \
    || { cat "$folder/log" >&2; fail "the packages cannot be installed"; }

scope=()
[[ -d /run/systemd/system ]] || scope=(--keep-unit)
for trial in "${trials[@]}"; do
    copy="$folder/$trial"
    cp --archive "$machine" "$copy"
    # Its scripts want more of a machine than a change of the root has.
    [[ $trial != cluster ]] || systemd-nspawn --quiet --directory "$copy" --register=no "${scope[@]}" --console=pipe \
        --setenv=DEBIAN_FRONTEND=noninteractive apt-get -qq install --yes --no-install-recommends postgresql \
        >"$folder/log" 2>&1 || { cat "$folder/log" >&2; fail "PostgreSQL cannot be installed"; }
    cat >"$copy/etc/systemd/system/trial.service" <<TEXT
[Unit]
After=multi-user.target
SuccessAction=poweroff-force
FailureAction=poweroff-force

[Service]
Type=oneshot
Environment=SEED=${SEED:-$RANDOM}
ExecStart=/srv/trial/$trial.sh
StandardOutput=file:/srv/trial/output
StandardError=inherit
TimeoutStartSec=900

[Install]
WantedBy=default.target
TEXT
    chroot "$copy" systemctl --quiet enable trial.service
    echo "starting a machine for $trial.sh"
    timeout 1000 systemd-nspawn --quiet --directory "$copy" --boot --private-network --register=no "${scope[@]}" \
        --console=pipe >"$folder/log" 2>&1 || { cat "$folder/log" >&2; fail "the machine did not end by itself"; }
    cat "$copy/srv/trial/output"
    tail -n 1 "$copy/srv/trial/output" | grep -q '^all of it$' || fail "$trial.sh: the last line is not true"
    rm -rf --one-file-system "$copy"
done

# Devices have little room, so the agent, stripped, is held to 20 MB; the relay, which also has the console, the load harness and
# all commands, is held to a little more. This comes last, so that a program that is too large is tried all the same.
declare -A most=([postrider-agent]=20000000 [postrider]=22500000)
for program in "${!most[@]}"; do
    size="$(stat --format=%s "$machine/usr/bin/$program")"
    ((size <= most[$program])) || fail "the installed program $program has $size bytes, more than ${most[$program]}"
    echo "the installed program $program has $size bytes"
done
