"""The cases of the fuzz tests: for each domain commands of `lumos`, and the roles of hostile models in them.

In a command FILES stands for the options that read the benchmark's rows (tests/original_files.py), HOME for the folder
of these files, DATA for the folder of real rows, and JOB for the job of the previous case. Each case has its share of
the episodes of its domain.
"""

from __future__ import annotations

from dataclasses import dataclass

from lumos_queue.formulations.registry import FORMULATIONS

#: Roles that look at images: their endpoints are chats.
SEES = ("vqa", "captioner", "teacher")


@dataclass(frozen=True)
class Case:
    """A command, and its roles in addition to those of its formulation."""

    command: str
    roles: tuple[str, ...] = ()
    share: float = 1.0  #: weight among the cases of the domain
    tasks: int = 0  #: number of tasks if the benchmark has few, which then run several times

    @property
    def real(self) -> bool:
        """Whether the case needs rows from outside the project."""
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


def _run(benchmark: str, formulation: str, *roles: str, share: float = 1.0, tasks: int = 0) -> Case:
    return Case(f"evaluate {benchmark} --formulation {formulation} --max-tokens 2048", roles, share, tasks)


def _teach(source: str, subgoals: str, split: str = "train") -> Case:
    return Case(f"convert {source} FILES --split {split} --subgoals {subgoals}")


_WORLD = "toolworld --split I1-inst"
_TOOLS = "toolbench --data HOME/toolbench.json --split I1-inst"
_REAL_TOOLS = "toolbench --data DATA/stabletoolbench/solvable_queries/test_instruction --split I1-inst"
_REAL_SQL = "intercode_sql --data DATA/intercode_sql/ic_spider_dev.json --split dev"
_VISUAL = "sum2act_visual --tool experts=own"
_PLANS = "openagi --split heldout --option samples=1"
DOMAINS: dict[str, tuple[Case, ...]] = {
    "maths": (
        _run("wordmath --split dev", "iterative", share=3),
        _run("wordmath --split dev", "one-pass", share=3),
        _run("wordmath --split dev", "integrated"),
        _run("wordmath", "cot"),
        _run("wordmath", "direct"),
        _run("gsm8k FILES", "iterative"),
        _run("svamp FILES", "direct"),
        _run("mawps FILES", "cot"),
        _run("asdiv FILES", "one-pass"),
        _run("gsm8k --data DATA/gsm8k/test.jsonl", "one-pass"),
    ),
    "complex_qa": (
        _run("strategyqa FILES --split dev", "iterative", "qa", share=3),
        _run("strategyqa FILES --split dev", "one-pass", "qa", share=2),
        _run("hotpotqa FILES --split dev", "one-pass", "qa", "judge", share=2),
        _run("hotpotqa FILES --split dev --answer-by last", "iterative", "qa", "judge"),
        _run("musique FILES --split dev", "iterative", "qa", share=2),
        _run("musique FILES --split dev", "cot"),
        _run("hotpotqa FILES --split dev", "direct", "judge"),
        _run("hotpotqa --data DATA/hotpotqa/hotpot_dev_distractor_sample.json --split dev", "iterative", "qa"),
    ),
    "web_agent": (
        _run("mind2web FILES --split train", "iterative", share=3),
        _run("mind2web FILES --split train", "one-pass", share=2),
        _run("mind2web FILES --split train", "teacher-forced"),
        _run("mind2web FILES --split train", "integrated"),
        _run("mind2web --data DATA/mind2web/reassembled_native.json --split train", "iterative"),
    ),
    "webshop": (
        _run("webshop", "iterative", share=3),
        _run("webshop", "one-pass", share=2),
        _run("webshop", "integrated"),
    ),
    "intercode_sql": (
        _run("intercode_sql FILES --split dev", "iterative", share=3),
        _run("intercode_sql FILES --split dev", "one-pass", share=3),
        _run("intercode_sql FILES --split dev --tool writes=yes", "one-pass", share=2),
        _run("intercode_sql FILES --split dev --tool writes=yes --tool turns=4", "iterative"),
        _run(f"{_REAL_SQL} --tool databases=DATA/spider/database", "one-pass"),
    ),
    "multimodal": (
        _run("aokvqa FILES --split val", "iterative", "qa", "vqa", share=3),
        _run("aokvqa FILES --split val", "one-pass", "qa", "vqa", share=2),
        _run("aokvqa FILES --split val --tool vision=none", "one-pass", "qa", "vqa"),
        _run("scienceqa FILES", "iterative", "qa", "vqa", share=2),
        _run("scienceqa FILES", "cot"),
        Case("infer aokvqa FILES --split val --formulation caption"),
    ),
    "tools": (
        _run(_WORLD, "react", share=2),
        _run(_WORLD, "dfsdt"),
        _run(_WORLD, "rewoo"),
        _run(_WORLD, "sum2act", share=2),
        _run(f"{_WORLD} --setting update=rewrite --setting decompose=yes", "sum2act"),
        _run(f"{_TOOLS} --tool answers=simulated", "react", "simulator", share=3),
        _run(f"{_TOOLS} --tool answers=synthetic", "rewoo"),
        _run(f"{_REAL_TOOLS} --tool answers=simulated --setting calls=20", "dfsdt", "simulator"),
    ),
    "local_tools": (
        _run(_VISUAL, "react", tasks=20),
        _run(_VISUAL, "dfsdt", tasks=20),
        _run(_VISUAL, "rewoo", tasks=20),
        _run(_VISUAL, "sum2act", tasks=20),
        _run("open_ended --tool experts=own --yes", "open-ended", tasks=2),
    ),
    "experts": (
        _run(f"{_PLANS} --tool experts=own", "model-synthesis", share=2),
        _run(f"{_PLANS} --tool experts=oracle", "model-synthesis", share=3),
        _run(f"{_PLANS} --tool experts=oracle --setting decoding=constrained", "model-synthesis"),
    ),
    "judges": (
        _run(f"{_TOOLS} --tool answers=synthetic", "react"),
        Case("judge JOB"),
    ),
    "teachers": (
        _teach("gsm8k", "high"),
        _teach("gsm8k", "low"),
        _teach("svamp", "high"),
        _teach("prm800k", "high"),
        _teach("strategyqa", "high"),
        _teach("musique", "high"),
        _teach("hotpotqa", "low"),
        _teach("mind2web", "high"),
        _teach("spider", "high"),
        _teach("spider", "low"),
        _teach("aokvqa", "high", "dev"),
    ),
    "scorers": (
        _run("superni FILES", "direct", share=2),
        _run("wordmath", "direct"),
        Case("score JOB --scorer same_words"),
    ),
}
