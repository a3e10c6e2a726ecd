#!/usr/bin/env bash
# Within the machine that run.sh has made: configures relay and agent as docs/operate/install.md and
# docs/operate/agent.md say, and tries what they promise under systemd. Each line of its output is a sentence that has been
# found true, the last but for one that was not.
source "$(dirname "$0")/common.sh"
topic=com.example.kiosk

app_process() { postrider-agent apps | awk -v topic="$topic" '$1 == topic && $3 == "background" { print $4 }'; }
app_goes_on() { [[ $(app_process) == "$app" ]]; }
runs_as() { [[ $(stat --format %U "/proc/$1") == "$2" ]]; }
restarted() { [[ $(systemctl show --property NRestarts --value "$1") -ge 1 ]]; }
has_come() { [[ $(journalctl --no-pager --output cat --unit postrider-agent | grep -c "title: $1\$") == 1 ]]; }

push() {
    postrider send --relay localhost:2197 --ca /etc/postrider/ca.pem --key-file AuthKey_ABC123DEFG.p8 --key-id ABC123DEFG \
        --team-id DEF123GHIJ --topic "$topic" --title "$1" "$token"
}

# Registers the app by hand, once, as the user $1; its device token.
registers() {
    { runuser -u "$1" -- timeout 5 postrider-example-app --topic "$topic" || true; } | sed -n 's/^device token: //p'
}

install -m 755 postrider-example-app /usr/local/bin/

for program in postrider postrider-agent; do
    for file in man/man1/$program.1.gz bash-completion/completions/$program zsh/vendor-completions/_$program \
        fish/vendor_completions.d/$program.fish; do
        finds "The package $program has $file." owns $program "/usr/share/$file"
    done
done
for file in man/man1/postrider-send.1.gz postrider/courier.proto; do
    finds "The package postrider has $file." owns postrider "/usr/share/$file"
done
for file in man/man1/postrider-agent-check.1.gz postrider/agent.proto doc/postrider-agent/examples/agent-users.conf \
    dbus-1/services/org.unifiedpush.Distributor.Postrider.service; do
    finds "The package postrider-agent has $file." owns postrider-agent "/usr/share/$file"
done
finds "The unit of a user's agent is one that systemd understands." \
    env XDG_RUNTIME_DIR=/run systemd-analyze --user verify /usr/lib/systemd/user/postrider-agent.service
finds "The package starts nothing that is not configured." is_now postrider inactive
# on-presence is run by the relay's unit, which may write only into the relay's directory.
cat >/usr/local/bin/presence <<'TEXT'
#!/bin/sh
cat >>/var/lib/postrider/presence
TEXT
chmod 755 /usr/local/bin/presence
echo "on-presence: /usr/local/bin/presence" >>/etc/postrider/postrider.yaml
start_relay relay.example.net
finds "The relay is ready when systemctl says so." postrider status

postrider topics add "$topic" --team-id DEF123GHIJ
openssl ecparam -name prime256v1 -genkey -noout | openssl pkcs8 -topk8 -nocrypt -out AuthKey_ABC123DEFG.p8
postrider keys add AuthKey_ABC123DEFG.p8 --team-id DEF123GHIJ
postrider enrolment-keys add kiosks | install -o postrider -g postrider -m 600 /dev/stdin /etc/postrider/enrolment.key
sed -i 's/^relay:.*/relay: localhost:5223/; s/^# ca:/ca:/' /etc/postrider/agent.yaml
cat >/etc/postrider/apps.d/kiosk.yaml <<TEXT
topic: $topic
program: /usr/local/bin/postrider-example-app
background: true
TEXT
systemctl --quiet enable --now postrider-agent
finds "The agent enrols, and is connected." logged postrider-agent "connected to localhost:5223"

finds "The relay runs the operator's program for a device that connects." \
    grep -q '"what":"connected"' /var/lib/postrider/presence

