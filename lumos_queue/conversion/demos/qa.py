"""Worked examples of questions about several pages: comparing numbers, a bridge, yes or no, two pages at once.

Places, people and pages are invented.
"""

from __future__ import annotations

from lumos_queue.conversion.demos import Demo

_TOWERS = (
    "Is the Ostrand lighthouse taller than the bell tower of Velm?",
    "We find relevant facts: The Ostrand lighthouse is 61 metres tall. The bell tower of Velm rises to 48 metres. We "
    "need to answer these questions: 1. How tall is the Ostrand lighthouse? (Can be answered based on paragraph "
    "'Ostrand lighthouse-2') 2. How tall is the bell tower of Velm? (Can be answered based on paragraph 'Velm-5') "
    "3. Is #1 greater than #2? Based on these evidences and decomposed questions, the answer is True.",
)
_PAINTER = (
    "In which river town was the teacher of the painter of 'The Salt Carriers' born?",
    "We find relevant facts:  'The Salt Carriers' was painted by Irma Dahlquist in 1904. Irma Dahlquist learned to "
    "paint from Teodor Brandl. Teodor Brandl was born in Karsov on the river Lend. We need to answer these questions: "
    "1. Who painted 'The Salt Carriers'? (Can be answered based on paragraph 'The Salt Carriers') 2. Who taught #1? "
    "(Can be answered based on paragraph 'Irma Dahlquist') 3. Where was #2 born? (Can be answered based on paragraph "
    "'Teodor Brandl') Based on these evidences and decomposed questions, the answer is Karsov.",
)
_MOTH = (
    "Could a grey fen moth live through the winter of the Harrow plateau?",
    "We find relevant facts: Grey fen moths die below minus 12 degrees. Winters on the Harrow plateau reach minus 30 "
    "degrees. We need to answer these questions: 1. Below which temperature do grey fen moths die? (Can be answered "
    "based on paragraph 'Grey fen moth-4') 2. How cold do winters on the Harrow plateau get? (Can be answered based "
    "on paragraph 'Harrow plateau-1', 'Harrow plateau-3') 3. Is #2 above #1? Based on these evidences and decomposed "
    "questions, the answer is False.",
)
_BANDS = (
    "Which band has more members, Copper Tide or Redcap?",
    "We find relevant facts: Copper Tide is a quartet from Lunby. Redcap are six musicians from Aske. We "
    "need to answer these questions: 1. How many members do Copper Tide and Redcap have? (Can be answered "
    "based on paragraph 'Copper Tide-1', 'Redcap-1') 2. Which band of #1 has more? Based on these evidences "
    "and decomposed questions, the answer is Redcap.",
)

