"""Worked examples of questions to a database: tables, columns, conditions, and the query. Databases are invented."""

from __future__ import annotations

from lumos_queue.conversion.demos import Demo

_BEES = (
    "Which keepers have hives that gave more than 20 kilograms of honey? List the names without repetition.",
    "The database has these tables: Table keeper has id (type: NUMBER), name (type: TEXT); Table hive has id (type: "
    "NUMBER), keeper_id (type: NUMBER), honey_kg (type: NUMBER). The SQL query is: SELECT DISTINCT name FROM keeper "
    "JOIN hive ON keeper.id = hive.keeper_id WHERE honey_kg > 20",
)
_TRAMS = (
    "How many trams does each depot have, with the largest depot first?",
    "The database has these tables: Table depot has id (type: NUMBER), town (type: TEXT); Table tram has id (type: "
    "NUMBER), depot_id (type: NUMBER), built (type: NUMBER). The SQL query is: SELECT depot_id, count(*) FROM tram "
    "GROUP BY depot_id ORDER BY count(*) DESC",
)
_SEEDS = (
    "What is the average price of the seeds that are sown in March?",
    "The database has these tables: Table seed has name (type: TEXT), price (type: NUMBER), sown_in (type: TEXT). The "
    "SQL query is: SELECT avg(price) FROM seed WHERE sown_in = 'March'",
)
_CHOIRS = (
    "Which choirs have never given a concert?",
    "The database has these tables: Table choir has id (type: NUMBER), name (type: TEXT); Table concert has choir_id "
    "(type: NUMBER), hall (type: TEXT). The SQL query is: SELECT name FROM choir WHERE id NOT IN (SELECT choir_id FROM "
    "concert)",
)

DEMOS = {
    "high": (
        Demo(
            *_BEES,
            """
Subgoal 1: Find the tables of the database and their columns.
Action 1-1: R1 = (SHOW TABLES)

Subgoal 2: Write the selection of the different names of keepers with their hives, and the condition on the honey.
Action 2-1: R2 = (DISTINCT name FROM keeper JOIN hive ON keeper.id = hive.keeper_id)
Action 2-2: R3 = (WHERE honey_kg > 20)

Subgoal 3: Finish the SQL query.
Action 3-1: R4 = (SELECT DISTINCT name FROM keeper JOIN hive ON keeper.id = hive.keeper_id WHERE honey_kg > 20)""",
        ),
        Demo(
            *_TRAMS,
            """
Subgoal 1: Find the tables of the database and their columns.
Action 1-1: R1 = (SHOW TABLES)

Subgoal 2: Write the selection of depots with their number of trams, the grouping by depot and the order by number.
Action 2-1: R2 = (depot_id, count(*) FROM tram)
Action 2-2: R3 = (GROUP BY depot_id ORDER BY count(*) DESC)

Subgoal 3: Finish the SQL query.
Action 3-1: R4 = (SELECT depot_id, count(*) FROM tram GROUP BY depot_id ORDER BY count(*) DESC)""",
        ),
        Demo(
            *_SEEDS,
            """
Subgoal 1: Find the tables of the database and their columns.
Action 1-1: R1 = (SHOW TABLES)

Subgoal 2: Write the selection of the average price of seeds and the condition on the month.
Action 2-1: R2 = (avg(price) FROM seed)
Action 2-2: R3 = (WHERE sown_in = 'March')

Subgoal 3: Finish the SQL query.
Action 3-1: R4 = (SELECT avg(price) FROM seed WHERE sown_in = 'March')""",
        ),
        Demo(
            *_CHOIRS,
            """
Subgoal 1: Find the tables of the database and their columns.
Action 1-1: R1 = (SHOW TABLES)

Subgoal 2: Write the selection of names of choirs and the condition that leaves out those with a concert.
Action 2-1: R2 = (name FROM choir)
Action 2-2: R3 = (WHERE id NOT IN (SELECT choir_id FROM concert))

Subgoal 3: Finish the SQL query.
Action 3-1: R4 = (SELECT name FROM choir WHERE id NOT IN (SELECT choir_id FROM concert))""",
        ),
    ),
    "low": (
        Demo(
            *_BEES,
            """
Subgoal 1: Find the tables of the database and their columns.
Action 1-1: R1 = (SHOW TABLES)

Subgoal 2: Write the selection of the different names of keepers with their hives.
Action 2-1: R2 = (DISTINCT name FROM keeper JOIN hive ON keeper.id = hive.keeper_id)

Subgoal 3: Write the condition on the honey.
Action 3-1: R3 = (WHERE honey_kg > 20)

Subgoal 4: Finish the SQL query.
Action 4-1: R4 = (SELECT DISTINCT name FROM keeper JOIN hive ON keeper.id = hive.keeper_id WHERE honey_kg > 20)""",
        ),
        Demo(
            *_TRAMS,
            """
Subgoal 1: Find the tables of the database and their columns.
Action 1-1: R1 = (SHOW TABLES)

Subgoal 2: Write the selection of each depot with its number of trams.
Action 2-1: R2 = (depot_id, count(*) FROM tram)

Subgoal 3: Write the grouping by depot and the order by the number of trams.
Action 3-1: R3 = (GROUP BY depot_id ORDER BY count(*) DESC)

Subgoal 4: Finish the SQL query.
Action 4-1: R4 = (SELECT depot_id, count(*) FROM tram GROUP BY depot_id ORDER BY count(*) DESC)""",
        ),
        Demo(
            *_SEEDS,
            """
Subgoal 1: Find the tables of the database and their columns.
Action 1-1: R1 = (SHOW TABLES)

Subgoal 2: Write the selection of the average price of seeds.
Action 2-1: R2 = (avg(price) FROM seed)

Subgoal 3: Write the condition on the month.
Action 3-1: R3 = (WHERE sown_in = 'March')

Subgoal 4: Finish the SQL query.
Action 4-1: R4 = (SELECT avg(price) FROM seed WHERE sown_in = 'March')""",
        ),
        Demo(
            *_CHOIRS,
            """
Subgoal 1: Find the tables of the database and their columns.
Action 1-1: R1 = (SHOW TABLES)

Subgoal 2: Write the selection of names of choirs.
Action 2-1: R2 = (name FROM choir)

Subgoal 3: Write the condition that leaves out choirs with a concert.
Action 3-1: R3 = (WHERE id NOT IN (SELECT choir_id FROM concert))

Subgoal 4: Finish the SQL query.
Action 4-1: R4 = (SELECT name FROM choir WHERE id NOT IN (SELECT choir_id FROM concert))""",
        ),
    ),
}
