"""A formulation: in which order models are asked and actions are run. A generator of commands, without any IO."""

import lumos_queue as lq


@lq.formulation("one-action", roles=("solver",))
def one_action(task, agent):
    """One model writes one action; its result is the answer."""
    reply = yield from lq.Ask("solver", f"Write the action that answers the question.\n{task.question}\nR1 = ")
    execution = yield from lq.Do(lq.read_actions(f"R1 = {reply.text}")[0])
    if not execution.ok:
        return lq.Outcome(None, lq.Ending.ACTION_ERROR, execution.message)
    return lq.Outcome(execution.result, lq.Ending.ANSWERED)
