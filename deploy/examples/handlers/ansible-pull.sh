#!/bin/sh
# The handler of ansible-pull.yaml: REPOSITORY BRANCH PLAYBOOK. What it is given of the notification it does not read.
set -eu
repository=$1 branch=$2 playbook=$3

# Not reachable is no failure: exit 75 (EX_TEMPFAIL) is tried again later, without counting.
git ls-remote --exit-code "$repository" "refs/heads/$branch" >/dev/null || exit 75
exec ansible-pull --url "$repository" --checkout "$branch" --only-if-changed "$playbook"