cat >/usr/local/bin/wake <<'TEXT'
#!/bin/sh
echo "woken by $POSTRIDER_APNS_ID with $(cat)"
TEXT
chmod 755 /usr/local/bin/wake
printf 'topic: com.example.wake\nrun: [/usr/local/bin/wake]\n' >/etc/postrider/apps.d/wake.yaml
postrider topics add com.example.wake --team-id DEF123GHIJ
systemctl reload postrider-agent
finds "The agent reads a manifest with 'run'." logged postrider-agent "reloaded: 2 apps are declared"
has_handler() { postrider devices list --json | grep -q com.example.wake; }
finds "The device registers it by itself." has_handler
wake=$(cat /proc/sys/kernel/random/uuid)
postrider send --device "$(hostname)" --topic com.example.wake --payload '{"order":7}' --apns-id "$wake" --wait done --timeout 1m
finds "A push to the device's name runs the program, and send waits until it has ended." \
    logged postrider-agent "woken by ${wake^^} with .*\"order\":7"
postrider evidence "$wake" >evidence.txt
postrider evidence key >relay-public.pem
finds "The relay signs that it was done." sh -c "postrider evidence verify evidence.txt --key relay-public.pem | grep -q 'exit code 0'"

token=$(registers postrider)
push One
finds "A push starts the app, which is given it." has_come One
app=$(app_process)
kill -KILL "$(main_pid postrider-agent)"
finds "An agent that was killed is started again." restarted postrider-agent
finds "Its app has gone on, and is the next agent's." app_goes_on
push Two
finds "It is given the next push." has_come Two

kill -STOP "$(main_pid postrider)"
finds "A relay that hangs is ended and started again." restarted postrider
finds "The device comes back to it." sh -c "postrider status | grep -q '^device connections *1\$'"
push Three
finds "A push arrives after that." has_come Three

systemctl reload postrider postrider-agent
finds "The relay reads its certificate again." logged postrider "reloaded: new connections see the certificate"
finds "The agent reads its manifests again." logged postrider-agent "reloaded: 2 apps are declared\$"

install -d -m 700 -o postrider /var/lib/postrider/backups
postrider backup /var/lib/postrider/backups/one
finds "The backup is there." test -s /var/lib/postrider/backups/one/registry.sqlite
refuses() { ! postrider backup "$1" 2>&1; }
finds "A place elsewhere is refused." refuses /srv/trial/backup
systemctl stop postrider
mv /var/lib/postrider /srv/trial/replaced
cp -a /srv/trial/replaced/backups/one /var/lib/postrider
systemctl start postrider
finds "The relay starts from the backup." postrider status
finds "The device comes back to that." sh -c "postrider status | grep -q '^device connections *1\$'"
push Backup
finds "Its app is given a push." has_come Backup

echo "shards: many" >>/etc/postrider/postrider.yaml
if systemctl restart postrider 2>/dev/null; then echo "No: it has started"; exit 1; fi
finds "A mistake in the configuration is told." logged postrider "postrider.yaml:[0-9]*:9: 'shards' must be a whole number"
# A unit that waits for its next start is "activating", and one that had it counts that.
stays_failed() { is_now postrider failed && [[ $(systemctl show --property NRestarts --value postrider) == 0 ]]; }
finds "It is not tried again and again." stays_failed
sed -i '$d' /etc/postrider/postrider.yaml
systemctl restart postrider

useradd --create-home kiosk
systemctl stop postrider-agent
mkdir /etc/systemd/system/postrider-agent.service.d
cp /usr/share/doc/postrider-agent/examples/agent-users.conf /etc/systemd/system/postrider-agent.service.d/users.conf
topic=com.example.guest
postrider topics add "$topic" --team-id DEF123GHIJ
printf 'topic: %s\nprogram: /usr/local/bin/postrider-example-app\nbackground: true\nuser: kiosk\n' "$topic" \
    >/etc/postrider/apps.d/guest.yaml
systemctl daemon-reload
systemctl start postrider-agent
finds "An agent that is root's goes on with what the other has left." postrider-agent apps
token=$(registers kiosk)
push Four
finds "A push starts the app of another user." has_come Four
app=$(app_process)
finds "It is that user's." runs_as "$app" kiosk
kill -KILL "$(main_pid postrider-agent)"
finds "It goes on without the agent, and is the next one's." app_goes_on
systemctl stop postrider-agent
finds "An agent that ends in good order ends it." sh -c "! test -e /proc/$app"

systemctl start postrider-agent
apt-get -qq remove --yes postrider >/dev/null
finds "The package's removal stops the relay." is_now postrider inactive
finds "The agent goes on without it." is_now postrider-agent active
apt-get -qq remove --yes postrider-agent >/dev/null
finds "The removal of its package stops the agent." is_now postrider-agent inactive
echo "all of it"
