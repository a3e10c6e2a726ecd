#!/usr/bin/env bash
# Makes the package as it was before there were two, postrider_0.1.0_ARCHITECTURE.deb, in the folder of the first argument: with
# the units, configurations and files of both, and with one program. Its maintainer scripts are those that debhelper made for it.
# Its program is a link to the programs of today, because a program of that time cannot be built from this tree.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

programs="$(swift build --configuration release --show-bin-path)"
output="$(realpath "$1")"
folder="$(mktemp --directory)"
trap 'rm -rf "$folder"' EXIT
tree="$folder/postrider"
mkdir -p "$tree/debian"
cp deploy/postrider.sysusers "$tree/debian"
cp LICENSE "$tree/debian/copyright"
cat >"$tree/debian/control" <<'TEXT'
Source: postrider
Section: net
Priority: optional
Maintainer: Nobody <nobody@example.org>
Build-Depends: debhelper-compat (= 13), dh-sequence-installsysusers
Rules-Requires-Root: no
Standards-Version: 4.6.2

Package: postrider
Architecture: any
Depends: ${misc:Depends}, ${shlibs:Depends}, libnghttp2-14 (>= 1.52.0-1+deb12u3), procps, tzdata
Description: self-hosted push notification service that speaks APNs
 Relay and agent in one package, as in version 0.1.0.
TEXT
cat >"$tree/debian/changelog" <<'TEXT'
postrider (0.1.0) unstable; urgency=medium

  * The last single package.

 -- Nobody <nobody@example.org>  Thu, 01 Jan 2026 00:00:00 +0000
TEXT
cat >"$tree/debian/rules" <<'TEXT'
#!/usr/bin/make -f
%:
	dh $@
override_dh_installsystemd:
	dh_installsystemd --no-enable
	dh_installsystemd --no-enable --name=postrider-agent
	for name in provider device metrics control; do dh_installsystemd --no-enable --no-start --name=postrider-$$name; done
override_dh_installsystemduser:
	dh_installsystemduser --no-enable --name=postrider-agent
override_dh_strip:
	dh_strip --no-automatic-dbgsym
TEXT
chmod +x "$tree/debian/rules"
echo /etc/postrider/apps.d >"$tree/debian/postrider.dirs"
printf '%s\n' agent-users.conf handlers >"$tree/debian/postrider.examples"
echo 'manual/*.1' >"$tree/debian/postrider.manpages"
cat >"$tree/debian/postrider.install" <<'TEXT'
single /usr/lib/postrider
postrider.yaml /etc/postrider
agent.yaml /etc/postrider
org.unifiedpush.Distributor.Postrider.service /usr/share/dbus-1/services
monitoring /usr/share/postrider
courier.proto /usr/share/postrider
agent.proto /usr/share/postrider
completion/postrider /usr/share/bash-completion/completions
completion/_postrider /usr/share/zsh/vendor-completions
completion/postrider.fish /usr/share/fish/vendor_completions.d
TEXT
echo /usr/lib/postrider/single/postrider /usr/bin/postrider >"$tree/debian/postrider.links"
mkdir "$tree"/{single,completion}
cp "$programs"/{postrider,postrider-agent} "$tree/single"
cp deploy/{postrider.yaml,agent.yaml,agent-users.conf,org.unifiedpush.Distributor.Postrider.service} "$tree"
cp --recursive deploy/examples/handlers deploy/monitoring docs/reference/{courier,agent}.proto "$tree"
for program in postrider postrider-agent; do "$programs/$program" manual "$tree/manual" >/dev/null; done
"$programs/postrider" completion bash >"$tree/completion/postrider"
"$programs/postrider" completion zsh >"$tree/completion/_postrider"
"$programs/postrider" completion fish >"$tree/completion/postrider.fish"
in_package() { sed 's,/usr/local/bin/,/usr/bin/,; s,/postrider-agent --config,/postrider agent --config,' "deploy/$1" >"$tree/debian/$2"; }
in_package postrider.service postrider.service
in_package postrider-agent.service postrider.postrider-agent.service
in_package postrider-agent-user.service postrider.postrider-agent.user.service
for unit in deploy/sockets/*.socket; do cp "$unit" "$tree/debian/postrider.$(basename "$unit")"; done
(cd "$tree" && dpkg-buildpackage --build=binary --no-sign >"$folder/log" 2>&1) || { cat "$folder/log" >&2; exit 1; }
mv "$folder"/*.deb "$output"
ls "$output"/postrider_0.1.0_*.deb
