#!/bin/sh
# The round: convert -> build -> train -> try new tasks -> select the successes -> train again.
#
#     sh examples/loop.sh DATA [--quick]      DATA: folder with the original files of mawps, asdiv and svamp
#
# Round one: gold annotations of wordmath and MAWPS, and a fit from the starter. Its model then tries tasks whose
# answers it may know but not their solutions: wordmath problems of families that no fit has seen, and MAWPS rows that
# the starter was never given. Round two: round one's data and the successes, fitted from the starter again. The control
# is round one's model: the same steps from the same weights with the same seed, without the new episodes.
# Three seeds side by side: some 36 minutes of processor time, 21 on two cores; --quick (one seed) about three.
# Nothing held out is trained on: `dataset build --against` refuses what equals it. Everything lies in LUMOS_HOME.
set -eu
DATA="${1:?usage: sh examples/loop.sh DATA [--quick]}"
HERE="$(cd "$(dirname "$0")" && pwd)"
export LUMOS_HOME="${LUMOS_HOME:-$PWD/.lumos-loop}"

SEEDS="1 2 3" STEPS=150 GOLD=300 NEW_MAWPS=0 NEW_WORDMATH=100 SAMPLES=4 HELD_OUT=200
if [ "${2:-}" = --quick ]; then
  SEEDS="1" STEPS=20 GOLD=60 NEW_MAWPS=30 NEW_WORDMATH=10 SAMPLES=2 HELD_OUT=30
fi
RESULTS="$LUMOS_HOME/results.txt"

say() { echo "$(date +%H:%M:%S) $*" >&3; }

run() { # a command that submits a job; prints the job's id
  lumos "$@" --json | tail -n 1 | python3 -c 'import json, sys; print(json.load(sys.stdin)["job"])'
}

evaluate() { # seed, what, arm, model folder, then how `lumos evaluate` is to be called; notes the job down
  seed="$1" what="$2" arm="$3" model="$4"
  shift 4
  job=$(run evaluate "$@" --planner "local:$model" --grounder "local:$model")
  echo "$seed $what $arm $job" >> "$RESULTS"
}

scores() { # seed, arm, model folder: greedy, on tasks that no fit has seen
  evaluate "$1" wordmath-other-families "$2" "$3" wordmath --split test --limit "$HELD_OUT"
  evaluate "$1" wordmath-new-families "$2" "$3" wordmath --split dev --limit $((NEW_WORDMATH + HELD_OUT))
  evaluate "$1" mawps "$2" "$3" mawps --data "$LUMOS_HOME/mawps/held-out.csv" --limit "$HELD_OUT"
}

fit() { # seed, folder, then the builds
  seed="$1" folder="$2"
  shift 2
  run train sft --from starter --folder "$folder" --steps "$STEPS" --window 50 --seed "$seed" "$@" > /dev/null
}

build() { # name, which episodes, then options
  name="$1" where="$2"
  shift 2
  lumos dataset build "$name" --where "$where" "$@" \
    --against wordmath:test --against "mawps:$LUMOS_HOME/mawps/held-out.csv"
}

round() { # seed
  home="$LUMOS_HOME/seed-$1"
  mkdir -p "$home"
  say "seed $1: round one is fitted from the starter ($STEPS steps)"
  fit "$1" "$home/one" --data gold
  say "seed $1: its model tries new tasks, $SAMPLES times each"
  LUMOS_PROJECT="new-$1"; export LUMOS_PROJECT
  hot="--samples $SAMPLES --temperature 0.7 --seed $1"
  evaluate "$1" mawps new "$home/one/export" mawps --split train --data "$LUMOS_HOME/mawps/new.csv" \
    --limit "$NEW_MAWPS" $hot
  evaluate "$1" wordmath new "$home/one/export" wordmath --split dev --limit "$NEW_WORDMATH" $hot
  unset LUMOS_PROJECT
  build "new-$1" "project=new-$1 score=1" --select shortest --per-task 2
  say "seed $1: round two is fitted from the starter, the new successes with it"
  fit "$1" "$home/two" --data gold --data "new-$1"
  say "seed $1: both are scored on what was held out"
  scores "$1" control "$home/one/export"
  scores "$1" round-two "$home/two/export"
  say "seed $1: done"
}

mkdir -p "$LUMOS_HOME"
exec 3>&2
rm -f "$RESULTS"
python3 "$HERE/loop_split.py" "$DATA" "$LUMOS_HOME/mawps"
say "gold annotations"
LUMOS_PROJECT=gold run convert wordmath --deterministic --split train --limit "$GOLD" > /dev/null
LUMOS_PROJECT=gold run convert mawps --deterministic --split train --limit "$GOLD" \
  --data "$LUMOS_HOME/mawps/gold.csv" --skip-bad-rows > /dev/null
build gold "project=gold level>=executed"

pids=""
for seed in $SEEDS; do
  round "$seed" > "$LUMOS_HOME/seed-$seed.log" 2>&1 &
  pids="$pids $!"
done
for pid in $pids; do
  wait "$pid" || { echo "A seed failed; see $LUMOS_HOME/seed-*.log" >&2; exit 1; }
done
starter=$(python3 -c 'from lumos_queue.endpoints.starter import starter_url; print(starter_url("iterative")[6:])')
scores 0 starter "$starter" > "$LUMOS_HOME/starter.log" 2>&1
python3 "$HERE/loop_report.py" "$RESULTS"
