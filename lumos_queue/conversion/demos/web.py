"""Worked examples of tasks on web pages; the shops and services are invented. Web actions have no results."""

from __future__ import annotations

from lumos_queue.conversion.demos import Demo

_HAT = (
    "Find a red felt hat in size M and put it in the basket.",
    "[searchbox]  What are you looking for? -> TYPE: felt hat; [button]  Search -> CLICK; [combobox]  Colour -> "
    "SELECT: Red; [combobox]  Size -> SELECT: M; [button]  Add to basket -> CLICK",
)
_FERRY = (
    "Show the ferries from Aske to Lunby on 14 June for two people.",
    "[tab]  Ferries -> CLICK; [textbox]  From -> TYPE: Aske; [option]  Aske harbour -> CLICK; [textbox]  To -> TYPE: "
    "Lunby; [option]  Lunby east pier -> CLICK; [button]  14 June -> CLICK; [combobox]  Passengers -> SELECT: 2; "
    "[button]  Show ferries -> CLICK",
)
_NEWSLETTER = (
    "Sign up mira@post.example for the weekly gardening letter.",
    "[link]  Letters -> CLICK; [checkbox]  Gardening, weekly -> CLICK; [textbox]  E-mail -> TYPE: mira@post.example; "
    "[button]  Sign up -> CLICK",
)
_LIBRARY = (
    "Which books by Teodor Brandl can be borrowed in the northern branch? Show the newest first.",
    "[link]  Catalogue -> CLICK; [textbox]  Author -> TYPE: Teodor Brandl; [combobox]  Branch -> SELECT: North; "
    "[checkbox]  Available now -> CLICK; [button]  Find -> CLICK; [combobox]  Sort by -> SELECT: Newest",
)

