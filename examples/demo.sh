#!/bin/sh
# The starter agent on problems it has never seen, with both formulations of LUMOS, side by side.
# Run it again and the stored results are shown: the same request is never worked on twice.
set -eu
LIMIT="${LIMIT:-300}"

job() { # evaluate with one formulation; prints the job's id
  lumos evaluate wordmath --agent starter --formulation "$1" --limit "$LIMIT" --json |
    tail -n 1 | python3 -c 'import json, sys; print(json.load(sys.stdin)["job"])'
}

lumos db upgrade
echo "wordmath test: $LIMIT generated problems of families that are not in the training data"
iterative=$(job iterative)
one_pass=$(job one-pass)
lumos report "$iterative" "$one_pass"
echo "One episode, step by step:   lumos show $iterative-0"
echo "All that went wrong:         lumos episodes $iterative --wrong"
lumos show "$iterative-0"
