"""The tables of OpenAGI (arXiv:2304.04370), with all figures as printed, from 0 to 1 (spec/openagi.md 12)."""

from __future__ import annotations

import re
from dataclasses import dataclass

#: Column to the metric of `openagi`. The last column is their unweighted mean.
METRICS = {"CLIP": "clip_score", "BERT": "bert_score", "ViT": "vit_score"}
OVERALL = "overall"
FINE_TUNED, RLTF = "fine-tuned", "RLTF"
TUNED = (FINE_TUNED, RLTF)  #: planners with their own weights, which were not released


@dataclass(frozen=True, slots=True)
class PlannerRow:
    """A planner with a prompt schema, and its figures. `printed`: those of CLIP, BERT, ViT and overall."""

    model: str
    schema: str  #: of the formulation model-synthesis, or one of TUNED
    printed: str

    @property
    def name(self) -> str:
        return f"{self.model}, {self.schema}"

    @property
    def slug(self) -> str:
        """The row's name on the command line."""
        return re.sub(r"[^A-Za-z0-9.]+", "-", self.name)

    @property
    def figures(self) -> dict[str, str]:
        return dict(zip((*METRICS, OVERALL), self.printed.split(), strict=True))


@dataclass(frozen=True, slots=True)
class PlannerTable:
    """A published table of planners."""

    key: str
    title: str
    rows: tuple[PlannerRow, ...]


GPT_35, CLAUDE, GPT_4 = "GPT-3.5-turbo", "Claude-2", "GPT-4"
FLAN_T5, VICUNA, LLAMA = "Flan-T5-Large", "Vicuna-7B", "LLaMA-2-13B"

PLANNER_TABLES = {
    table.key: table
    for table in (
        PlannerTable(
            "openagi-1",
            "OpenAGI, closed planners",
            (
                PlannerRow(GPT_35, "zero-shot", "0.0 0.1914 0.2437 0.1450"),
                PlannerRow(GPT_35, "few-shot", "0.0 0.3820 0.7497 0.3772"),
                PlannerRow(CLAUDE, "zero-shot", "0.0 0.2111 0.4082 0.2064"),
                PlannerRow(CLAUDE, "few-shot", "0.2543 0.5038 0.5416 0.4332"),
                PlannerRow(GPT_4, "zero-shot", "0.0 0.2076 0.5058 0.2378"),
                PlannerRow(GPT_4, "few-shot", "0.3055 0.6307 0.6480 0.5281"),
            ),
        ),
        PlannerTable(
            "openagi-2",
            "OpenAGI, open planners",
            (
                PlannerRow(FLAN_T5, "zero-shot", "0.0 0.0 0.0 0.0"),
                PlannerRow(FLAN_T5, "few-shot", "0.0 0.2488 0.0 0.0829"),
                PlannerRow(FLAN_T5, FINE_TUNED, "0.0 0.0 0.6316 0.2105"),
                PlannerRow(FLAN_T5, RLTF, "0.0 0.0655 0.6978 0.2544"),
                PlannerRow(VICUNA, "zero-shot", "0.0 0.0513 0.1704 0.0739"),
                PlannerRow(VICUNA, "few-shot", "0.0 0.0 0.4285 0.1428"),
                PlannerRow(VICUNA, FINE_TUNED, "0.0 0.1212 0.5507 0.2239"),
                PlannerRow(VICUNA, RLTF, "0.0 0.1756 0.7300 0.3018"),
                PlannerRow(LLAMA, "zero-shot", "0.0 0.0986 0.3614 0.1533"),
                PlannerRow(LLAMA, "few-shot", "0.0612 0.2281 0.2558 0.1817"),
                PlannerRow(LLAMA, FINE_TUNED, "0.0608 0.1570 0.6723 0.2967"),
                PlannerRow(LLAMA, RLTF, "0.1220 0.2401 0.7584 0.3735"),
            ),
        ),
        PlannerTable(
            "openagi-3",
            "OpenAGI, closed planners with the models in the prompt",
            (
                PlannerRow(GPT_35, "prompt-1", "0.0 0.2106 0.0 0.0702"),
                PlannerRow(GPT_35, "prompt-2", "0.0 0.3013 0.2710 0.1907"),
                PlannerRow(CLAUDE, "prompt-1", "0.0 0.4088 0.6816 0.3635"),
                PlannerRow(CLAUDE, "prompt-2", "0.0 0.2333 0.7957 0.3430"),
                PlannerRow(GPT_4, "prompt-1", "0.0 0.4402 0.5497 0.3299"),
                PlannerRow(GPT_4, "prompt-2", "0.0 0.5595 0.5565 0.3717"),
            ),
        ),
        PlannerTable(
            "openagi-4",
            "OpenAGI, open planners with the models in the prompt",
            (
                PlannerRow(FLAN_T5, "prompt-1", "0.0 0.0 0.0 0.0"),
                PlannerRow(FLAN_T5, "prompt-2", "0.0 0.0 0.0 0.0"),
                PlannerRow(VICUNA, "prompt-1", "0.0 0.0603 0.0 0.0201"),
                PlannerRow(VICUNA, "prompt-2", "0.0 0.0267 0.2385 0.0884"),
                PlannerRow(LLAMA, "prompt-1", "0.0 0.0971 0.0 0.0323"),
                PlannerRow(LLAMA, "prompt-2", "0.0 0.1717 0.0 0.0572"),
            ),
        ),
    )
}
