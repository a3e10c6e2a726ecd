#!/bin/sh
# The handler of ansible-pull.yaml: REPOSITORY BRANCH PLAYBOOK. It ignores the notification's contents.
set -eu
repository=$1 branch=$2 playbook=$3

# An unreachable repository is no failure: after exit 75 (EX_TEMPFAIL) the agent tries again later, without counting.
git ls-remote --exit-code "$repository" "refs/heads/$branch" >/dev/null || exit 75
exec ansible-pull --url "$repository" --checkout "$branch" --only-if-changed "$playbook"
