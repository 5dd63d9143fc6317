"""Buying and selling: prices, costs, payments, change, remaining money, savings."""

from __future__ import annotations

from lumos_queue.benchmarks.wordmath import words
from lumos_queue.benchmarks.wordmath.composer.story import Story
from lumos_queue.benchmarks.wordmath.scene import Noun, Person


def buy_things(story: Story) -> None:
    """Begin a story about a person who buys things at a price each, and pays from a purse."""
    s = story.scene
    person = s.person()
    costs: list[tuple[int, Noun]] = []
    for index in range(s.pick(1, 1, 2, 2)):
        costs.append(_purchase(story, person, index))
    whole = costs[0][0]
    if len(costs) == 2:
        (first_cost, x), (second_cost, y) = costs
        whole = story.sum_of("the cost of everything", first_cost, second_cost)
        story.ask(
            whole,
            f"how much did {person} [pay|spend] [altogether|in all|in total]",
            "what was the total cost",
            f"how much money did {person} spend on the {x.many} and the {y.many}",
        )
        story.tell(whole, f"{person} [spent|paid] {s.usd(story.value(whole))} in all", at=3, plain=False)
        _gap(story, person, costs)
        story.use("altogether")
    else:
        story.ask(whole, f"how much did {person} [pay|spend] [altogether|in all]")
    if s.chance(0.6):
        _purse(story, person, whole)


def _purchase(story: Story, person: Person, index: int) -> tuple[int, Noun]:
    s = story.scene
    noun = s.thing("fruit", "snack", "school", "toy", "clothes", "plant", "tool", "kitchen")
    count = story.new(f"the number of {noun.many}", amount := s.n(2, 24))
    unit_price = story.new(f"the price of each {noun.singular}", price := s.price(2, 30))
    cost = story.product_of(f"the cost of the {noun.many}", unit_price, count)
    time, payment = index * 1.0, s.usd(story.value(cost))
    story.tell(
        (count, unit_price), f"{person} bought {noun(amount)} [for|at] {s.usd(price)} each", time, 3, plain=False
    )
    story.tell(count, f"{person} bought {noun(amount)}", time, 2)
    story.tell(
        unit_price,
        f"[one {noun.singular} costs|each {noun.singular} costs|the price of {noun.a} is] {s.usd(price)}",
        time + 0.3,
        2,
    )
    story.tell(cost, f"{person} [paid {payment} for|spent {payment} on] the {noun.many}", time + 0.5, 2)
    story.hint(count, f"{person} bought some {noun.many}", time)
    story.ask(
        cost,
        f"how much did {person} [pay for|spend on] the {noun.many}",
        f"how much did the {noun.many} cost [altogether|in all|in total]",
        f"what is the total cost of the {noun.many}",
    )
    story.ask(count, f"how many {noun.many} did {person} buy")
    story.ask(
        unit_price,
        f"how much does [one|each] {noun.singular} cost",
        f"what is the price of [one {noun.singular}|{noun.a}]",
    )
    story.use("cost of n at a price")
    return cost, noun


def _gap(story: Story, person: Person, costs: list[tuple[int, Noun]]) -> None:
    high, low = costs if story.value(costs[0][0]) > story.value(costs[1][0]) else reversed(costs)
    if story.value(high[0]) == story.value(low[0]):
        return
    gap = story.less("the difference between the costs", high[0], low[0])
    story.ask(
        gap,
        f"how much more did {person} spend on the {high[1].many} than on the {low[1].many}",
        f"how much less did the {low[1].many} cost than the {high[1].many}",
    )
    story.use("difference")


def _purse(story: Story, person: Person, whole: int) -> None:
    s = story.scene
    change = story.new(f"the money {person} had left", s.n(2, 60))
    had = story.sum_of(f"the money {person} had", whole, change)
    amount, rest = s.usd(story.value(had)), s.usd(story.value(change))
    if s.chance(0.4):
        story.tell(had, f"{person} [paid with|gave the cashier|handed over] {amount}", at=4, weight=2, plain=False)
        story.tell(
            change, f"{person} [got {rest} back|got {rest} in change|received {rest} in change]", 5, 2, plain=False
        )
        story.ask(change, f"how much change did {person} get", f"how much money did {person} get back")
        story.ask(had, f"how much money did {person} give the cashier")
    else:
        story.tell(had, f"{person} [had|went to the shop with|took along] {amount}", at=-1, weight=2)
        story.tell(change, f"{person} [has {rest} left|now has {rest}]", at=5, weight=2, plain=False)
        story.hint(had, f"{person} had some money", -1)
        story.ask(change, f"how much money does {person} have [left|now|left]")
        story.ask(had, f"how much money did {person} have [at first|before {person.he} went shopping]")
    story.use("left after")


