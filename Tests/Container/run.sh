#!/usr/bin/env bash
# Tries the image of deploy/container as docs/operate/container.md describes it: `dev` and `serve`, each without root, with a
# file system that is only read and without capabilities; health, pushes from outside, a drain on SIGTERM, a restart; and the
# compose file. `make test-container` makes the image first. Containers, volumes and images of the trial are removed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

image="${1:-localhost/postrider}"
# A container gets no more of the machine than that, and runc is a runtime that needs no systemd.
limits=(--ulimit nofile=1024:1024 --ulimit nproc=1000:1000)
confined=(--read-only --read-only-tmpfs=false --cap-drop all --security-opt no-new-privileges)
token=00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0
alert='{"aps":{"alert":"Tea"}}'
mark="postrider-trial-$$"
folder="$(mktemp --directory)"
containers=()

fail() { echo "test-container: $1" >&2; exit 1; }
tell() { echo "$1"; }
# Without systemd, podman says with each start that it does not repeat health checks by itself.
podman() { command podman --log-level=panic --runtime runc "$@"; }
compose() {
    POSTRIDER_IMAGE="$image" TESTED_IMAGE="$mark-tested" podman-compose --project-name "$mark" \
        --podman-args "--runtime runc" --podman-run-args "${limits[*]}" --file deploy/container/compose.yaml "$@"
}
clean() {
    [[ ! -e $folder/composed ]] || compose down --volumes >/dev/null 2>&1 || true
    for container in "${containers[@]}"; do podman rm --force --volumes "$container" >/dev/null 2>&1 || true; done
    podman rmi "$mark-tested" >/dev/null 2>&1 || true
    rm -rf "$folder"
}
trap clean EXIT

for program in podman runc podman-compose busybox curl; do
    command -v "$program" >/dev/null || fail "$program is missing: apt-get install podman runc podman-compose busybox-static curl"
done
podman image exists "$image" || fail "there is no image $image: make it with 'make container'"

start() { # NAME OPTIONS... -- ARGUMENTS...
    local name="$mark-$1" options=()
    shift
    while [[ $1 != -- ]]; do options+=("$1"); shift; done
    shift
    containers+=("$name")
    podman run --detach --name "$name" "${limits[@]}" "${confined[@]}" "${options[@]}" "$image" "$@" >/dev/null
}
inside() { podman exec "$mark-$1" postrider "${@:2}"; }
log_of() { podman logs "$mark-$1" 2>&1; }
port() { podman port "$mark-$1" "$2/tcp" | sed 's/.*://'; }
healthy() {
    for _ in $(seq 100); do
        if podman healthcheck run "$mark-$1" >/dev/null 2>&1; then return; fi
        sleep 0.1
    done
    fail "$1 does not become healthy: $(log_of "$1")"
}
confined_is() {
    local process
    process="$(podman inspect --format '{{.State.Pid}}' "$mark-$1")"
    grep -qP '^Uid:\t10001\t10001\t10001\t10001$' "/proc/$process/status" || fail "$1 has another user than 10001"
    grep -qP '^CapEff:\t0+$' "/proc/$process/status" || fail "$1 has capabilities"
    grep -q '^Max open files *1024 *1024 ' "/proc/$process/limits" || fail "$1 has other limits"
    grep -qE '^[^ ]+ / [^ ]+ ro,' "/proc/$process/mounts" || fail "the file system of $1 can be written"
}
ended_well() {
    local code
    code="$(podman wait "$mark-$1")"
    [[ $code == 0 ]] || fail "$1 ended with exit code $code: $(log_of "$1")"
}
push() { # NAME HOST BEARER TOPIC [TOKEN]
    curl --silent --show-error --max-time 30 --http2 --cacert "$folder/authority.pem" --output "$folder/answer" --write-out '%{http_code}' \
        --resolve "$2:$(port "$1" 2197):127.0.0.1" --header "authorization: bearer $3" --header "apns-topic: $4" \
        --header 'apns-push-type: alert' --data "$alert" "https://$2:$(port "$1" 2197)/3/device/${5:-$token}"
}

tell "dev: any token, reached by another name from outside"
start dev --publish 127.0.0.1::2197 --publish 127.0.0.1::2196 -- \
    dev --any-token --address 0.0.0.0 --name push.test --captures-address 0.0.0.0:2196
healthy dev
confined_is dev
podman cp "$mark-dev:/var/lib/postrider/.postrider/authority.pem" "$folder/authority.pem"
bearer="$(inside dev token)"
[[ "$(push dev push.test "$bearer" com.example.app)" == 200 ]] || fail "a push was not accepted: $(cat "$folder/answer")"
captures="http://127.0.0.1:$(port dev 2196)/v1"
curl --silent "$captures/captures?wait=5s&token=$token" | grep -qF "\"payload\":$alert" || fail "the push was not captured"

tell "dev: SIGTERM while a push is open"
curl --silent --request PUT --data '{"rules":[{"do":{"delay":"3s"}}]}' "$captures/rules" >/dev/null
push dev push.test "$bearer" com.example.app >"$folder/status" &
pushing=$!
curl --silent "$captures/captures?outcome=open" | grep -q '"outcome":"open"' || sleep 1
podman kill --signal TERM "$mark-dev" >/dev/null
wait "$pushing" || fail "the open push got no answer"
[[ "$(cat "$folder/status")" == 200 ]] || fail "the open push was answered with $(cat "$folder/status")"
ended_well dev

