"""Tables 1a to 1e, 2, 3 and 7 of the papers: every row, with its figures as printed (spec/lumos.md 9)."""

from __future__ import annotations

from collections.abc import Mapping

from lumos_queue.papers.model import PaperRow, PaperTable
from lumos_queue.records import Role

GPT35, GPT4 = "gpt-3.5-turbo", "gpt-4"
LLAVA, LLAMA_CHAT = "llava-1.5-7b", "llama-2-13b-chat"
_QA: dict[str, str] = {Role.QA: GPT35}
_VISION: dict[str, str] = {Role.VQA: LLAVA, Role.QA: LLAMA_CHAT}


def _quote(columns: tuple[str, ...], rows: Mapping[str, str], source: str = "[P]") -> tuple[PaperRow, ...]:
    """Return rows that the papers quote from other papers. Slashes separate figures; a dash means no figure."""
    return tuple(PaperRow(name, _figures(columns, figures), source=source) for name, figures in rows.items())


def _figures(columns: tuple[str, ...], figures: str) -> dict[str, str]:
    parts = [part.strip() for part in figures.split("/")]
    return {key: part for key, part in zip(columns, parts, strict=True) if part != "–"}


_WEB = ("mind2web",)
_MATHS = ("gsm8k", "svamp")
_IMAGES = ("aokvqa", "scienceqa")
_QUESTIONS = ("strategyqa", "hotpotqa", "hotpotqa_em")
_UNSEEN = ("webshop", "intercode_sql")
_ALL = ("mind2web", "gsm8k", "svamp", "strategyqa", "hotpotqa", "aokvqa", "scienceqa")


def _maths(name: str, formulation: str, size: str, figures: str) -> PaperRow:
    return PaperRow(name, _figures(_MATHS, figures), formulation, "maths", size)


def _images(name: str, formulation: str, size: str, figures: str) -> PaperRow:
    return PaperRow(name, _figures(_IMAGES, figures), formulation, "multimodal", size, tools=_VISION)


def _questions(name: str, formulation: str, size: str, tool: str, figures: str) -> PaperRow:
    return PaperRow(name, _figures(_QUESTIONS, figures), formulation, "complex_qa", size, tools={"qa": tool})


def _unseen(name: str, domain: str, figures: str) -> PaperRow:
    return PaperRow(name, _figures(_UNSEEN, figures), "iterative", domain, "-13B")


TABLE_1A = PaperTable(
    "1a",
    "Web agents",
    _WEB,
    (
        *_quote(
            _WEB,
            {
                "GPT-3.5-turbo": "15.7",
                "GPT-4": "22.6",
                "Baichuan-13B-chat": "2.3",
                "WizardLM-30B": "3.1",
                "Koala-13B": "6.0",
                "AgentLM-70B": "13.5*",
            },
        ),
        *_quote(_WEB, {"Claude": "21.0"}, "[P1]"),
        PaperRow("LUMOS-I_Web", {"mind2web": "27.6*"}, "teacher-forced", "web_agent"),
        PaperRow("LUMOS-I_Web-13B", {"mind2web": "31.3*"}, "teacher-forced", "web_agent", "-13B"),
    ),
)

TABLE_1B = PaperTable(
    "1b",
    "Maths agents",
    _MATHS,
    (
        *_quote(
            _MATHS,
            {
                "AgentLM-13B": "32.4/–",
                "Code-Llama(PoT)-13B": "36.1/60.0",
                "Platypus-30B": "37.8/51.7",
                "ReWOO-open": "≈38/–",
                "Orca-Platypus-13B": "38.4*/56.9",
                "Alpaca-7B": "≈39/–",
                "Galactica-30B": "41.7/41.6",
            },
        ),
        _maths("LUMOS-O", "one-pass", "", "50.5*/65.5"),
        _maths("LUMOS-I", "iterative", "", "47.1*/63.6"),
        _maths("LUMOS-O-13B", "one-pass", "-13B", "55.4*/69.3"),
    ),
)

TABLE_1C = PaperTable(
    "1c",
    "Multimodal agents",
    (*_IMAGES, "scienceqa_all"),
    (
        *_quote(
            _IMAGES,
            {
                "GPT-3+GT caption": "45.4/–",
                "ClipCap": "44.0*/–",
                "KRISP": "51.9*/–",
                "GPV-2": "60.3*/–",
                "MiniGPT-4-13B": "67.2/42.8",
                "LLaVA-1.5-7B": "–/57.6",
            },
        ),
        *_quote(("scienceqa_all",), {"AutoAct-7B": "53.3"}),
        _images("LUMOS-O", "one-pass", "", "70.1*/56.9"),
        _images("LUMOS-I", "iterative", "", "71.3*/58.4"),
        _images("LUMOS-I-13B", "iterative", "-13B", "72.4*/58.2"),
        PaperRow(
            "LUMOS, whole test",
            {"scienceqa_all": "67.3"},
            "iterative",
            "multimodal",
            tools=_VISION,
            note="which formulation and size is not stated; taken for LUMOS-I",
        ),
    ),
)

