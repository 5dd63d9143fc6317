#!/bin/sh
# The starter agent on new problems that this project generates: SmolLM2 with the adapter that is shipped, then the two
# small models trained from scratch, one for each formulation of LUMOS. Run it again and the stored results are shown.
set -eu
LIMIT="${LIMIT:-100}"
STARTER_LIMIT="${STARTER_LIMIT:-40}"

evaluate() { # agent, formulation, problems; prints the job's id
  lumos evaluate wordmath --split familiar --agent "$1" --formulation "$2" --limit "$3" --max-tokens 128 --json |
    tail -n 1 | python3 -c 'import json, sys; print(json.load(sys.stdin)["job"])'
}

first() { # job, filter; prints the first episode that matches, or nothing
  lumos episodes "$1" --where "$2" --limit 1 --json |
    tail -n 1 | python3 -c 'import json, sys; print(*[one["episode"] for one in json.load(sys.stdin)["episodes"]])'
}

lumos db upgrade
lumos models get smollm2 || echo "Without this base, the small model of \`iterative\` takes its place."

starter=$(evaluate starter iterative "$STARTER_LIMIT")
lumos report "$starter"
for filter in 'score=1 subgoals>=2' 'score=0 subgoals>=2'; do
  episode=$(first "$starter" "$filter")
  [ -z "$episode" ] || { echo "lumos show $episode"; lumos show "$episode"; }
done

echo "The two small models:"
iterative=$(evaluate starter-scratch iterative "$LIMIT")
one_pass=$(evaluate starter-scratch one-pass "$LIMIT")
lumos report "$iterative" "$one_pass"
echo "Look further, after   . .venv/bin/activate"
echo "   lumos episodes $iterative --where 'score<1'   lumos jobs   lumos --help"
