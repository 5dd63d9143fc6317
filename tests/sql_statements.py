"""Statements with the rows that MySQL gives: tests run them on a copy, and on a real server."""

from __future__ import annotations

MADE = (
    "CREATE TABLE part (id INT PRIMARY KEY, code TEXT, amount DOUBLE, made DATE)",
    "INSERT INTO part VALUES (1, '12abc', 12, '2020-01-02'), (2, '12', 0, '2020-03-04'), (3, '9', 9.5, NULL), "
    "(4, 'abc', 12, '2019-05-31'), (5, NULL, NULL, NULL)",
    "CREATE TABLE stock (id INT PRIMARY KEY, part VARCHAR(20), shelf INT)",
    "INSERT INTO stock VALUES (1, '1st', 10), (2, '3', 9), (3, 'x', 12)",
)

COMPARED = (
    ("SELECT '12abc' = 12, 'abc' = 0, '9' < 10, '1e1' = 10, ' 7' = 7, 2 = '2.0', 'a' <> 0", [[1, 1, 1, 1, 1, 1, 0]]),
    ("SELECT id FROM part WHERE code = 12 ORDER BY id", [[1], [2]]),
    ("SELECT id FROM part WHERE code < 10 ORDER BY id", [[3], [4]]),
    ("SELECT id FROM part WHERE 10 >= code ORDER BY id", [[3], [4]]),
    ("SELECT id FROM part AS p WHERE p.code = p.amount ORDER BY id", [[1]]),
    ("SELECT id FROM part WHERE NOT code = amount ORDER BY id", [[2], [3], [4]]),
    ("SELECT id FROM part WHERE code <=> 12 ORDER BY id", [[1], [2]]),
    ("SELECT id FROM part WHERE amount = '12 pieces' ORDER BY id", [[1], [4]]),
    ("SELECT id FROM part WHERE amount > '9.5' ORDER BY id", [[1], [4]]),
    ("SELECT p.id, s.id FROM part AS p JOIN stock AS s ON s.part = p.id ORDER BY p.id", [[1, 1], [3, 2]]),
    ("SELECT p.id, s.id FROM part AS p JOIN stock AS s ON p.code = s.shelf ORDER BY p.id", [[1, 3], [2, 3], [3, 2]]),
    ("SELECT id FROM part WHERE code IN (9, 12) ORDER BY id", [[1], [2], [3]]),
    ("SELECT id FROM part WHERE code NOT IN (9, 12) ORDER BY id", [[4]]),
    ("SELECT id FROM part WHERE id IN ('1', '3x') ORDER BY id", [[1], [3]]),
    ("SELECT id FROM part WHERE id IN (SELECT part FROM stock) ORDER BY id", [[1], [3]]),
    ("SELECT id FROM part WHERE code IN (SELECT shelf FROM stock) ORDER BY id", [[1], [2], [3]]),
    ("SELECT id FROM part WHERE code BETWEEN 5 AND 12 ORDER BY id", [[1], [2], [3]]),
    ("SELECT id FROM part WHERE amount BETWEEN '5' AND '10 pieces' ORDER BY id", [[3]]),
    ("SELECT id FROM part WHERE code = (SELECT max(shelf) FROM stock) ORDER BY id", [[1], [2]]),
    ("SELECT id FROM part WHERE code > (SELECT count(*) FROM stock) ORDER BY id", [[1], [2], [3]]),
    ("SELECT id FROM part AS p WHERE EXISTS (SELECT 1 FROM stock WHERE shelf = p.code) ORDER BY id", [[1], [2], [3]]),
    ("SELECT id FROM part AS p WHERE EXISTS (SELECT 1 FROM stock WHERE shelf = code) ORDER BY id", [[1], [2], [3]]),
    ("SELECT code FROM part GROUP BY code HAVING count(*) = '1' AND code = 9", [["9"]]),
    (
        "SELECT code, count(*) AS n FROM part GROUP BY code HAVING n = '1' AND code > 10 ORDER BY code",
        [["12", 1], ["12abc", 1]],
    ),
    ("SELECT id FROM part WHERE id = (SELECT code FROM part WHERE code = 9 AND amount > '9.1') - 8", [[1]]),
    ("SELECT id FROM part WHERE amount = (SELECT code FROM part WHERE id = '1st') ORDER BY id", [[1], [4]]),
    ("SELECT x FROM (SELECT code AS x, id FROM part) AS t WHERE x = 12 ORDER BY id", [["12abc"], ["12"]]),
    ("SELECT x.id FROM (SELECT * FROM part) AS x WHERE x.code < 10 ORDER BY x.id", [[3], [4]]),
    ("WITH t AS (SELECT concat(id, 'th') AS x FROM part) SELECT x FROM t WHERE x = 3", [["3th"]]),
    ("SELECT id FROM part WHERE upper(code) = 12 ORDER BY id", [[1], [2]]),
    ("SELECT id FROM part WHERE length(code) = '1' ORDER BY id", [[3]]),
    ("SELECT id FROM part WHERE coalesce(code, '12') = 12 ORDER BY id", [[1], [2], [5]]),
    ("SELECT id FROM part WHERE CASE WHEN id > 2 THEN code ELSE 'x' END = 9", [[3]]),
    (
        "SELECT CASE WHEN code = 12 THEN 'twelve' ELSE 'other' END FROM part ORDER BY id",
        [["twelve"], ["twelve"], ["other"], ["other"], ["other"]],
    ),
    ("SELECT id FROM part WHERE id + 1 = '3rd'", [[2]]),
    ("SELECT id FROM part WHERE CAST(id AS CHAR) = 2", [[2]]),
    ("SELECT id FROM part WHERE made = '2020-01-02'", [[1]]),
    ("SELECT id FROM part WHERE code = 'ABC'", [[4]]),
    ("SELECT (SELECT code, id FROM part WHERE id = 3) = (SELECT id, code FROM part WHERE id = 3)", [[0]]),
)

