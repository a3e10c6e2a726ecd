#!/usr/bin/env bash
# Within the machine that run.sh has made: a relay and the agents of several machines, each under systemd in a network namespace
# of its own. Tries what the operator of a fleet relies on: a good start is silent, tags reach exactly their devices, no wake is
# lost while an agent is killed or links are cut, a cloned machine is told apart, a relay from an older backup gets its devices
# back, and an address that answers nothing costs no time.
source "$(dirname "$0")/common.sh"
topic=com.example.wake
kills=${KILLS:-20} wakes=${WAKES:-1000}
kiosks=/var/lib/kiosks

# The moments are drawn from this seed.
seed=${SEED:-$RANDOM}
RANDOM=$seed
echo "The seed is $seed."
pause() { sleep "$(awk -v draw=$RANDOM -v least="$1" -v most="$2" 'BEGIN { print least + draw / 32768 * (most - least) }')"; }

# --- The network: a bridge with the relay's address, a namespace for each kiosk, and one that answers nothing.

ip link add bridge type bridge
ip address add 10.9.0.1/24 dev bridge
ip link set bridge up
wire() { # NAME NUMBER
    ip netns add "$1"
    ip link add "$1" type veth peer name eth0 netns "$1"
    ip link set "$1" master bridge up
    ip -n "$1" link set lo up
    ip -n "$1" address add "10.9.0.$2/24" dev eth0
    ip -n "$1" link set eth0 up
}
# It gets what is sent to its address, and has no way back. Its number is close to that of kiosk6, so that the resolver of that
# machine prefers it (RFC 6724, section 5, rule 9).
wire hole 17
ip -n hole route flush dev eth0
heard() { nsenter --net=/run/netns/hole awk '/^Ip: [0-9]/ { print $4 }' /proc/self/net/snmp; }
printf '10.9.0.1 relay.test\n10.9.0.17 hole.test\n10.9.0.17 both.test\n10.9.0.1 both.test\n' >>/etc/hosts

# Cuts come from a proxy that is killed, and from interfaces that are taken down.
cat >/etc/systemd/system/way.socket <<'TEXT'
[Unit]
StartLimitIntervalSec=0
[Socket]
ListenStream=10.9.0.1:6223
TriggerLimitIntervalSec=0
TEXT
cat >/etc/systemd/system/way.service <<'TEXT'
[Unit]
StartLimitIntervalSec=0
[Service]
ExecStart=/lib/systemd/systemd-socket-proxyd 10.9.0.1:5223
TEXT

# --- The kiosks: the package's unit, once for each.

unit=$(systemctl show --property FragmentPath --value postrider-agent)
sed 's,--config [^ ]*,--config /srv/trial/%i.yaml,; s,/var/lib/postrider-agent,/var/lib/kiosks/%i,; s,=postrider-agent$,=kiosks/%i,
     s,^RestartSec=.*,RestartSec=100ms,; /^\[Service\]/a NetworkNamespacePath=/run/netns/%i' "$unit" >/etc/systemd/system/kiosk@.service
cat >/usr/local/bin/wake <<'TEXT'
#!/bin/sh
# Notes each wake. Those whose identity begins with 0 to 3 fail, and none ends while the kiosk is closed.
test ! -e "$HOME/closed" || exit 75
case $POSTRIDER_APNS_ID in
[0-3]*) echo "failed $POSTRIDER_APNS_ID" >>"$HOME/wakes"; exit 3 ;;
*) echo "reached $POSTRIDER_APNS_ID" >>"$HOME/wakes" ;;
esac
TEXT
chmod 755 /usr/local/bin/wake
mkdir apps.d
kiosk() { # NAME NUMBER TAGS RELAY
    wire "$1" "$2"
    cat >"$1.yaml" <<TEXT
relay: $4
socket: /run/kiosks/$1/agent.sock
ca: /etc/postrider/ca.pem
enrolment-key-file: /srv/trial/enrolment.key
apps-directory: /srv/trial/$1.d
device-name: $1
device-tags: [$3]
delivery-attempts: 1
TEXT
    mkdir "$1.d"
    printf 'topic: %s\nrun: [/usr/bin/env, HOME=%s, /usr/local/bin/wake]\nparallelism: 4\n' "$topic" "$kiosks/$1" >"$1.d/wake.yaml"
}
is_connected() { postrider devices list --connected --json | tr '{' '\n' | grep -q "\"name\":\"$1\""; }
has_app() { postrider devices list --json | grep -q "\"name\":\"$1\".*$topic"; }
count_of() { grep -c "$1" "$2" || true; }
noted() { grep -q -- "$1" "$kiosks/$2/wakes"; }
identity() { tr a-f A-F </proc/sys/kernel/random/uuid; }
# One that its handler does not refuse.
good() { identity | sed 's/^[0-3]/A/'; }