TABLE_1D = PaperTable(
    "1d",
    "Complex QA agents, by the model behind the QA tool",
    _QUESTIONS,
    (
        *_quote(
            _QUESTIONS,
            {
                "GPT-3.5-CoT": "56.0/37.8/22.4",
                "GPT-3.5-ReAct": "64.6/40.8/32.4",
                "GPT-3.5-ReWOO": "66.6/42.4/30.4",
                "ReWOO-open (LLaMA-7B, GPT-3.5)": "≈56/≈37*/–",
                "AgentLM (Llama-2-7B)": "–/–/22.3",
                "FiReAct (Llama-2-7B)": "–/–/26.2*",
                "FiReAct (CodeLlama-34B)": "–/–/27.8*",
            },
        ),
        *_quote(_QUESTIONS, {"ART (GPT-3)": "66.4/–/–"}, "[P1]"),
        _questions("LUMOS-O (GPT-3.5)", "one-pass", "", GPT35, "60.6*/39.2/24.9"),
        _questions("LUMOS-I (Llama-2-7B)", "iterative", "", "llama-2-7b", "58.3*/37.3/23.5"),
        _questions("LUMOS-I (GPT-3.5)", "iterative", "", GPT35, "65.7*/45.9/29.4"),
        _questions("LUMOS-I (GPT-4)", "iterative", "", GPT4, "72.4*/56.8/36.0"),
        _questions("LUMOS-I-13B (GPT-3.5)", "iterative", "-13B", GPT35, "65.3*/50.2/31.4"),
        _questions("LUMOS-I-13B (GPT-4)", "iterative", "-13B", GPT4, "76.7*/57.4/36.3"),
    ),
)

TABLE_1E = PaperTable(
    "1e",
    "Unseen tasks",
    _UNSEEN,
    (
        *_quote(
            _UNSEEN,
            {
                "Baichuan-13B": "5.7/–",
                "Koala-13B": "6.0/–",
                "WizardLM-30B": "10.6/–",
                "Vicuna-v1.1-13B": "12.6/–",
                "ChatGLM2": "19.4/–",
                "Vicuna-v1.3-33B": "23.9/6.7",
                "Vicuna-v1.5-13B": "41.7/4.8",
                "OpenChat-v3.2-13B": "46.9/–",
                "Claude-instant": "49.7/–",
            },
        ),
        _unseen("LUMOS-I_Web-13B", "web_agent", "46.2/4.2"),
        _unseen("LUMOS-I_Math-13B", "maths", "45.7/5.8"),
        _unseen("LUMOS-I_QA-13B", "complex_qa", "47.3/3.5"),
        _unseen("LUMOS-I_MM-13B", "multimodal", "43.8/4.0"),
        _unseen("LUMOS-I_All-13B", "unified", "50.3/7.3"),
        *(
            PaperRow(name, {"webshop": figure}, "iterative", domain, source="[P1]", note=note)
            for name, domain, figure, note in (
                ("LUMOS-I_Web", "web_agent", "34.7", ""),
                ("LUMOS-I_Math", "maths", "30.1", ""),
                ("LUMOS-I_QA", "complex_qa", "33.5", ""),
                ("LUMOS-I_All", "unified", "39.8", "without multimodal data"),
            )
        ),
    ),
)

TABLE_2 = PaperTable(
    "2",
    "Quality of annotations",
    ("strategyqa", "hotpotqa"),
    (
        PaperRow(
            "ReWOO-open data",
            _figures(("strategyqa", "hotpotqa"), "≈57/≈37"),
            "one-pass",
            tools=_QA,
            note="LLaMA-7B on 2,000 samples, run by ReWOO's authors; here its plans, which have no results, "
            "are one-pass",
            fitted="the file of rewoo/planner_instruction_tuning_2k: lumos convert rewoo --data FILE --deterministic, "
            "lumos dataset build --formulations one-pass",
        ),
        PaperRow(
            "LUMOS-I_QA data, LLaMA-7B",
            _figures(("strategyqa", "hotpotqa"), "58.3/38.1"),
            "integrated",
            tools=_QA,
            note="LLaMA-7B on 2,000 samples",
        ),
        PaperRow(
            "Low-level subgoals",
            _figures(("strategyqa", "hotpotqa"), "63.3/44.3"),
            "iterative",
            tools=_QA,
            note="Llama-2-7B; one action a subgoal",
        ),
        PaperRow("LUMOS-I_QA", _figures(("strategyqa", "hotpotqa"), "65.7/45.9"), "iterative", "complex_qa", tools=_QA),
    ),
)