#: On a database `shop` with the table `hat`, in which Fez is the first and Boater the second.
COMMENTED = (
    ("SELECT name FROM hat WHERE hat_id = 1 -- the first", [["Fez"]]),
    ("SELECT name FROM hat WHERE hat_id = 1; -- the first", [["Fez"]]),
    ("SELECT name FROM hat WHERE hat_id = 1; -- it's the first\n-- of all\n", [["Fez"]]),
    ("SELECT name FROM hat WHERE hat_id = 1 /* the; first */;", [["Fez"]]),
    ("SELECT name FROM hat WHERE hat_id = 1; /* the; first */ ;", [["Fez"]]),
    ("SELECT name FROM hat WHERE hat_id = 1 # the first", [["Fez"]]),
    ("SELECT name FROM hat WHERE hat_id = 1; # the first", [["Fez"]]),
    ("SELECT name FROM hat WHERE hat_id = 1; --", [["Fez"]]),
    ("SELECT name -- its name\nFROM hat # all\nWHERE hat_id = 1 /* the first */", [["Fez"]]),
    ("-- the first\n# of all\n/* hats */ SELECT name FROM hat WHERE hat_id = 1;", [["Fez"]]),
    ("SELECT '-- a; # b /* c */', \"# d\" FROM hat WHERE hat_id = 1; -- the first", [["-- a; # b /* c */", "# d"]]),
    ("SELECT 2--1 FROM hat WHERE hat_id = 1", [[3]]),  # in MySQL no comment, as no space follows
)

#: Two statements each, also where a comment stands between them or holds what MySQL or MariaDB runs.
SEVERAL = (
    "SELECT 1 -- one\n; DROP TABLE hat",
    "SELECT 1; -- one\nDROP TABLE hat",
    "SELECT 1; # one\nDROP TABLE hat",
    "SELECT 1; /* one */ DROP TABLE hat -- two",
    "SELECT 1 /* one */; SELECT 2; -- two",
    "SELECT '; -- one'; DROP TABLE hat",
    "SELECT 1; /*! DROP TABLE hat */",
    "SELECT 1; -- one\n/*!50000 DROP TABLE hat */;",
    "SELECT 1; /*M!100100 DROP TABLE hat */",
    "REPLACE INTO hat VALUES (1) -- one\n; DROP TABLE hat",
)

