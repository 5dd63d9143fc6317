"""An endpoint: what answers at `abacus:FAULTS`. This one is a rule, which errs in about FAULTS of a hundred prompts."""

import re
import zlib

import lumos_queue as lq


class Abacus(lq.SimpleEndpoint):
    async def reply(self, prompt, sampling):
        first, second = re.findall(r"\b[IVXLCDM]+\b(?! =)", prompt)[-2:]
        wrong = zlib.crc32(prompt.encode()) % 100 < int(self.url.partition(":")[2])
        return f"AddRoman({first}, {first if wrong else second})"


def check(url):
    if not url.partition(":")[2].isdecimal():
        raise lq.SpecError(f"'{url[:40]}' is expected to be abacus:PERCENT, as in abacus:10.")


ABACUS = lq.EndpointScheme(open=Abacus, check=check)
