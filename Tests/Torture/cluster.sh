#!/bin/bash
# Kills, pauses and drains the nodes of a cluster by turns while stock providers push through all of them, and reports
# losses. The PostgreSQL server is in a folder of its own, which is removed at the end.
#
# usage: cluster.sh POSTRIDER PYTHON MINUTES SEED
set -euo pipefail

program=$1 python=$2 minutes=$3 seed=$4
server=/usr/lib/postgresql/15/bin
folder=$(mktemp --directory)
# PostgreSQL does not run as root.
as_user=()
if [ "$(id -u)" = 0 ]; then
    as_user=(runuser -u postgres --)
    chown postgres "$folder"
fi
end() {
    "${as_user[@]}" "$server/pg_ctl" --pgdata="$folder/data" --mode=immediate stop >/dev/null || true
    rm -rf "$folder"
}
trap end EXIT

"${as_user[@]}" "$server/initdb" "$folder/data" --encoding=UTF8 --locale=C --auth=trust >/dev/null
"${as_user[@]}" "$server/pg_ctl" --pgdata="$folder/data" --log="$folder/log" --wait start \
    --options="-c listen_addresses='' -c unix_socket_directories=$folder" >/dev/null
"${as_user[@]}" "$server/createdb" --host="$folder" postrider
owner=$("${as_user[@]}" id -un)
mkdir "$folder/cluster"
"$python" "$(dirname "$0")/../EndToEnd/Programs/cluster.py" "$program" \
    "postgresql://$owner@${folder//\//%2F}/postrider" "$folder/cluster" --minutes "$minutes" --seed "$seed"