#: Each is CAST to text, as drivers have types of their own for dates.
DATES = (
    ("STR_TO_DATE('5/31/2014', '%m/%d/%Y')", "2014-05-31"),
    ("STR_TO_DATE('May 1, 2013', '%M %d,%Y')", "2013-05-01"),
    ("STR_TO_DATE(' 1st jan 70', '%D %b %y')", "1970-01-01"),
    ("STR_TO_DATE('2020-01-02', '%Y-%m-%d %H:%i')", "2020-01-02 00:00:00"),
    ("STR_TO_DATE('2020-01-02 03:04:05.5', '%Y-%m-%d %T.%f')", "2020-01-02 03:04:05.500000"),
    ("STR_TO_DATE('a09:30:17', 'a%h:%i:%s')", "09:30:17"),
    ("STR_TO_DATE('12:30 AM', '%h:%i %p')", "00:30:00"),
    ("STR_TO_DATE('Sunday 2020-01-05', '%W %Y-%m-%d')", "2020-01-05"),
    ("STR_TO_DATE('2020 60', '%Y %j')", "2020-02-29"),
    ("STR_TO_DATE('20200102xyz', '%Y%m%d')", "2020-01-02"),
    ("STR_TO_DATE('04/31/2004', '%m/%d/%Y')", "2004-04-31"),
    ("STR_TO_DATE('2020', '%Y')", None),
    ("STR_TO_DATE('2020-01', '%Y-%m-%d')", None),
    ("STR_TO_DATE('13:30', '%h:%i')", None),
    ("STR_TO_DATE('25:00', '%H:%i')", None),
    ("STR_TO_DATE('x', '%Y')", None),
    ("STR_TO_DATE(NULL, '%Y')", None),
    ("FROM_UNIXTIME(0)", "1970-01-01 00:00:00"),
    ("FROM_UNIXTIME(1447430881)", "2015-11-13 16:08:01"),
    ("FROM_UNIXTIME(1.5)", "1970-01-01 00:00:01.5"),
    ("FROM_UNIXTIME(-1)", None),
    ("FROM_UNIXTIME(NULL)", None),
    ("FROM_UNIXTIME(1447430881, '%Y %D %M %h:%i:%s %x')", "2015 13th November 04:08:01 2015"),
    ("DATE_FORMAT('2021-03-04 05:06:07', '%W %M %e, %k:%i %p')", "Thursday March 4, 5:06 AM"),
    ("DATE_FORMAT('2021-01-03', '%a %b %j %u %v %x %%')", "Sun Jan 003 00 53 2020 %"),
    ("DATE_FORMAT('nothing', '%Y')", None),
)

CATALOGUE = (
    (
        "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() ORDER BY table_name",
        [["part"], ["stock"]],
    ),
    (
        "SELECT TABLE_NAME FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_TYPE = 'base table' ORDER BY 1",
        [["part"], ["stock"]],
    ),
    (
        "SELECT COLUMN_NAME, DATA_TYPE, IS_NULLABLE, COLUMN_KEY FROM INFORMATION_SCHEMA.COLUMNS WHERE TABLE_NAME = "
        "'part' ORDER BY ORDINAL_POSITION",
        [
            ["id", "int", "NO", "PRI"],
            ["code", "text", "YES", ""],
            ["amount", "double", "YES", ""],
            ["made", "date", "YES", ""],
        ],
    ),
    (
        "SELECT t.TABLE_NAME, count(*) FROM INFORMATION_SCHEMA.TABLES AS t JOIN INFORMATION_SCHEMA.COLUMNS AS c "
        "ON c.TABLE_NAME = t.TABLE_NAME GROUP BY t.TABLE_NAME ORDER BY 1",
        [["part", 4], ["stock", 3]],
    ),
    ("SELECT count(*) FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_SCHEMA <> 'shop'", [[0]]),
    ("SELECT DATABASE()", [["shop"]]),
)
