"""English words by what they do in a line of a solution (rationales/maths/prose.py, rationales/maths/clauses.py)."""

from __future__ import annotations


def word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: Before which a noun phrase ends: `tarts | on Monday`, `tarts | are`.
PREPOSITIONS = word_set(
    """in on at of per for from to with after before during by as each every a an left total altogether
    already together overall when if that who are is was were he she they it more"""
)
#: With which a phrase can go on after `how much money he paid`.
MONEY_TAIL = word_set("in on at of per for from to with after before during each every a an left total altogether")
VERBS = word_set(
    """sold sells has had have earns earned earn needs needed need made makes make paid pays pay spent spends spend
    bought buys buy got gets get eats ate eat used uses use drove drives drive ran runs run read reads walked walks walk
    saved saves save gave gives give cost costs received receives collected collects drank drinks baked bakes sees saw
    planted plants picked picks owes owed lost loses weighs weighed wrote writes worked works caught catches travels
    travelled traveled brought brings contributed donated donates scored scores won wins found finds produces produced
    drew draws counted keeps kept owns owned took takes charges charged raised"""
)
#: Written with a capital where a sentence begins, and no name.
NO_NAMES = word_set(
    """that this there these those if when after in on at for what which who adding since because total cost costs
    average each with from by to of per all profit then altogether remaining i you"""
)
PRONOUNS = word_set("he she they it we")
DETERMINERS = word_set("the his her their its each")
#: Between a subject and its verb.
AUXILIARIES = word_set(
    """has have had will would can could does did must should be also then now already only still all each needs need
    needed wants want wanted going to able currently therefore thus together both"""
)
#: With which a noun phrase gets a part that may hold verbs of its own.
LINKS = word_set(
    "in on at per for from to with after before during by as that who which when if or a an she he they it"
)
BEING = word_set("is was are were be")
#: `12 years old` says nothing without who is.
MEASURES = word_set(
    """old older younger tall taller high higher long longer wide wider deep deeper away late later early earlier fast
    faster slow slower heavy heavier light lighter short shorter big bigger ago behind ahead thick"""
)
#: After which a word of VERBS is a noun: `the total cost`, `the daily run`.
ADJECTIVES = word_set("total final daily weekly monthly yearly full original average first last extra remaining whole")
#: With which no phrase ends.
INCOMPLETE = word_set(
    """in on at of per for from to with after before during by as a an the his their its my your every that who which
    whose what when where if is was are were be been than or and nor only more most less very will would can could must
    should about he she they we into onto over under out he's she's it's there's not both either between another what's
    do does did has have had gets whether while until this these those such"""
)
#: In a short noun phrase there is none of them.
VERBAL = word_set("is are was were will would can could has have had do does did he she they it who that")
