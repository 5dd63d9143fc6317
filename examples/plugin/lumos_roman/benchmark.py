"""A benchmark: where its tasks come from, and how an answer is judged."""

import random

import lumos_queue as lq
from lumos_roman import numerals


class Roman(lq.Benchmark):
    name = "roman"
    domain = "roman"  # whose actions its tasks need
    licence = "CC0-1.0"
    splits = ("train", "test")
    needs_data = False  # `read` makes the tasks itself: nobody has to give --data
    metrics = ("roman_sum",)  # the main one comes first

    def read(self, path, split, **options):
        """A hundred sums, always the same ones for a split."""
        draw = random.Random(split)
        for row in range(1, 101):
            first, second = draw.randint(1, 40), draw.randint(1, 40)
            question = f"What is {numerals.write(first)} plus {numerals.write(second)}, as a Roman numeral?"
            yield lq.Task(self.name, "", str(row), question, gold={"answer": numerals.write(first + second)})

    def score(self, task, result):
        """One score for each metric. No answer is a wrong one."""
        return [lq.Score("roman_sum", float(result.answer == self.gold_answer(task)))]

    def baselines(self, tasks):
        """What rules without a model get right: one verdict for each task."""
        return {"always XL": [self.gold_answer(task) == "XL" for task in tasks]}


benchmark = Roman()