DEMOS = {
    "high": (
        Demo(
            *_TOWERS,
            """
Subgoal 1: Find out how tall the Ostrand lighthouse is.
Action 1-1: R1 = KnowledgeQuery(Ostrand lighthouse) = WikipediaPage(Ostrand lighthouse)
Action 1-2: R2 = ParagraphRetrieve(R1, Query: How tall is the Ostrand lighthouse?) = Paragraph(Ostrand lighthouse-2)
Action 1-3: R3 = QA([R2], Question: How tall is the Ostrand lighthouse?) = 61 metres

Subgoal 2: Find out how tall the bell tower of Velm is.
Action 2-1: R4 = KnowledgeQuery(Velm) = WikipediaPage(Velm)
Action 2-2: R5 = ParagraphRetrieve(R4, Query: How tall is the bell tower of Velm?) = Paragraph(Velm-5)
Action 2-3: R6 = QA([R5], Question: How tall is the bell tower of Velm?) = 48 metres

Subgoal 3: Compare the two heights.
Action 3-1: R7 = Calculator(R3 > R6) = True""",
        ),
        Demo(
            *_PAINTER,
            """
Subgoal 1: Find out who painted 'The Salt Carriers'.
Action 1-1: R1 = KnowledgeQuery(The Salt Carriers) = WikipediaPage(The Salt Carriers)
Action 1-2: R2 = ParagraphRetrieve(R1, Query: Who painted 'The Salt Carriers'?) = Paragraph(The Salt Carriers)
Action 1-3: R3 = QA([R2], Question: Who painted 'The Salt Carriers'?) = Irma Dahlquist

Subgoal 2: Find out who taught the result of Subgoal 1.
Action 2-1: R4 = KnowledgeQuery(R3) = WikipediaPage(Irma Dahlquist)
Action 2-2: R5 = ParagraphRetrieve(R4, Query: Who taught R3?) = Paragraph(Irma Dahlquist)
Action 2-3: R6 = QA([R5, R3], Question: Who taught R3?) = Teodor Brandl

Subgoal 3: Find out where the result of Subgoal 2 was born.
Action 3-1: R7 = KnowledgeQuery(R6) = WikipediaPage(Teodor Brandl)
Action 3-2: R8 = ParagraphRetrieve(R7, Query: Where was R6 born?) = Paragraph(Teodor Brandl)
Action 3-3: R9 = QA([R8, R6], Question: Where was R6 born?) = Karsov""",
        ),
        Demo(
            *_MOTH,
            """
Subgoal 1: Find out below which temperature grey fen moths die.
Action 1-1: R1 = KnowledgeQuery(Grey fen moth) = WikipediaPage(Grey fen moth)
Action 1-2: R2 = ParagraphRetrieve(R1, Query: When is it too cold?) = Paragraph(Grey fen moth-4)
Action 1-3: R3 = QA([R2], Question: Below which temperature do grey fen moths die?) = minus 12 degrees

Subgoal 2: Find out how cold the winters on the Harrow plateau get.
Action 2-1: R4 = KnowledgeQuery(Harrow plateau) = WikipediaPage(Harrow plateau)
Action 2-2: R5 = ParagraphRetrieve(R4, Query: How cold are winters?) = Paragraph(Harrow plateau-3)
Action 2-3: R6 = QA([R5], Question: How cold do the winters get?) = minus 30 degrees

Subgoal 3: Judge from both results whether the moth could live through the winter.
Action 3-1: R7 = QA([R3, R6], Question: Is R6 above R3?) = No""",
        ),
        Demo(
            *_BANDS,
            """
Subgoal 1: Find out how many members Copper Tide and Redcap have.
Action 1-1: R1 = KnowledgeQuery(Copper Tide, Redcap) = WikipediaPage(Copper Tide), WikipediaPage(Redcap)
Action 1-2: R2 = ParagraphRetrieve(R1, Query: How many members?) = Paragraph(Copper Tide-1), Paragraph(Redcap-1)
Action 1-3: R3 = QA([R2], Question: How many members does Copper Tide have?) = quartet
Action 1-4: R4 = QA([R2], Question: How many members do Redcap have?) = six musicians

Subgoal 2: Decide which of the two bands has more members.
Action 2-1: R5 = QA([R3, R4], Question: Which of the two bands has more members?) = Redcap""",
        ),
    ),
    "low": (
        Demo(
            *_TOWERS,
            """
Subgoal 1: Look up the Ostrand lighthouse.
Action 1-1: R1 = KnowledgeQuery(Ostrand lighthouse) = WikipediaPage(Ostrand lighthouse)

Subgoal 2: Retrieve what the page says about the height of the lighthouse.
Action 2-1: R2 = ParagraphRetrieve(R1, Query: How tall is the Ostrand lighthouse?) = Paragraph(Ostrand lighthouse-2)

Subgoal 3: Read off how tall the lighthouse is.
Action 3-1: R3 = QA([R2], Question: How tall is the Ostrand lighthouse?) = 61 metres

Subgoal 4: Look up Velm.
Action 4-1: R4 = KnowledgeQuery(Velm) = WikipediaPage(Velm)

Subgoal 5: Retrieve what the page says about the height of the bell tower.
Action 5-1: R5 = ParagraphRetrieve(R4, Query: How tall is the bell tower of Velm?) = Paragraph(Velm-5)

Subgoal 6: Read off how tall the bell tower is.
Action 6-1: R6 = QA([R5], Question: How tall is the bell tower of Velm?) = 48 metres

Subgoal 7: Compare the two heights.
Action 7-1: R7 = Calculator(R3 > R6) = True""",
        ),
        Demo(
            *_PAINTER,
            """
Subgoal 1: Look up 'The Salt Carriers'.
Action 1-1: R1 = KnowledgeQuery(The Salt Carriers) = WikipediaPage(The Salt Carriers)

Subgoal 2: Retrieve what the page says about the painter.
Action 2-1: R2 = ParagraphRetrieve(R1, Query: Who painted 'The Salt Carriers'?) = Paragraph(The Salt Carriers)

Subgoal 3: Read off who the painter is.
Action 3-1: R3 = QA([R2], Question: Who painted 'The Salt Carriers'?) = Irma Dahlquist

Subgoal 4: Look up the result of Subgoal 3.
Action 4-1: R4 = KnowledgeQuery(R3) = WikipediaPage(Irma Dahlquist)

Subgoal 5: Retrieve what the page says about a teacher.
Action 5-1: R5 = ParagraphRetrieve(R4, Query: Who taught R3?) = Paragraph(Irma Dahlquist)

Subgoal 6: Read off who the teacher is.
Action 6-1: R6 = QA([R5, R3], Question: Who taught R3?) = Teodor Brandl

Subgoal 7: Look up the result of Subgoal 6.
Action 7-1: R7 = KnowledgeQuery(R6) = WikipediaPage(Teodor Brandl)

Subgoal 8: Retrieve what the page says about the birth.
Action 8-1: R8 = ParagraphRetrieve(R7, Query: Where was R6 born?) = Paragraph(Teodor Brandl)

Subgoal 9: Read off the town of the birth.
Action 9-1: R9 = QA([R8, R6], Question: Where was R6 born?) = Karsov""",
        ),
        Demo(
            *_MOTH,
            """
Subgoal 1: Look up the grey fen moth.
Action 1-1: R1 = KnowledgeQuery(Grey fen moth) = WikipediaPage(Grey fen moth)

Subgoal 2: Retrieve what the page says about the cold.
Action 2-1: R2 = ParagraphRetrieve(R1, Query: When is it too cold?) = Paragraph(Grey fen moth-4)

Subgoal 3: Read off below which temperature the moths die.
Action 3-1: R3 = QA([R2], Question: Below which temperature do grey fen moths die?) = minus 12 degrees

Subgoal 4: Look up the Harrow plateau.
Action 4-1: R4 = KnowledgeQuery(Harrow plateau) = WikipediaPage(Harrow plateau)

Subgoal 5: Retrieve what the page says about winters.
Action 5-1: R5 = ParagraphRetrieve(R4, Query: How cold are winters?) = Paragraph(Harrow plateau-3)

Subgoal 6: Read off how cold the winters get.
Action 6-1: R6 = QA([R5], Question: How cold do the winters get?) = minus 30 degrees

Subgoal 7: Judge from the results of Subgoal 3 and Subgoal 6 whether the moth could live through the winter.
Action 7-1: R7 = QA([R3, R6], Question: Is R6 above R3?) = No""",
        ),
        Demo(
            *_BANDS,
            """
Subgoal 1: Look up Copper Tide and Redcap.
Action 1-1: R1 = KnowledgeQuery(Copper Tide, Redcap) = WikipediaPage(Copper Tide), WikipediaPage(Redcap)

Subgoal 2: Retrieve what the pages say about members.
Action 2-1: R2 = ParagraphRetrieve(R1, Query: How many members?) = Paragraph(Copper Tide-1), Paragraph(Redcap-1)

Subgoal 3: Read off how many members Copper Tide has.
Action 3-1: R3 = QA([R2], Question: How many members does Copper Tide have?) = quartet

Subgoal 4: Read off how many members Redcap have.
Action 4-1: R4 = QA([R2], Question: How many members do Redcap have?) = six musicians

Subgoal 5: Decide which of the two bands has more members.
Action 5-1: R5 = QA([R3, R4], Question: Which of the two bands has more members?) = Redcap""",
        ),
    ),
}
