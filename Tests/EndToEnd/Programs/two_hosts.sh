#!/usr/bin/env bash
# Runs the commands of docs/operate/two-hosts.md with two folders in place of two machines.
#
# usage: two_hosts.sh FOLDER PROGRAM PAGE PORT
#
# What only root of a whole machine can do is replaced: apt, systemctl, owners, and the paths of the package. The rest is run as it
# stands on the page. The last line of the output is "all of it".
set -euo pipefail
folder=$1 program=$2 page=$3 port=$4
root=$PWD
mkdir -p "$folder"/{relay,device}/apps.d "$folder"/bin
ln -s "$program" "$folder/bin/postrider"
ln -s "$program-agent" "$folder/bin/postrider-agent"
PATH="$folder/bin:$PATH"
running=()
trap 'kill "${running[@]}" 2>/dev/null || true; wait' EXIT

# The commands of the page for one host, in their order.
commands() { awk -v fence="\`\`\`sh $1" '$0 == fence { on = 1; next } /^```/ { on = 0 } on' "$page"; }

apt() { :; }
chown() { :; }
install() {
    local words=()
    while (($#)); do case $1 in -o | -g) shift 2 ;; *) words+=("$1"); shift ;; esac; done
    command install "${words[@]}"
}
systemctl() {
    case ${*: -1} in
        postrider) postrider serve --config "$folder/relay/postrider.yaml" & until_true postrider status ;;
        postrider-agent)
            postrider-agent --config "$folder/device/agent.yaml" --socket "$folder/agent.sock" --state "$folder/state" &
            until_true registered ;;
    esac
    running+=($!)
}
until_true() { for _ in $(seq 600); do if "$@" >/dev/null 2>&1; then return; fi; sleep 0.1; done; "$@"; }
registered() { POSTRIDER_CONFIG="$folder/relay/postrider.yaml" postrider devices list | grep -q com.example.wake; }

# Runs the commands for a host, whose files are in a folder of that name.
on() {
    local name=$1 text
    text=$(commands "$2" | sed "s,/etc/postrider,$folder/$name,g; s,relay\.example\.com,localhost,; s/:5223/:$port/")
    [[ -n $text ]] || { echo "the page has no commands for $2"; exit 1; }
    eval "$text"
}

sed "s,/etc/postrider,$folder/relay,; s,/var/lib/postrider,$folder/data,; s,/run/postrider,$folder,
     s,^provider-address:.*,provider-address: 127.0.0.1:0,; s,^device-address:.*,device-address: 127.0.0.1:$port,
     \$a metrics-address: off" "$root/deploy/postrider.yaml" >"$folder/relay/postrider.yaml"
sed "s,/etc/postrider,$folder/device,; s,/var/lib/postrider-agent,$folder/state," "$root/deploy/agent.yaml" >"$folder/device/agent.yaml"
export POSTRIDER_CONFIG="$folder/relay/postrider.yaml" DBUS_SYSTEM_BUS_ADDRESS=unix:path=/nowhere

on relay relay
cp "$folder/relay/authority.pem" "$folder/relay/lobby.key" "$folder"
cd "$folder"
on device device
sent=$(on relay wake)
echo "$sent"
ID=$(grep -o '[0-9A-F-]\{36\} done:' <<<"$sent" | cut -d ' ' -f 1)
on relay prove
echo "all of it"