def _by_domain(name: str, formulation: str, source: str, **figures: str) -> tuple[PaperRow, ...]:
    """Return a row of Table 3 for each domain with a figure, because the agents of domains are different models."""
    web = "teacher-forced" if formulation == "iterative" else formulation
    parts = (
        ("web_agent", _WEB, web, {}),
        ("maths", _MATHS, formulation, {}),
        ("complex_qa", ("strategyqa", "hotpotqa"), formulation, _QA),
        ("multimodal", _IMAGES, formulation, _VISION),
    )
    rows = []
    for domain, columns, how, tools in parts:
        if domain_figures := {key: figures[key] for key in columns if key in figures}:
            solver: dict[str, str] = {Role.SOLVER: f"{domain}_{how}"} if how in ("cot", "direct") else {}
            row_tools = {} if how in ("cot", "direct") else tools
            rows.append(
                PaperRow(
                    f"{name}, {domain}", domain_figures, how, domain, weights=solver, tools=row_tools, source=source
                )
            )
    return tuple(rows)


TABLE_3 = PaperTable(
    "3",
    "Formulations, 7B",
    _ALL,
    (
        *_by_domain("Vanilla", "direct", "[P1]", gsm8k="9.9", svamp="12.7", strategyqa="61.0", hotpotqa="23.4"),
        *_by_domain(
            "CoT",
            "cot",
            "[P]",
            gsm8k="40.4",
            svamp="52.2",
            strategyqa="58.3",
            hotpotqa="22.1",
            aokvqa="68.3",
            scienceqa="57.3",
        ),
        *_by_domain(
            "Integrated",
            "integrated",
            "[P]",
            mind2web="25.3",
            gsm8k="45.5",
            svamp="61.7",
            strategyqa="62.3",
            hotpotqa="39.6",
            aokvqa="70.9",
            scienceqa="57.6",
        ),
        *_by_domain(
            "LUMOS-O",
            "one-pass",
            "[P]",
            gsm8k="50.5",
            svamp="65.5",
            strategyqa="60.6",
            hotpotqa="39.2",
            aokvqa="70.1",
            scienceqa="56.9",
        ),
        *_by_domain(
            "LUMOS-I",
            "iterative",
            "[P]",
            mind2web="27.6",
            gsm8k="47.1",
            svamp="63.6",
            strategyqa="65.7",
            hotpotqa="45.9",
            aokvqa="71.3",
            scienceqa="58.4",
        ),
    ),
)

_SEVEN = ("mind2web", "strategyqa", "hotpotqa", "hotpotqa_em", "aokvqa", "scienceqa", "gsm8k", "svamp")


def _thirteen(name: str, is_unified: bool, **figures: str) -> tuple[PaperRow, ...]:
    """Return the rows of an agent in Table 7, one for each domain. `is_unified`: the same agent solves all domains."""
    parts = (
        ("web_agent", _WEB, "teacher-forced", {}),
        ("complex_qa", _QUESTIONS, "iterative", _QA),
        ("multimodal", _IMAGES, "iterative", _VISION),
        ("maths", _MATHS, "iterative", {}),
    )
    return tuple(
        PaperRow(
            f"{name}, {domain}",
            {key: figures[key] for key in columns},
            how,
            "unified" if is_unified else domain,
            "-13B",
            tools=tools,
        )
        for domain, columns, how, tools in parts
    )


TABLE_7 = PaperTable(
    "7",
    "One agent for each domain, or one for all, 13B",
    _SEVEN,
    (
        *_thirteen(
            "LUMOS-I_X",
            False,
            mind2web="31.3",
            strategyqa="65.3",
            hotpotqa="50.2",
            hotpotqa_em="31.4",
            aokvqa="72.4",
            scienceqa="58.2",
            gsm8k="51.9",
            svamp="66.3",
        ),
        *_thirteen(
            "LUMOS-I_All",
            True,
            mind2web="31.9",
            strategyqa="66.7",
            hotpotqa="51.0",
            hotpotqa_em="31.6",
            aokvqa="72.8",
            scienceqa="58.2",
            gsm8k="50.5",
            svamp="65.8",
        ),
    ),
)

TABLE_P3 = PaperTable(
    "p3",
    "Super-NaturalInstructions, ROUGE-L (arXiv v3 only)",
    ("superni",),
    (
        PaperRow(
            "unified + Alpaca",
            {"superni": "39.3"},
            "direct",
            source="[P3]",
            slug="unified-and-Alpaca",
            fitted="the unified data with Alpaca's: lumos dataset unify FILE... --direct alpaca_data.json --out FILE",
        ),
        PaperRow(
            "Alpaca only",
            {"superni": "39.8"},
            "direct",
            source="[P3]",
            fitted="Alpaca's alone: lumos dataset unify --direct alpaca_data.json --out FILE",
        ),
    ),
)

TABLES = {
    table.key: table
    for table in (TABLE_1A, TABLE_1B, TABLE_1C, TABLE_1D, TABLE_1E, TABLE_2, TABLE_3, TABLE_7, TABLE_P3)
}
