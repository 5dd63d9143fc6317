"""The columns of the papers' tables: each is a benchmark as the papers measured it (spec/lumos.md 6.1)."""

from __future__ import annotations

from lumos_queue.papers.model import PaperColumn

_WOLFRAM = "the papers calculated with WolframAlpha"
_QA_TOOLS = "the papers searched the live Wikipedia and Google"
_QA_OPTIONS = {"protocol": "lumos"}

COLUMNS = {
    column.key: column
    for column in (
        PaperColumn(
            "mind2web",
            "Mind2Web step SR",
            "mind2web",
            "test_domain",
            "step_success",
            max_subgoals=20,
            note="which of the tasks were taken is not stated",
        ),
        PaperColumn("gsm8k", "GSM8K", "gsm8k", "test", "accuracy", 1319, note=_WOLFRAM),
        PaperColumn("svamp", "SVAMP", "svamp", "test", "accuracy", 1000, note=_WOLFRAM),
        PaperColumn(
            "strategyqa",
            "StrategyQA",
            "strategyqa",
            "paper",
            "accuracy",
            900,
            300,
            3,
            tool_options=_QA_OPTIONS,
            note=_QA_TOOLS,
        ),
        PaperColumn(
            "hotpotqa",
            "HotpotQA LLM acc.",
            "hotpotqa",
            "dev",
            "llm_accuracy",
            3000,
            1000,
            3,
            judge="gpt-4",
            tool_options=_QA_OPTIONS,
            note=_QA_TOOLS,
        ),
        PaperColumn(
            "hotpotqa_em",
            "HotpotQA EM",
            "hotpotqa",
            "dev",
            "exact_match",
            3000,
            1000,
            3,
            tool_options=_QA_OPTIONS,
            note=_QA_TOOLS,
        ),
        PaperColumn("aokvqa", "A-OKVQA", "aokvqa", "val", "accuracy", 1145),
        PaperColumn("scienceqa", "ScienceQA IMG", "scienceqa", "test", "accuracy", 2017),
        PaperColumn(
            "scienceqa_all", "ScienceQA, whole test", "scienceqa", "test", "accuracy", 4241, options={"subset": "all"}
        ),
        PaperColumn(
            "webshop",
            "WebShop reward",
            "webshop",
            "test",
            "reward",
            500,
            max_subgoals=6,
            tools=("catalogue",),
            note="goals 0 to 499 over WebShop's own products; the generated shop is another",
        ),
        PaperColumn(
            "superni",
            "SuperNI ROUGE-L",
            "superni",
            "test",
            "rouge_l",
            data="the repository allenai/natural-instructions (tasks/, splits/) as --data",
            note="how many instances were taken is not stated; officially 100 of each of 119 tasks",
        ),
        PaperColumn("intercode_sql", "InterCode-SQL SR", "intercode_sql", "dev", "success", 1034),
    )
}
