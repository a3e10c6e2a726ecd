#!/usr/bin/env bash
# Shows the events for which an app is started: a local notification, the user's response, pushes from curl and from a stock
# Python library, and changes of the device.
# Everything runs on this machine, in a temporary folder that is removed at the end. `make demo` builds first.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

products="${PRODUCTS:-$PWD/.build/${CONFIGURATION:-debug}}" # where the programs were built
python="$PWD/.build/venv/bin/python"
topic=com.example.app
patience=30 # seconds that any step may take

bold='' plain=''
if [[ -t 1 ]]; then bold=$'\e[1m' plain=$'\e[0m'; fi

tell() { printf '\n%s%s%s\n' "$bold" "$1" "$plain"; }
show() {
    printf '   $ %s\n' "$1"
    if (($# > 1)); then printf '       %s\n' "${@:2}"; fi
}
quote() { sed 's/^/   | /'; }
fail() {
    printf '\nThe demo failed: %s\n' "$1" >&2
    for log in "$folder"/*.log; do
        if [[ -s "$log" ]]; then printf -- '--- %s\n' "${log##*/}"; tail -n 20 "$log"; fi
    done >&2
    exit 1
}

processes=()
# Starts a program in the background: its output goes to NAME.out, its log to NAME.log.
start() {
    local name="$1"
    shift
    : >"$folder/$name.out"
    "$@" >"$folder/$name.out" 2>"$folder/$name.log" </dev/null &
    processes+=("$!")
}

# Waits for a line of a program's output that begins with these words, after the line of this number. Sets `found` to the
# rest of the line and `at` to its number.
await() {
    local file="$folder/$1.out" words="$2" past="${3:-0}" line end=$((SECONDS + patience)) number
    while ((SECONDS <= end)); do
        number=0
        while IFS= read -r line; do
            number=$((number + 1))
            if ((number <= past)); then continue; fi
            if [[ "$line" == "$words"* ]]; then found="${line#"$words"}" at=$number; return 0; fi
        done <"$file"
        for process in "${processes[@]}"; do
            kill -0 "$process" 2>/dev/null || return 1
        done
        sleep 0.05
    done
    return 1
}

# Sets a variable to a value of the relay's description.
learn() {
    [[ "$description" =~ \"$2\":\"?([^\",}]+) ]] || fail "the relay did not tell its $2."
    printf -v "$1" '%s' "${BASH_REMATCH[1]}"
}

# Waits until the app has printed these lines since the last call, and shows its output up to them. The app's output is in the
# file of the agent that starts it.
shown=0
expect() {
    local line last=0
    for line in "$@"; do
        await agent "$line" "$shown" || fail "the app's observer was not given '${line#  }'."
        if ((at > last)); then last=$at; fi
    done
    mapfile -t lines <"$folder/agent.out"
    printf '%s\n' "${lines[@]:shown:last-shown}" | quote
    shown=$last
}

# Runs a command of the agent, as the owner of the device.
order() {
    local end=$((SECONDS + patience))
    until postrider-agent "$@" --socket "$folder/agent.sock" >"$folder/order.out" 2>"$folder/order.log"; do
        ((SECONDS <= end)) || fail "the agent did not obey '$1'."
        sleep 0.05
    done
    quote <"$folder/order.out"
}

clean_up() {
    local code=$? index
    trap '' INT TERM
    for ((index = ${#processes[@]} - 1; index >= 0; index--)); do
        kill -TERM "${processes[index]}" 2>/dev/null || true
        wait "${processes[index]}" 2>/dev/null || true
    done
    rm -rf "$folder"
    exit "$code"
}

for needed in "$products/postrider" "$products/postrider-example-app" "$python"; do
    [[ -x "$needed" ]] || { echo "The demo needs $needed: run make demo, which makes it." >&2; exit 1; }
done
folder="$(mktemp -d)"
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
PATH="$products:$PATH"

tell "1. A relay, with nothing to configure. It makes its certificate, a provider's key and an enrolment key."
show "postrider dev"
start relay postrider dev --json --directory "$folder/dev" --topic "$topic" --topic "$topic.wake" --provider-port 0 --device-port 0
await relay '{' || fail "the relay did not start."
description="$found"
learn host host
learn provider_port providerPort
learn device_port devicePort
learn authority authorityFile
learn enrolment_key_file enrolmentKeyFile
learn control controlAddress
echo "providers connect to $host:$provider_port, devices to $host:$device_port" | quote

tell "2. A device: its agent enrols with the key and keeps one connection to the relay."
show "postrider-agent --relay $host:$device_port … --apps-directory apps --notifications allow"
mkdir "$folder/apps"
cat >"$folder/apps/app.yaml" <<MANIFEST
topic: $topic
program: $products/postrider-example-app
arguments: [--topic, $topic, --remind, "1", --system]
background: true
exits-on-suspend: true
MANIFEST
cat >"$folder/apps/wake.yaml" <<MANIFEST
topic: $topic.wake
run: [$folder/wake.sh]
MANIFEST
cat >"$folder/wake.sh" <<'HANDLER'
#!/bin/sh
echo "$POSTRIDER_TITLE" >>"${0%.sh}.done"
echo "awake for: $POSTRIDER_TITLE"
HANDLER
chmod 700 "$folder/wake.sh"
start agent postrider-agent --relay "$host:$device_port" --ca "$authority" --device-name "demo device" \
    --enrolment-key-file "$enrolment_key_file" --state "$folder/agent" --socket "$folder/agent.sock" \
    --apps-directory "$folder/apps" --notifications allow --session-bus off
sed 's/^/manifest: /' "$folder/apps/app.yaml" | quote

tell "3. Somebody uses the app: the agent starts it. It registers, is given its device token, and asks to be reminded of tea."
show "postrider-agent activate $topic"
order activate "$topic"
await agent 'device token: ' || fail "the app got no device token."
token="$found"
expect 'device token: ' 'a reminder is set'

tell "4. A local notification: the reminder's moment comes."
expect 'reminder' '  title: Tea'

tell "5. The user responds to it. (A desktop shows it; here is none, so the owner of the device responds.)"
show "postrider-agent respond $topic tea stop"
order respond "$topic" tea stop
expect 'response' '  action: stop'

tell "6. The app is left: it ends, as its manifest says."
show "postrider-agent suspend $topic"
order suspend "$topic"
expect 'will terminate'
until postrider-agent apps --socket "$folder/agent.sock" 2>/dev/null | grep -q 'not running'; do sleep 0.05; done

tell "7. A push by curl: one POST over HTTP/2, as to Apple."
payload='{"aps": {"alert": {"title": "Hello", "body": "from curl"}}, "shelf": ["bread", "milk"], "aisle": 7}'
url="https://$host:$provider_port/3/device/$token"
show "curl --http2 -H 'authorization: bearer …' -H 'apns-topic: $topic' \\" "-d '$payload' \\" "${url:0:56}…"
postrider token --directory "$folder/dev" >"$folder/token.out" 2>"$folder/token.log" || fail "no provider token was made."
IFS= read -r bearer <"$folder/token.out"
printf 'header = "authorization: bearer %s"\n' "$bearer" >"$folder/curl.conf"
curl --http2 --silent --show-error --include --config "$folder/curl.conf" --cacert "$authority" \
    --header "apns-topic: $topic" --header 'apns-push-type: alert' --data "$payload" "$url" \
    >"$folder/curl.out" 2>"$folder/curl.log" || fail "curl could not push."
tr -d '\r' <"$folder/curl.out" | sed '/^$/d' | quote
grep -q '^HTTP/2 200' "$folder/curl.out" || fail "the relay refused the push."

tell "8. The app did not run: it is started for the push, and its observer is called with it."
expect 'did finish launching: remote-notification' '  title: Hello' '  body: from curl' '  aisle: 7' '  shelf: ["bread","milk"]'

tell "9. The same from a stock APNs library: aioapns 4.0, told another host, port and authority."
show "python Tests/EndToEnd/Programs/push.py … --title Grüße --body 'from aioapns'"
"$python" Tests/EndToEnd/Programs/push.py "$folder/relay.out" "$token" --title Grüße --body 'from aioapns' \
    >"$folder/push.out" 2>"$folder/push.log" || fail "aioapns could not push."
cut -d ' ' -f 1 "$folder/push.out" | quote

tell "10. And the app's observer is called again."
expect '  title: Grüße' '  body: from aioapns' '  number: 1'

tell "11. No program that attaches, but a handler: the agent starts it for each push. Its exit code 0 is 'done', and waited for."
sed 's/^/manifest: /' "$folder/apps/wake.yaml" | quote
show "postrider send --topic $topic.wake --wait done --title 'Good morning' …"
end=$((SECONDS + patience))
until postrider devices list --json --control "$control" >"$folder/devices.out" 2>"$folder/devices.log" &&
    [[ "$(<"$folder/devices.out")" =~ \"token\":\"([0-9a-f]+)\",\"topic\":\"$topic.wake\" ]]; do
    ((SECONDS <= end)) || fail "the handler's topic was not registered."
    sleep 0.05
done
token="${BASH_REMATCH[1]}"
postrider send --directory "$folder/dev" --topic "$topic.wake" --wait done --timeout "$patience" --title 'Good morning' \
    "$token" >"$folder/send.out" 2>"$folder/send.log" || fail "the handler's end was not told."
quote <"$folder/send.out"
show "postrider trace …"
postrider trace --control "$control" "$(cut -d ' ' -f 1 "$folder/send.out")" >"$folder/trace.out" 2>"$folder/trace.log" ||
    fail "the trace does not know the push."
sed -n '/^MOMENT/,$p' "$folder/trace.out" | quote
[[ "$(<"$folder/wake.done")" == 'Good morning' ]] || fail "the handler has not run."

tell "12. A system notification: the relay ends, and every app of the device hears of it."
show "kill -TERM (the relay)"
kill -TERM "${processes[0]}"
wait "${processes[0]}" || true
processes=("${processes[@]:1}")
expect 'relayLinkWillDisconnect, '

tell "Everything arrived. Everything ends now and leaves nothing behind."
