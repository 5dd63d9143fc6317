"""Sets of English words by their role in a line of a solution, for the rules of prose.py, clauses.py and blanks.py."""

from __future__ import annotations

from lumos_queue.rationales.word_set import word_set

#: A noun phrase ends before these: `tarts | on Monday`, `tarts | are`.
PREPOSITIONS = word_set(
    """in on at of per for from to with after before during by as each every a an left total altogether
    already together overall when if that who are is was were he she they it more"""
)
#: They can follow `how much money he paid`.
MONEY_TAIL = word_set("in on at of per for from to with after before during each every a an left total altogether")
VERBS = word_set(
    """sold sells has had have earns earned earn needs needed need made makes make paid pays pay spent spends spend
    bought buys buy got gets get eats ate eat used uses use drove drives drive ran runs run read reads walked walks walk
    saved saves save gave gives give cost costs received receives collected collects drank drinks baked bakes sees saw
    planted plants picked picks owes owed lost loses weighs weighed wrote writes worked works caught catches travels
    travelled traveled brought brings contributed donated donates scored scores won wins found finds produces produced
    drew draws counted keeps kept owns owned took takes charges charged raised"""
)
#: Capitalised at the beginning of a sentence, but not names.
NO_NAMES = word_set(
    """that this there these those if when after in on at for what which who adding since because total cost costs
    average each with from by to of per all profit then altogether remaining i you"""
)
PRONOUNS = word_set("he she they it we")
DETERMINERS = word_set("the his her their its each")
#: They can come between a subject and its verb.
AUXILIARIES = word_set(
    """has have had will would can could does did must should be also then now already only still all each needs need
    needed wants want wanted going to able currently therefore thus together both"""
)
#: They begin a part of a noun phrase that may contain verbs.
LINKS = word_set(
    "in on at per for from to with after before during by as that who which when if or a an she he they it"
)
BEING = word_set("is was are were be")
#: `12 years old` makes no sense without a person.
MEASURES = word_set(
    """old older younger tall taller high higher long longer wide wider deep deeper away late later early earlier fast
    faster slow slower heavy heavier light lighter short shorter big bigger ago behind ahead thick"""
)
#: After these a word of VERBS is a noun: `the total cost`, `the daily run`.
ADJECTIVES = word_set("total final daily weekly monthly yearly full original average first last extra remaining whole")
#: No phrase ends with these.
INCOMPLETE = word_set(
    """in on at of per for from to with after before during by as a an the his their its my your every that who which
    whose what when where if is was are were be been than or and nor only more most less very will would can could must
    should about he she they we into onto over under out he's she's it's there's not both either between another what's
    do does did has have had gets whether while until this these those such"""
)
#: They do not occur in a short noun phrase.
VERBAL = word_set("is are was were will would can could has have had do does did he she they it who that")
