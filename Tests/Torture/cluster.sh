#!/bin/bash
# Does to the nodes of a cluster, to the links between them and to their way to the database what cluster_faults.py
# lists, by turns, while stock providers push through all of them, and reports losses. The PostgreSQL server is in a
# folder of its own, which is removed at the end, but for the nodes' logs if something was found. For root, the server
# and each node have a network namespace of their own.
#
# usage: cluster.sh POSTRIDER PYTHON MINUTES SEED [OPTION OF cluster.py…]
#
# WITHIN: how many seconds after a cut pushes must be answered 200 everywhere, 30 unless set otherwise.
set -euo pipefail

program=$1 python=$2 minutes=$3 seed=$4
shift 4
programs="$(dirname "$0")/../EndToEnd/Programs"
server=/usr/lib/postgresql/15/bin
folder=$(mktemp --directory)
# PostgreSQL does not run as root.
as_user=() in_namespace=() addresses=''
if [ "$(id -u)" = 0 ]; then
    as_user=(runuser -u postgres --)
    chown postgres "$folder"
fi
if PYTHONPATH="$programs" "$python" -c 'import sys, networks; sys.exit(not networks.may_make_networks())'; then
    in_namespace=(unshare --net --)
    addresses='*'
else
    echo "No link is cut: only root may make network namespaces, on a machine that permits them."
fi
end() {
    "${as_user[@]}" "$server/pg_ctl" --pgdata="$folder/data" --mode=immediate stop >/dev/null || true
    if [ "$1" = 0 ]; then rm -rf "$folder"; else rm -rf "$folder/data"; echo "The nodes' logs are in $folder/cluster."; fi
}
trap 'end $?' EXIT

"${as_user[@]}" "$server/initdb" "$folder/data" --encoding=UTF8 --locale=C --auth=trust >/dev/null
echo 'host all all 10.0.0.0/8 trust' >>"$folder/data/pg_hba.conf"
"${in_namespace[@]}" "${as_user[@]}" "$server/pg_ctl" --pgdata="$folder/data" --log="$folder/log" --wait start \
    --options="-c listen_addresses='$addresses' -c unix_socket_directories=$folder" >/dev/null
"${as_user[@]}" "$server/createdb" --host="$folder" postrider
owner=$("${as_user[@]}" id -un)
mkdir "$folder/cluster"
options=(--minutes "$minutes" --seed "$seed" --within "${WITHIN:-30}")
if [ -n "$addresses" ]; then options+=(--database-process "$(head -n 1 "$folder/data/postmaster.pid")"); fi
# It ends with this script, and what it has started ends with it.
setpriv --pdeathsig TERM -- "$python" "$programs/cluster.py" "$program" "postgresql://$owner@${folder//\//%2F}/postrider" "$folder/cluster" \
    "${options[@]}" "$@"
