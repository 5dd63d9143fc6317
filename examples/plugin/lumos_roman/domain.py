"""A domain of actions: each method is an action that a model can write, such as `R1 = AddRoman(XIV, IX)`."""

import lumos_queue as lq
from lumos_roman import numerals


class RomanSession(lq.ActionSession):
    @lq.action("AddRoman(numeral, numeral)")
    async def AddRoman(self, text, context):
        """Add Roman numerals."""
        words = [word.strip() for word in text.split(",")]
        # A variable that an earlier action has set stands for its text.
        words = [context.variables[word]["text"] if word in context.variables else word for word in words]
        try:
            return {"kind": "text", "text": numerals.write(sum(map(numerals.read, words)))}
        except ValueError as problem:  # the model is told, and the episode goes on
            raise lq.ActionError("not_a_numeral", str(problem)) from None


DOMAIN = lq.Domain(name="roman", session="lumos_roman.domain:RomanSession", action_names=("AddRoman",))