def prices(story: Story) -> None:
    """Begin a story about two prices, which are compared, added or lowered."""
    s = story.scene
    nouns = s.things(2)
    shop = s.pick(*words.SHOPS)
    values = [s.n(4, 90), s.n(2, 60)]
    unit_prices = []
    for noun, value in zip(nouns, values, strict=True):
        price = story.new(f"the price of {noun.a}", value)
        story.tell(price, f"{noun.a} costs {s.usd(value)}{f' in the {shop}' if s.chance(0.2) else ''}", weight=3)
        story.ask(price, f"how much does {noun.a} cost", f"what is the price of {noun.a}")
        unit_prices.append(price)
    both = story.sum_of("the sum of the prices", *unit_prices)
    x, y = nouns
    story.tell(both, f"{x.a} and {y.a} cost {s.usd(story.value(both))} together", at=1)
    story.ask(both, f"how much do {x.a} and {y.a} cost together", f"what is the total price of {x.a} and {y.a}")
    if values[0] != values[1]:
        (high, a), (low, b) = sorted(zip(unit_prices, nouns, strict=True), key=lambda pair: -story.value(pair[0]))
        difference = story.less("the difference between the prices", high, low)
        gap = s.usd(story.value(difference))
        story.tell(
            difference, f"[{a.a} costs {gap} more than {b.a}|{b.a} is {gap} cheaper than {a.a}]", at=0.5, weight=2
        )
        story.ask(difference, f"how much more does {a.a} cost than {b.a}", f"how much cheaper is {b.a} than {a.a}")
        story.use("difference")
    if s.chance(0.55):
        person, count = s.person(), s.n(2, 15)
        number = story.new(f"the number of {x.many}", count)
        story.tell(number, f"{person} [buys|wants to buy] {x(count)}", at=2, weight=3)
        total = story.product_of(f"the cost of the {x.many}", unit_prices[0], number)
        story.ask(total, f"how much must {person} pay for the {x.many}")
        whole = story.sum_of(f"the cost of the {x.many} and the {y.singular}", total, unit_prices[1])
        story.ask(whole, f"how much must {person} pay for the {x.many} and one {y.singular}")
        story.use("cost of n at a price")
    elif s.chance(0.7):
        off = s.n(2, max(values[0] - 1, 2))
        cut = story.new("the reduction", off)
        new = story.less(f"the new price of {x.a}", unit_prices[0], cut)
        story.tell(cut, f"the price of {x.a} [falls|is lowered] by {s.usd(off)}", at=3, weight=2, plain=False)
        story.tell(new, f"in the sale, {x.a} costs {s.usd(story.value(new))}", at=3, weight=2, plain=False)
        story.asks = {  # 'how much does it cost' has two answers after the reduction
            cut: [f"by how much was the price of {x.a} lowered"],
            new: [f"how much does {x.a} cost [now|in the sale]"],
            unit_prices[0]: [f"how much did {x.a} cost before the sale"],
        }
        story.use("left after")


