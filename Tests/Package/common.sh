# What the trials in this folder share. They run as root in the machine that run.sh has made. Each line of their output is a
# sentence that was found true, but for a last one that begins with "No".

set -Eeuo pipefail
cd /srv/trial
trap 'echo "No: line $LINENO failed"; journalctl --no-pager --lines 40' ERR

# Waits until a command succeeds, a minute at most: systemd and the log are asked again, for neither tells.
until_true() {
    for _ in $(seq 300); do
        if "$@" >/dev/null 2>&1; then return; fi
        sleep 0.2
    done
    return 1
}

# Says a sentence, and whether the command after it finds it true within a minute.
finds() {
    echo "$1"
    until_true "${@:2}" && return
    echo "No: '${*:2}'"
    false
}

# Whether a package has brought a file, and the file is there.
owns() { test -s "$2" && dpkg-query --search "$2" | grep -q "^$1: "; }
main_pid() { systemctl show --property MainPID --value "$1"; }
is_now() { [[ $(systemctl is-active "$1") == "$2" ]]; }
logged() { journalctl --no-pager --unit "$1" | grep -q -- "$2"; }

# Makes the certificates of a relay with these names, and starts it.
start_relay() {
    local names=()
    for name; do names+=(--name "$name"); done
    postrider certificates make issued "${names[@]}" >/dev/null
    install -m 644 issued/authority.pem /etc/postrider/ca.pem
    install -o postrider -g postrider -m 644 issued/relay.pem /etc/postrider/relay.pem
    install -o postrider -g postrider -m 600 issued/relay.key /etc/postrider/relay.key
    systemctl --quiet enable --now postrider
}

# Whether the log of units that had nothing but good starts has a line that reads like a failure.
complains() {
    local units=()
    for unit; do units+=(--unit "$unit"); done
    journalctl --no-pager --output cat "${units[@]}" >log
    journalctl --no-pager --output cat "${units[@]}" --priority warning >>log
    grep -iE "error|fail|fault|warn|cannot|can't|could not|unable|refused|denied|reject|lost|missing|invalid|wrong|broken|not (found|there)|No such" \
        log
}
silent() { ! complains "$@"; }
