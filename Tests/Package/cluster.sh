#!/usr/bin/env bash
# Within the machine that run.sh has made, with Debian's PostgreSQL in it: two nodes of a cluster, each under the package's unit.
# Tries what docs/operate/cluster.md promises about them under systemd: they share the devices, systemd starts a killed one
# again, and one that is stopped in order gives its devices away first.
source "$(dirname "$0")/common.sh"
topic=com.example.kiosk

# --- The database, and the certificates of the nodes.

systemctl start postgresql
until_true runuser -u postgres -- psql --command "SELECT 1"
runuser -u postgres -- createuser postrider
runuser -u postgres -- createdb --owner postrider postrider
postrider certificates make nodes --node relay-1 --node relay-2 >/dev/null
install -d -o postrider -g postrider -m 700 /etc/postrider/cluster
install -o postrider -g postrider -m 600 nodes/*.pem nodes/node-*.key /etc/postrider/cluster

# --- The second node is the package's unit with a configuration and folders of its own.

settings() { # NAME PORT
    cat <<TEXT
store: postgresql:///postrider?host=/var/run/postgresql
node-name: $1
cluster-address: 127.0.0.1:$2
cluster-certificate: /etc/postrider/cluster/node-$1.pem
cluster-key: /etc/postrider/cluster/node-$1.key
cluster-trust: /etc/postrider/cluster/authority.pem
TEXT
}
settings relay-1 2195 >>/etc/postrider/postrider.yaml
{
    settings relay-2 3195
    cat <<'TEXT'
certificate: /etc/postrider/relay.pem
private-key: /etc/postrider/relay.key
provider-address: 127.0.0.1:3197
device-address: 127.0.0.1:6223
data-directory: /var/lib/postrider-2
control-address: unix:/run/postrider-2/control
metrics-address: off
TEXT
} >/etc/postrider/relay-2.yaml
unit=$(systemctl show --property FragmentPath --value postrider)
sed 's,--config [^ ]*,--config /etc/postrider/relay-2.yaml,; s,^StateDirectory=.*,StateDirectory=postrider-2,
     s,^RuntimeDirectory=.*,RuntimeDirectory=postrider-2,' "$unit" >/etc/systemd/system/postrider-2.service
second=(--control unix:/run/postrider-2/control)

start_relay localhost
finds "A node of a cluster starts under the package's unit, with a database on a Unix socket." postrider status
systemctl --quiet enable --now postrider-2
served() { postrider nodes list --json "$@" | sed -n 's/.*"served" *: *\([0-9]*\).*/\1/p'; }
share() { [[ $(served) == "$1" && $(served "${second[@]}") == "$2" ]]; }
finds "A second one takes half of the partitions." share 512 512

# --- A device at one node, pushes at the other.

postrider topics add "$topic" --team-id DEF123GHIJ
openssl ecparam -name prime256v1 -genkey -noout | openssl pkcs8 -topk8 -nocrypt -out AuthKey_ABC123DEFG.p8
postrider keys add AuthKey_ABC123DEFG.p8 --team-id DEF123GHIJ "${second[@]}"
postrider enrolment-keys add kiosks | install -o postrider -g postrider -m 600 /dev/stdin /etc/postrider/enrolment.key
sed -i 's/^relay:.*/relay: localhost:6223/; s/^# ca:/ca:/' /etc/postrider/agent.yaml
cat >/usr/local/bin/wake <<'TEXT'
#!/bin/sh
echo "woken by $POSTRIDER_APNS_ID"
TEXT
chmod 755 /usr/local/bin/wake
printf 'topic: %s\nrun: [/usr/local/bin/wake]\n' "$topic" >/etc/postrider/apps.d/wake.yaml
systemctl --quiet enable --now postrider-agent
finds "An agent enrols at the second node." logged postrider-agent "connected to localhost:6223"
has_handler() { postrider devices list --json | grep -q "$topic"; }
finds "The first node lists its app." has_handler
wakes() { # What to add to the command
    postrider send --device "$(hostname)" --topic "$topic" --payload '{}' --wait done --timeout 1m "$@" >/dev/null
}
finds "A push that an operator makes at the first node reaches the app." wakes

# --- A node is killed, and one is stopped in order.

pid=$(main_pid postrider-2)
kill -KILL "$pid"
comes_again() { is_now postrider-2 active && [[ $(main_pid postrider-2) != "$pid" ]] && share 512 512; }
finds "A node that was killed is started again by systemd, and gets its half back." comes_again
finds "Its device is back, and pushes reach it." wakes
systemctl stop postrider
has_all() { [[ $(served "${second[@]}") == 1024 ]]; }
finds "A node that was stopped has given everything to the other one." has_all
finds "Pushes reach the device through the one that is left." wakes "${second[@]}"
systemctl start postrider
finds "It starts again, and they share the partitions." share 512 512

echo "all of it"