def sell_things(story: Story) -> None:
    """Begin a story about a sale: number, price, income, cost, profit, and a goal."""
    s = story.scene
    person, noun = s.person(), s.thing("fruit", "snack", "vegetable", "craft", "plant")
    count = story.new(f"the number of {noun.many} sold", number := s.n(2, 60))
    unit_price = story.new(f"the price of each {noun.singular}", price := s.n(2, 20))
    income = story.product_of("the money earned", count, unit_price)
    story.tell((count, unit_price), f"{person} sold {noun(number)} for {s.usd(price)} each", weight=3, plain=False)
    story.tell(count, f"{person} sold {noun(number)}", weight=2)
    story.tell(unit_price, f"{person} sold {noun.many} for {s.usd(price)} each", 0.5, 1.5)
    story.tell(income, f"{person} earned {s.usd(story.value(income))} [with|by selling] {noun.many}", 1, 1.5)
    story.hint(count, f"{person} sold some {noun.many}", 0)
    story.ask(income, f"how much money did {person} [earn|make|get]", f"how much did {person} earn in all")
    story.ask(count, f"how many {noun.many} did {person} sell")
    story.ask(
        unit_price, f"how much did one {noun.singular} cost", f"at what price did {person} sell each {noun.singular}"
    )
    story.use("cost of n at a price")
    earnings = story.value(income)
    if s.chance(0.4):
        goal = story.new("the money wanted", int(earnings) + s.n(2, 90))
        thing = s.noun(s.pick("bicycle", "camera", "guitar", "tent", "telescope", "drum", "skateboard", "radio"))
        story.tell(goal, f"{person} [wants to buy|is saving for] {thing.a} that costs {s.usd(story.value(goal))}", 2, 2)
        need = story.less("the money still needed", goal, income)
        story.ask(need, f"how much more money does {person} need[| for the {thing.singular}]")
        story.use("still needed")
    elif earnings > 3 and s.chance(0.5):
        expense = story.new("the money spent", s.n(2, int(earnings) - 1))
        story.tell(expense, f"{person} paid {s.usd(story.value(expense))} for [the ingredients|the stall|bags]", 2, 2)
        gain = story.less("the profit", income, expense)
        story.ask(gain, f"how much money did {person} have after paying for it", f"how much was {person}'s profit")
        story.use("left after")
    if s.chance(0.45):
        had_value = number + s.n(2, 40)
        had = story.new(f"the number of {noun.many} {person} had", had_value)
        remainder = story.less(f"the number of {noun.many} left", had, count)
        story.tell(had, f"{person} had {noun(had_value)}", at=-1, weight=2)
        story.tell(
            remainder, f"at the end of the day, {noun(int(story.value(remainder)))} were left", at=1.5, plain=False
        )
        story.ask(remainder, f"how many {noun.many} did {person} not sell", f"how many {noun.many} were left")
        story.ask(had, f"how many {noun.many} did {person} have at first")


def saving(story: Story) -> None:
    """Begin a story about regular savings, earnings or expenses over a time."""
    s = story.scene
    people = s.people(s.pick(1, 2))
    verb, base, unit = s.pick(
        ("saves", "save", "week"),
        ("saves", "save", "month"),
        ("earns", "earn", "hour"),
        ("earns", "earn", "day"),
        ("gets", "get", "week"),
        ("spends", "spend", "day"),
        ("spends", "spend", "week"),
    )
    time = s.noun(unit)
    totals = []
    for person in people:
        rate_value, count_value = s.n(2, 40), s.n(2, 30)
        rate = story.new(f"the money {person} {verb} each {unit}", rate_value)
        count = story.new(f"the number of {time.many} of {person}", count_value)
        total = story.product_of(f"the money {person} {verb} altogether", rate, count)
        article = "an" if unit == "hour" else "a"
        regular = f"{person} {verb} {s.usd(rate_value)} [{article}|each|every] {unit}"
        story.tell((rate, count), f"{regular} for {time(count_value)}", weight=3, plain=False)
        story.tell(rate, regular, weight=2)
        story.tell(
            total, f"{person} {verb} {s.usd(story.value(total))} [in all|altogether]", at=0.5, weight=1, plain=False
        )
        story.ask(total, f"how much money does {person} {base} [altogether|in all|in total]")
        story.ask(count, f"for how many {time.many} does {person} {base} money")
        story.ask(rate, f"how much does {person} {base} each {unit}")
        totals.append((total, person))
    story.use("rate per")
    if len(totals) == 2:
        (first_total, p), (second_total, q) = totals
        both = story.sum_of("the money of both", first_total, second_total)
        story.ask(both, f"how much money do {p} and {q} {base} [altogether|in all]")
        if story.value(first_total) != story.value(second_total):
            high, low = sorted(totals, key=lambda item: -story.value(item[0]))
            gap = story.less("the difference", high[0], low[0])
            story.ask(gap, f"how much more does {high[1]} {base} than {low[1]} [in all|altogether]")
            story.use("difference")
    else:
        first_total, p = totals[0]
        start = story.new(f"the money {p} had before", s.n(2, 90))
        story.tell(start, f"{p} [already has|has] {s.usd(story.value(start))} [in a jar|in a money box|at home]", -1, 2)
        if base in ("save", "get", "earn"):
            whole = story.sum_of(f"the money {p} has then", start, first_total)
            story.ask(whole, f"how much money does {p} have then [altogether|in all]")
        story.use("irrelevant number")
