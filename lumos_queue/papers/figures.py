"""Tables 4, 5, 6 and 8 of the papers: conversions, further sources, times, action interfaces (spec/lumos.md 9)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Converted:
    """A domain of Table 4: the number of rows of each source, and of the planner's and the grounder's annotations."""

    domain: str
    sources: Mapping[str, int]  #: name of a benchmark with rationales to rows
    plan: int
    ground: int
    turns: float  #: average of an annotation, App. B
    note: str = ""


TABLE_4 = (
    Converted("maths", {"prm800k": 10_000, "gsm8k": 7_473, "asdiv": 2_305}, 19_386, 19_471, 4.75),
    Converted("complex_qa", {"musique": 17_632, "strategyqa": 1_777}, 19_048, 19_080, 3.75),
    Converted("web_agent", {"mind2web": 1_009}, 1_007, 1_007, 8.25),
    Converted("multimodal", {"aokvqa": 17_056}, 16_038, 16_038, 3.39, "15,941 by the totals of [P3]"),
)

#: Sources that the papers name for extensions, with their rows.
TABLE_5 = {
    "WebLINX": 2_337,
    "TravelPlanner": 225,
    "SciQ": 11_679,
    "GrailQA": 44_337,
    "NL2Bash": 8_090,
    "AlfWorld": 3_553,
    "VCR": 212_923,
    "LILA": 93_670,
}

#: (row, formulation, domain of the weights, benchmark) to seconds for 100 instances on 2 × A6000 in batches of 16.
TABLE_6 = {
    ("LUMOS-O", "one-pass", "maths", "gsm8k"): 102,
    ("LUMOS-O", "one-pass", "complex_qa", "hotpotqa"): 556,
    ("LUMOS-I", "iterative", "maths", "gsm8k"): 851,
    ("LUMOS-I", "iterative", "complex_qa", "hotpotqa"): 1007,
}

#: Domain to the papers' actions and the tools that executed them.
TABLE_8 = {
    "complex_qa": {
        "KnowledgeQuery": "Wikipedia, Google Search",
        "ParagraphRetrieve": "dpr-reader-multiset-base",
        "QA": "GPT, open LLM",
        "Calculator": "WolframAlpha",
    },
    "web_agent": {"CLICK": "HTML simulator", "TYPE": "HTML simulator", "SELECT": "HTML simulator"},
    "maths": {
        "Calculator": "WolframAlpha",
        "SetEquation": "WolframAlpha",
        "SolveEquation": "WolframAlpha",
        "Define": "WolframAlpha",
        "SolveInequality": "WolframAlpha",
        "Code": "gpt-3.5-turbo",
        "Count": "Python",
    },
    "multimodal": {"QA": "Llama-2-13B-chat", "VQA": "LLaVA-1.5-7B"},
}