# --- A good start.

start_relay relay.test both.test
finds "The relay starts." postrider status
postrider topics add $topic --team-id DEF123GHIJ
postrider enrolment-keys add kiosks | install -o postrider -g postrider -m 600 /dev/stdin enrolment.key
kiosk kiosk1 11 lobby relay.test:6223
kiosk kiosk2 12 lobby,wall relay.test:6223
kiosk kiosk3 13 wall relay.test:6223
chmod 755 /srv /srv/trial
systemctl daemon-reload
systemctl start way.socket kiosk@kiosk1 kiosk@kiosk2 kiosk@kiosk3
for name in kiosk1 kiosk2 kiosk3; do finds "The agent of $name enrols and connects, in its own network." has_app $name; done
postrider send --device kiosk2 --topic $topic --alert first --apns-id "$(good)" --wait done --timeout 1m >/dev/null
finds "Nothing that they log reads like a failure." silent postrider kiosk@kiosk2 kiosk@kiosk3

# --- Tags.

sent() { postrider send "${@:2}" --topic $topic --alert "$1" --wait taken --timeout 1m --json; }
reaches() { # KIOSKS WORDS...
    local names
    rm -f $kiosks/*/wakes
    sent tag "${@:2}" >sent.json
    names=$(grep -o '"device":"[^"]*"' sent.json | cut -d '"' -f 4 | sort | xargs)
    until_true wakes_are "$names"
    [[ $names == "$1" ]]
}
wakes_are() { [[ $(cd $kiosks && ls -- */wakes | cut -d / -f 1 | xargs) == "$1" ]]; }
finds "The tag 'lobby' reaches exactly its devices." reaches "kiosk1 kiosk2" --tag lobby
finds "The tag 'wall' reaches exactly its devices." reaches "kiosk2 kiosk3" --tag wall
finds "A name reaches one device." reaches "kiosk3" --device kiosk3
finds "--all reaches all." reaches "kiosk1 kiosk2 kiosk3" --all

# --- An agent that is killed.

rm -f $kiosks/kiosk1/wakes
begun=$(date +%s)
push_all() { # While there is a file named "go"
    while [[ -e go ]]; do
        identity >>pushed
        postrider send --device kiosk1 --topic $topic --alert wake --apns-id "$(tail -n 1 pushed)" >/dev/null || echo refused >>pushed
    done
}
touch go pushed
push_all &
for _ in $(seq $kills); do
    until_true is_now kiosk@kiosk1 active
    pause 0.05 1
    kill -KILL "$(main_pid kiosk@kiosk1)"
done
rm go
wait
have_all() { [[ $(sort -u pushed | wc -l) == "$(cut -d ' ' -f 2 $kiosks/kiosk1/wakes | sort -u | wc -l)" ]]; }
finds "No wake of $(wc -l <pushed) is lost while the agent is killed $kills times." have_all
sort -u pushed >expected
finds "Its handler's log has exactly these." sh -c "cut -d ' ' -f 2 $kiosks/kiosk1/wakes | sort -u | cmp - expected"
[[ $(systemctl show --property NRestarts --value kiosk@kiosk1) == "$kills" ]]

# --- Links that are cut.

rm -f $kiosks/*/wakes
cat >await <<TEXT
#!/bin/sh
id=\$(tr a-f A-F </proc/sys/kernel/random/uuid)
postrider send --device kiosk\$((\$1 % 3 + 1)) --topic $topic --alert wake --apns-id \$id --wait done --timeout 4m >/dev/null 2>&1
case \$? in 0) word=reached ;; 5) word=failed ;; *) word="exit code \$?" ;; esac
echo "\$word \$id"
TEXT
chmod 755 await
touch go
cut_links() {
    local link cuts=0
    while [[ -e go ]]; do
        pause 0.2 1
        link=kiosk$((RANDOM % 3 + 1))
        if ((RANDOM % 2)); then
            systemctl kill --signal KILL way.service 2>/dev/null || true
        else
            ip link set $link down
            pause 0.1 0.5
            ip link set $link up
        fi
        echo $((++cuts)) >cuts
    done
}
cut_links &
seq $wakes | xargs --max-procs 16 --max-args 1 ./await | sort >told
rm go
wait
cat $kiosks/*/wakes | sort -u >done
echo "Links were cut $(cat cuts) times."
finds "Each of $wakes commands ends as the handlers' logs say." cmp told done
[[ $(wc -l <told) == "$wakes" && $(cat cuts) -ge 1 ]]

