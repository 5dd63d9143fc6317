"""What is fuzzed: for each domain commands of `lumos`, and the roles that hostile models play in them.

In a command FILES stands for the options that read the benchmark's rows (tests/original_files.py), HOME for the folder
of these files, DATA for ../shared/data and JOB for the job of the case before. Each case has its share of the episodes
of its domain.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from lumos_queue.formulations.registry import FORMULATIONS

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data"
TOOLS, TEXTS = "--tool experts=own", "--max-tokens 2048"
#: Roles that look at images: their endpoints are chats.
SEES = ("vqa", "captioner", "teacher")


@dataclass(frozen=True)
class Case:
    """A command, and the roles beside those of its formulation."""

    command: str
    roles: tuple[str, ...] = ()
    share: float = 1.0  #: of the episodes, beside those of the other cases
    tasks: int = 0  #: how many tasks there are, where these are few: then they are run several times

    @property
    def real(self) -> bool:
        """Whether it needs rows that are no part of the project."""
        return "DATA" in self.command

    @property
    def all_roles(self) -> tuple[str, ...]:
        words = self.command.split()
        if words[0] == "judge":
            return ("judge",)
        if words[0] == "convert":
            return ("teacher",)
        name = words[words.index("--formulation") + 1] if "--formulation" in words else "iterative"
        return (*FORMULATIONS.load(name).roles, *self.roles)


def _run(benchmark: str, formulation: str, *roles: str, more: str = "", share: float = 1.0, tasks: int = 0) -> Case:
    command = f"evaluate {benchmark} --formulation {formulation} {TEXTS} {more}"
    return Case(command, roles, share, tasks)


def _teach(source: str, subgoals: str, split: str = "train") -> Case:
    return Case(f"convert {source} FILES --split {split} --subgoals {subgoals}")


_SQL = "--split dev --tool databases=HOME/databases"
DOMAINS: dict[str, tuple[Case, ...]] = {
    "maths": (
        _run("wordmath", "iterative", more="--split dev", share=3), _run("wordmath", "one-pass", more="--split dev", share=3),
        _run("wordmath", "integrated", more="--split dev"), _run("wordmath", "cot"), _run("wordmath", "direct"),
        _run("gsm8k FILES", "iterative"), _run("svamp FILES", "direct"), _run("mawps FILES", "cot"),
        _run("asdiv FILES", "one-pass"), _run("gsm8k --data DATA/gsm8k/test.jsonl", "one-pass"),
    ),
    "complex_qa": (
        _run("strategyqa FILES", "iterative", "qa", more="--split dev", share=3),
        _run("strategyqa FILES", "one-pass", "qa", more="--split dev", share=2),
        _run("hotpotqa FILES", "one-pass", "qa", "judge", more="--split dev", share=2),
        _run("hotpotqa FILES", "iterative", "qa", "judge", more="--split dev --answer last"),
        _run("musique FILES", "iterative", "qa", more="--split dev", share=2),
        _run("musique FILES", "cot", more="--split dev"), _run("hotpotqa FILES", "direct", "judge", more="--split dev"),
        _run("hotpotqa --data DATA/hotpotqa/hotpot_dev_distractor_sample.json", "iterative", "qa", more="--split dev"),
    ),
    "web_agent": (
        _run("mind2web FILES", "iterative", more="--split train", share=3),
        _run("mind2web FILES", "one-pass", more="--split train", share=2),
        _run("mind2web FILES", "teacher-forced", more="--split train"),
        _run("mind2web FILES", "integrated", more="--split train"),
        _run("mind2web --data DATA/mind2web/reassembled_native.json", "iterative", more="--split train"),
    ),
    "webshop": (
        _run("webshop", "iterative", share=3), _run("webshop", "one-pass", share=2), _run("webshop", "integrated"),
    ),
    "intercode_sql": (
        _run("intercode_sql FILES", "iterative", more="--split dev", share=3),
        _run("intercode_sql FILES", "one-pass", more="--split dev", share=3),
        _run("intercode_sql FILES", "one-pass", more="--split dev --tool writes=yes", share=2),
        _run("intercode_sql FILES", "iterative", more="--split dev --tool turns=4 --tool writes=yes"),
        _run("intercode_sql --data DATA/intercode_sql/ic_spider_dev.json", "one-pass",
             more="--split dev --tool databases=DATA/spider/database"),
    ),
    "multimodal": (
        _run("aokvqa FILES", "iterative", "qa", "vqa", more="--split val", share=3),
        _run("aokvqa FILES", "one-pass", "qa", "vqa", more="--split val", share=2),
        _run("aokvqa FILES", "one-pass", "qa", "vqa", more="--split val --tool vision=none"),
        _run("scienceqa FILES", "iterative", "qa", "vqa", share=2), _run("scienceqa FILES", "cot"),
        Case("infer aokvqa FILES --split val --formulation caption"),
    ),
    "tools": (
        _run("toolworld", "react", more="--split test", share=2), _run("toolworld", "dfsdt", more="--split test"),
        _run("toolworld", "rewoo", more="--split test"), _run("toolworld", "sum2act", more="--split test", share=2),
        _run("toolworld", "sum2act", more="--split test --setting update=rewrite --setting decompose=yes"),
        _run("toolbench --data HOME/toolbench.json", "react", "simulator",
             more="--split I1-inst --tool answers=simulated", share=3),
        _run("toolbench --data HOME/toolbench.json", "rewoo", more="--split I1-inst --tool answers=synthetic"),
        _run("toolbench --data DATA/stabletoolbench/solvable_queries/test_instruction", "dfsdt", "simulator",
             more="--split I1-inst --tool answers=simulated --setting calls=20"),
    ),
    "local_tools": (
        _run("sum2act_visual", "react", more=TOOLS, tasks=20), _run("sum2act_visual", "dfsdt", more=TOOLS, tasks=20),
        _run("sum2act_visual", "rewoo", more=TOOLS, tasks=20), _run("sum2act_visual", "sum2act", more=TOOLS, tasks=20),
        _run("open_ended", "open-ended", more=f"{TOOLS} --yes", tasks=2),
    ),
    "experts": (
        _run("openagi", "model-synthesis", more=f"--split heldout --option samples=1 {TOOLS}", share=2),
        _run("openagi", "model-synthesis", more="--split heldout --option samples=1 --tool experts=oracle", share=3),
        _run("openagi", "model-synthesis",
             more="--split heldout --option samples=1 --tool experts=oracle --setting decoding=constrained"),
    ),
    "judges": (
        _run("toolbench --data HOME/toolbench.json", "react", more="--split I1-inst --tool answers=synthetic"),
        Case("judge JOB"),
    ),
    "teachers": (
        _teach("gsm8k", "high"), _teach("gsm8k", "low"), _teach("svamp", "high"), _teach("prm800k", "high"),
        _teach("strategyqa", "high"), _teach("musique", "high"), _teach("hotpotqa", "low"), _teach("mind2web", "high"),
        _teach("spider", "high"), _teach("spider", "low"), _teach("aokvqa", "high", "dev"),
    ),
    "scorers": (
        _run("superni FILES", "direct", share=2), _run("wordmath", "direct"), Case("score JOB --scorer same_words"),
    ),
}  # fmt: skip
