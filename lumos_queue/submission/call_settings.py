"""Check, before a job is stored, that endpoints can call functions as the setting `calls` requires."""

from __future__ import annotations

from collections.abc import Mapping

from lumos_queue.endpoints.registry import check_form, takes_functions
from lumos_queue.errors import SpecError
from lumos_queue.formulations.base import Formulation
from lumos_queue.prompts.tool_agent import CALLS, NATIVE


def check_calls(formulation: Formulation, settings: Mapping[str, str], roles: Mapping[str, str]) -> None:
    """Raises SpecError if `calls` is native and a role's endpoint takes no functions. `roles`: role to address."""
    if settings.get(CALLS) != NATIVE:
        return
    for role in formulation.callers:
        check_form(roles[role])
        if not takes_functions(roles[role]):
            raise SpecError(
                f"--setting {CALLS}={NATIVE} needs an endpoint that takes functions, and the {role} is at "
                f"{roles[role]}: use --role {role}=chat://HOST:PORT?model=NAME, or leave the setting out."
            )