# --- A cloned machine.

systemctl stop kiosk@kiosk1
kiosk kiosk4 14 lobby relay.test:6223
sed -i 's/^device-name:.*/device-name: kiosk1/; s/6223/5223/' kiosk4.yaml
cp -a $kiosks/kiosk1 $kiosks/kiosk4
sed -i 's/6223/5223/' kiosk1.yaml
systemctl start kiosk@kiosk1 kiosk@kiosk4
clones_told() { logged kiosk@kiosk1 "two machines use the identity" || logged kiosk@kiosk4 "two machines use the identity"; }
finds "A cloned machine's agent, or the other one's, says that two use the identity." clones_told
finds "The relay says so, with both addresses." logged postrider "two machines use the identity of device .* one at 10.9.0.1[14], one at 10.9.0.1[14]"
finds "So does 'devices list'." sh -c "postrider devices list | grep -q 'two machines use this identity: 10.9.0.1[14] and 10.9.0.1[14]'"
for name in kiosk1 kiosk4; do echo 'on-clone: enrol-anew' >>$name.yaml; done
sed -i 's/^device-name:.*/device-name: kiosk4/' kiosk4.yaml
systemctl restart kiosk@kiosk1
systemctl restart kiosk@kiosk4
both_connected() { [[ $(postrider devices list --connected --json | grep -o '"address":"10.9.0.1[14]"' | sort -u | wc -l) == 2 ]]; }
finds "With on-clone: enrol-anew, both are connected, each as a device of its own." both_connected

# --- A relay from an older backup.

install -d -m 700 -o postrider /var/lib/postrider/backups
postrider backup /var/lib/postrider/backups/one >/dev/null
kiosk kiosk5 15 late relay.test:5223
install -d -o postrider -g postrider -m 700 $kiosks/kiosk5
touch $kiosks/kiosk5/closed
systemctl start kiosk@kiosk5
finds "Another machine enrols after a backup of the relay." has_app kiosk5
kept=$(good)
postrider send --device kiosk5 --topic $topic --alert kept --apns-id "$kept" --wait delivered --timeout 1m >/dev/null
systemctl stop postrider
mv /var/lib/postrider /srv/trial/replaced
cp -a /srv/trial/replaced/backups/one /var/lib/postrider
systemctl start postrider
finds "The relay that is restored from it does not know the machine, which enrols again." \
    logged kiosk@kiosk5 "as after the relay was restored from an older backup: enrolling again"
finds "It is a device as before." has_app kiosk5
rm $kiosks/kiosk5/closed
finds "It has kept its inbox: a push from before the restoration is handled." noted "$kept" kiosk5
later=$(good)
postrider send --device kiosk5 --topic $topic --alert later --apns-id "$later" --wait done --timeout 1m >/dev/null
finds "It is woken." noted "$later" kiosk5

# --- An address that answers nothing.

# Whether there are less than 5 s from the start of a unit to its connection.
quick() {
    journalctl --no-pager --output short-unix --unit "$1" | awk '/Starting/ { begun = $1 } /: connected to / { print $1 - begun }' \
        | awk '$1 >= 5 { exit 1 } END { exit NR == 0 }'
}
tried() { [[ $(heard) -gt $1 ]]; }
packets=$(heard)
kiosk kiosk6 16 dark both.test:5223
systemctl start kiosk@kiosk6
finds "A machine connects although an address of the relay's name answers nothing." is_connected kiosk6
finds "It has tried that address." tried "$packets"
finds "It took less than 5 s, and not the 10 s after which an address is given up." quick kiosk@kiosk6
packets=$(heard)
kiosk kiosk7 18 dark hole.test:5223
sed -i 's/^relay:.*/relay: [hole.test:5223, relay.test:5223]/' kiosk7.yaml
systemctl start kiosk@kiosk7
finds "A machine whose first relay answers nothing connects to the second one." is_connected kiosk7
finds "It has tried the first one." tried "$packets"

systemctl stop 'kiosk@*' postrider
finds "All end in good order." sh -c "! systemctl --quiet is-failed 'kiosk@*' postrider"
echo "all of it"