tell "dev: started again, it has the same authority and key"
mv "$folder/authority.pem" "$folder/first.pem"
podman start "$mark-dev" >/dev/null
healthy dev
podman cp "$mark-dev:/var/lib/postrider/.postrider/authority.pem" "$folder/authority.pem"
cmp --quiet "$folder/first.pem" "$folder/authority.pem" || fail "the restarted relay has another authority"
[[ "$(push dev push.test "$bearer" com.example.app)" == 200 ]] || fail "the restarted relay does not know the key"

tell "serve: refuses to start without a certificate"
start bare -- serve
[[ "$(podman wait "$mark-bare")" != 0 ]] || fail "serve started without a certificate"
log_of bare | grep -q '/etc/postrider/relay.pem' || fail "the log does not name the certificate: $(log_of bare)"

tell "serve: a certificate from outside, a device, a push"
mkdir "$folder/made" "$folder/etc"
chmod 755 "$folder"
chmod 777 "$folder/made"
podman run --rm "${limits[@]}" "${confined[@]}" --volume "$folder/made:/made" "$image" \
    certificates make /made/own --name push.test >/dev/null
openssl ecparam -name prime256v1 -genkey -noout 2>/dev/null | openssl pkcs8 -topk8 -nocrypt -out "$folder/etc/AuthKey_TRIALKEY01.p8"
cp "$folder"/made/own/{relay.pem,relay.key,authority.pem} deploy/container/postrider.yaml "$folder/etc"
chown 10001 "$folder"/etc/*
start serve --publish 127.0.0.1::2197 --publish 127.0.0.1::5223 --volume "$folder/etc:/etc/postrider" --stop-timeout 30 -- serve
healthy serve
confined_is serve
inside serve topics add --team-id TRIALTEAM1 com.example.app >/dev/null
inside serve keys add --team-id TRIALTEAM1 /etc/postrider/AuthKey_TRIALKEY01.p8 >/dev/null
inside serve enrolment-keys add trial >"$folder/etc/enrolment.key"
chown 10001 "$folder/etc/enrolment.key"
chmod 600 "$folder/etc/enrolment.key"
start device --network host --volume "$folder/etc:/etc/postrider:ro" -- \
    device --relay "127.0.0.1:$(port serve 5223)" --server-name push.test --ca /etc/postrider/authority.pem \
    --enrolment-key-file /etc/postrider/enrolment.key --topic com.example.app --count 2
registered=
for _ in $(seq 100); do
    registered="$(log_of device | sed -n 's/^device token for com.example.app: //p')"
    [[ -z $registered ]] || break
    sleep 0.1
done
[[ -n $registered ]] || fail "the device got no token: $(log_of device)"
bearer="$(inside serve token --key-file /etc/postrider/AuthKey_TRIALKEY01.p8 --key-id TRIALKEY01 --team-id TRIALTEAM1)"
cp "$folder/made/own/authority.pem" "$folder/authority.pem"
[[ "$(push serve push.test "$bearer" com.example.app "$registered")" == 200 ]] || fail "a push was not accepted: $(cat "$folder/answer")"

tell "serve: stopped and started, the device comes back"
podman stop "$mark-serve" >/dev/null
ended_well serve
podman start "$mark-serve" >/dev/null
healthy serve
[[ "$(push serve push.test "$bearer" com.example.app "$registered")" == 200 ]] || fail "a push was not accepted: $(cat "$folder/answer")"
ended_well device
[[ "$(log_of device | grep -c "^notification for com.example.app: $alert")" == 2 ]] || fail "the device has not got both pushes: $(log_of device)"

tell "compose: a tested service beside it"
mkdir "$folder/tested"
cp "$(command -v busybox)" "$(command -v curl)" "$folder/tested"
cat >"$folder/tested/trial.sh" <<'TEXT'
set -e
curl --silent --fail --cacert "$APNS_AUTHORITY" --header 'apns-topic: com.example.app' --header 'apns-push-type: alert' \
    --header "authorization: bearer $(postrider token --directory /postrider/.postrider)" \
    --data '{"aps":{"alert":"Tea"}}' "https://$APNS_HOST:$APNS_PORT/3/device/$TOKEN"
busybox wget -q -O - "$POSTRIDER_CAPTURES/v1/captures?wait=5s&token=$TOKEN"
TEXT
cat >"$folder/tested/Containerfile" <<TEXT
FROM $image
COPY busybox curl trial.sh /usr/bin/
ENV TOKEN=$token
ENTRYPOINT ["/usr/bin/busybox", "sh", "/usr/bin/trial.sh"]
TEXT
buildah bud --quiet --format docker --tag "$mark-tested" "$folder/tested" >/dev/null
touch "$folder/composed"
compose up --detach push >/dev/null 2>"$folder/log" || fail "compose could not start the relay: $(cat "$folder/log")"
containers+=("${mark}_push_1" "${mark}_tested_1")
for _ in $(seq 100); do
    if podman healthcheck run "${mark}_push_1" >/dev/null 2>&1; then break; fi
    sleep 0.1
done
compose up --detach tested >/dev/null 2>"$folder/log" || fail "compose could not start the tested service: $(cat "$folder/log")"
code="$(podman wait "${mark}_tested_1")"
podman logs "${mark}_tested_1" >"$folder/log" 2>&1
[[ $code == 0 ]] || fail "the tested service ended with exit code $code: $(cat "$folder/log")"
grep -qF "\"payload\":$alert" "$folder/log" || fail "the tested service has not seen its push: $(cat "$folder/log")"

tell "all of it"
