#!/bin/sh
# The starter agent with both formulations of LUMOS, side by side: on new problems of the families it was trained on,
# and on problems whose structure it has never seen. Run it again and the stored results are shown.
set -eu
LIMIT="${LIMIT:-150}"

evaluate() { # split, formulation; prints the job's id
  lumos evaluate wordmath --split "$1" --agent starter --formulation "$2" --limit "$LIMIT" --json |
    tail -n 1 | python3 -c 'import json, sys; print(json.load(sys.stdin)["job"])'
}

lumos db upgrade

echo "New problems of the families it was trained on:"
iterative=$(evaluate familiar iterative)
one_pass=$(evaluate familiar one-pass)
lumos report "$iterative" "$one_pass"

echo "One of these episodes, step by step (lumos show $iterative-2):"
lumos show "$iterative-2"

echo "Problems whose structure it has never seen:"
iterative=$(evaluate test iterative)
one_pass=$(evaluate test one-pass)
lumos report "$iterative" "$one_pass"
echo "Look further:   lumos episodes $iterative --wrong   lumos jobs   lumos --help"
