"""The domains by name."""

from __future__ import annotations

from lumos_queue.domains.base import Domain
from lumos_queue.util.registry import Registry

DOMAINS: Registry[Domain] = Registry(
    "domain",
    {
        "maths": "lumos_queue.domains.maths:DOMAIN",
        "complex_qa": "lumos_queue.domains.complex_qa:DOMAIN",
        "web_agent": "lumos_queue.domains.web_agent:DOMAIN",
        "multimodal": "lumos_queue.domains.multimodal:DOMAIN",
        "webshop": "lumos_queue.domains.webshop:DOMAIN",
        "intercode_sql": "lumos_queue.domains.intercode_sql:DOMAIN",
        "tools": "lumos_queue.domains.tools:DOMAIN",
        "experts": "lumos_queue.domains.experts:DOMAIN",
        "local_tools": "lumos_queue.domains.local_tools:DOMAIN",
    },
    "domains",
    Domain,
)
