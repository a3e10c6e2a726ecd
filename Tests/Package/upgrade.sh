#!/usr/bin/env bash
# Within the machine that run.sh has made: the packages take the place of the single one from before there were two, and give it
# back. What an administrator has configured, started and stopped stays so.
source "$(dirname "$0")/common.sh"
topic=com.example.wake

quietly() { "$@" >log 2>&1 || { cat log; return 1; }; }
# The administrator's file wins over the package's.
apt() { quietly apt-get -qq --yes --no-install-recommends --option Dpkg::Options::=--force-confold "$@"; }
upgrade() { apt install ./new/postrider_*.deb ./new/postrider-agent_*.deb; }
downgrade() { apt install --allow-downgrades ./single/postrider_*.deb; }
runs() { [[ $(readlink "/proc/$(main_pid "$1")/exe") == "$2" ]]; }
is_enabled() { [[ $(systemctl is-enabled "$1") == "$2" ]]; }
keeps_configuration() {
    grep -q '^# The administrator.s own line' /etc/postrider/postrider.yaml && grep -q '^# The administrator.s own line' /etc/postrider/agent.yaml \
        && ! ls /etc/postrider/*.dpkg-new >/dev/null 2>&1
}
wakes() { postrider send --tag lobby --topic $topic --alert wake --wait done --timeout 1m; }
# dpkg remembers a configuration that has gone to another package, and marks it so.
has_no_more() { ! dpkg-query --show --showformat='${Conffiles}\n' "$1" | grep "$2" | grep -qv ' obsolete$'; }

apt purge postrider postrider-agent
rm -rf /etc/postrider /var/lib/postrider*
apt install ./single/postrider_*.deb
finds "There is the single package." owns postrider /etc/postrider/agent.yaml
start_relay localhost
finds "Its relay runs." postrider status
postrider topics add $topic --team-id DEF123GHIJ
postrider enrolment-keys add kiosks --tag lobby | install -o postrider -g postrider -m 600 /dev/stdin /etc/postrider/enrolment.key
sed -i 's/^relay:.*/relay: localhost:5223/; s/^# ca:/ca:/' /etc/postrider/agent.yaml
echo "# The administrator's own line." | tee -a /etc/postrider/postrider.yaml >>/etc/postrider/agent.yaml
printf 'topic: %s\nrun: [/bin/true]\n' $topic >/etc/postrider/apps.d/wake.yaml
systemctl --quiet enable --now postrider-agent
finds "Its agent runs a handler." wakes
relay=$(main_pid postrider) agent=$(main_pid postrider-agent)

upgrade
finds "The agent's package has the agent's configuration." owns postrider-agent /etc/postrider/agent.yaml
finds "The relay's package has it no more." has_no_more postrider agent.yaml
finds "Both configurations are the administrator's." keeps_configuration
finds "The relay was restarted." test "$(main_pid postrider)" != "$relay"
finds "The agent was restarted." test "$(main_pid postrider-agent)" != "$agent"
finds "It is the new relay that runs." runs postrider /usr/bin/postrider
finds "It is the new agent that runs." runs postrider-agent /usr/bin/postrider-agent
finds "Both start with the machine." sh -c "systemctl is-enabled postrider postrider-agent"
finds "The handler runs as before." wakes
finds "'postrider agent' is the agent's program." sh -c "postrider agent status | grep -q '^connected *yes'"
relay=$(main_pid postrider) agent=$(main_pid postrider-agent)

downgrade
finds "The single package can be installed again." owns postrider /etc/postrider/agent.yaml
finds "The agent's package is gone." sh -c "! dpkg-query --show --showformat='\${db:Status-Status}' postrider-agent | grep -q '^installed'"
finds "Both configurations are the administrator's." keeps_configuration
finds "Both start with the machine." sh -c "systemctl is-enabled postrider postrider-agent"
finds "The relay runs." is_now postrider active
finds "The agent runs." is_now postrider-agent active
finds "The handler runs as before." wakes

systemctl --quiet disable --now postrider-agent
upgrade
finds "An agent that did not run does not run after an upgrade." is_now postrider-agent inactive
finds "It does not start with the machine." is_enabled postrider-agent disabled
finds "The relay runs." runs postrider /usr/bin/postrider
systemctl --quiet enable --now postrider-agent
finds "It can be started." wakes

apt remove postrider
finds "A device needs no relay's package." is_now postrider-agent active
finds "Without it, 'postrider' is gone." sh -c "! command -v postrider"
finds "The agent's program answers." sh -c "postrider-agent status | grep -q '^connected'"
apt install ./new/postrider_*.deb
apt purge postrider-agent
finds "A relay needs no agent's package." sh -c "systemctl restart postrider && postrider status"
finds "Without it, 'postrider agent' says what is missing." sh -c "postrider agent status 2>&1 | grep -q 'Install the package postrider-agent'"
finds "The relay's configuration stays when the agent's goes." test -s /etc/postrider/postrider.yaml
apt install ./new/postrider-agent_*.deb
apt purge postrider
finds "The agent's configuration stays when the relay's goes." owns postrider-agent /etc/postrider/agent.yaml
finds "Its file is there." test -s /etc/postrider/agent.yaml
echo "all of it"