DEMOS = {
    "high": (
        Demo(
            *_HAT,
            """
Subgoal 1: Search for felt hats.
Action 1-1: R1 = TYPE(Env, QUERY: Type felt hat into the search box, TEXT: felt hat)
Action 1-2: R2 = CLICK(R1, QUERY: Click the search button)

Subgoal 2: Choose the colour red and the size M.
Action 2-1: R3 = SELECT(R2, QUERY: Select red as the colour, TEXT: Red)
Action 2-2: R4 = SELECT(R3, QUERY: Select M as the size, TEXT: M)

Subgoal 3: Put the hat in the basket.
Action 3-1: R5 = CLICK(R4, QUERY: Click the button that adds to the basket)""",
        ),
        Demo(
            *_FERRY,
            """
Subgoal 1: Open the page on ferries.
Action 1-1: R1 = CLICK(Env, QUERY: Click the tab Ferries)

Subgoal 2: Enter Aske as the place of departure.
Action 2-1: R2 = TYPE(R1, QUERY: Type Aske into the field From, TEXT: Aske)
Action 2-2: R3 = CLICK(R2, QUERY: Click the suggestion Aske harbour)

Subgoal 3: Enter Lunby as the destination.
Action 3-1: R4 = TYPE(R3, QUERY: Type Lunby into the field To, TEXT: Lunby)
Action 3-2: R5 = CLICK(R4, QUERY: Click the suggestion Lunby east pier)

Subgoal 4: Choose the day and the number of passengers.
Action 4-1: R6 = CLICK(R5, QUERY: Click 14 June in the calendar)
Action 4-2: R7 = SELECT(R6, QUERY: Select the number of passengers, TEXT: 2)

Subgoal 5: Show the ferries.
Action 5-1: R8 = CLICK(R7, QUERY: Click the button Show ferries)""",
        ),
        Demo(
            *_NEWSLETTER,
            """
Subgoal 1: Open the letters and choose the weekly one on gardening.
Action 1-1: R1 = CLICK(Env, QUERY: Click the link Letters)
Action 1-2: R2 = CLICK(R1, QUERY: Click the box of the weekly gardening letter)

Subgoal 2: Sign up with the address mira@post.example.
Action 2-1: R3 = TYPE(R2, QUERY: Type the address into the field E-mail, TEXT: mira@post.example)
Action 2-2: R4 = CLICK(R3, QUERY: Click the button Sign up)""",
        ),
        Demo(
            *_LIBRARY,
            """
Subgoal 1: Open the catalogue.
Action 1-1: R1 = CLICK(Env, QUERY: Click the link Catalogue)

Subgoal 2: Find books by Teodor Brandl that are available in the northern branch.
Action 2-1: R2 = TYPE(R1, QUERY: Type Teodor Brandl into the field Author, TEXT: Teodor Brandl)
Action 2-2: R3 = SELECT(R2, QUERY: Select the northern branch, TEXT: North)
Action 2-3: R4 = CLICK(R3, QUERY: Click the box Available now)
Action 2-4: R5 = CLICK(R4, QUERY: Click the button Find)

Subgoal 3: Sort the books by their age.
Action 3-1: R6 = SELECT(R5, QUERY: Select the newest first as the order, TEXT: Newest)""",
        ),
    ),
    "low": (
        Demo(
            *_HAT,
            """
Subgoal 1: Type felt hat into the search box.
Action 1-1: R1 = TYPE(Env, QUERY: Type felt hat into the search box, TEXT: felt hat)

Subgoal 2: Click the search button.
Action 2-1: R2 = CLICK(R1, QUERY: Click the search button)

Subgoal 3: Select red as the colour.
Action 3-1: R3 = SELECT(R2, QUERY: Select red as the colour, TEXT: Red)

Subgoal 4: Select M as the size.
Action 4-1: R4 = SELECT(R3, QUERY: Select M as the size, TEXT: M)

Subgoal 5: Click the button that adds to the basket.
Action 5-1: R5 = CLICK(R4, QUERY: Click the button that adds to the basket)""",
        ),
        Demo(
            *_FERRY,
            """
Subgoal 1: Click the tab Ferries.
Action 1-1: R1 = CLICK(Env, QUERY: Click the tab Ferries)

Subgoal 2: Type Aske into the field From.
Action 2-1: R2 = TYPE(R1, QUERY: Type Aske into the field From, TEXT: Aske)

Subgoal 3: Click the suggestion Aske harbour.
Action 3-1: R3 = CLICK(R2, QUERY: Click the suggestion Aske harbour)

Subgoal 4: Type Lunby into the field To.
Action 4-1: R4 = TYPE(R3, QUERY: Type Lunby into the field To, TEXT: Lunby)

Subgoal 5: Click the suggestion Lunby east pier.
Action 5-1: R5 = CLICK(R4, QUERY: Click the suggestion Lunby east pier)

Subgoal 6: Click 14 June in the calendar.
Action 6-1: R6 = CLICK(R5, QUERY: Click 14 June in the calendar)

Subgoal 7: Select two passengers.
Action 7-1: R7 = SELECT(R6, QUERY: Select the number of passengers, TEXT: 2)

Subgoal 8: Click the button that shows the ferries.
Action 8-1: R8 = CLICK(R7, QUERY: Click the button Show ferries)""",
        ),
        Demo(
            *_NEWSLETTER,
            """
Subgoal 1: Click the link to the letters.
Action 1-1: R1 = CLICK(Env, QUERY: Click the link Letters)

Subgoal 2: Click the box of the weekly gardening letter.
Action 2-1: R2 = CLICK(R1, QUERY: Click the box of the weekly gardening letter)

Subgoal 3: Type the address mira@post.example.
Action 3-1: R3 = TYPE(R2, QUERY: Type the address into the field E-mail, TEXT: mira@post.example)

Subgoal 4: Click the button that signs up.
Action 4-1: R4 = CLICK(R3, QUERY: Click the button Sign up)""",
        ),
        Demo(
            *_LIBRARY,
            """
Subgoal 1: Click the link to the catalogue.
Action 1-1: R1 = CLICK(Env, QUERY: Click the link Catalogue)

Subgoal 2: Type Teodor Brandl as the author.
Action 2-1: R2 = TYPE(R1, QUERY: Type Teodor Brandl into the field Author, TEXT: Teodor Brandl)

Subgoal 3: Select the northern branch.
Action 3-1: R3 = SELECT(R2, QUERY: Select the northern branch, TEXT: North)

Subgoal 4: Keep only books that are available now.
Action 4-1: R4 = CLICK(R3, QUERY: Click the box Available now)

Subgoal 5: Click the button that finds the books.
Action 5-1: R5 = CLICK(R4, QUERY: Click the button Find)

Subgoal 6: Select the newest first as the order.
Action 6-1: R6 = SELECT(R5, QUERY: Select the newest first as the order, TEXT: Newest)""",
        ),
    ),
}
