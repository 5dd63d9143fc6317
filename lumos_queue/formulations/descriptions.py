"""The setting of tool agents that says whether they are shown the descriptions of tools and arguments."""

from __future__ import annotations

from lumos_queue.formulations.base import Setting
from lumos_queue.formulations.settings import read_yes_no
from lumos_queue.prompts.function_list import SHOWN

DESCRIBED = Setting(
    SHOWN, "whether prompts have the descriptions of tools and arguments; no: prompts of earlier versions", read_yes_no
)
