"""The words of generated texts."""

from __future__ import annotations

from lumos_queue.benchmarks.openagi.data.nouns import BilingualNoun, Phrase

#: Events in English without an article, and in German with it.
EVENTS = (
    ("heavy storm", "ein schwerer Sturm"),
    ("great flood", "eine große Flut"),
    ("large fire", "ein großes Feuer"),
    ("small fire", "ein kleines Feuer"),
    ("sudden earthquake", "ein plötzliches Erdbeben"),
    ("falling tree", "ein fallender Baum"),
)
VERBS = (
    Phrase("damaged", "beschädigte"),
    Phrase("destroyed", "zerstörte"),
    Phrase("reached", "erreichte"),
    Phrase("hit", "traf"),
)
BUILDINGS = (
    BilingualNoun("bridge", "bridges", "Brücke", "Brücken", "f"),
    BilingualNoun("school", "schools", "Schule", "Schulen", "f"),
    BilingualNoun("station", "stations", "Bahnhof", "Bahnhöfe", "m"),
    BilingualNoun("museum", "museums", "Museum", "Museen", "n"),
    BilingualNoun("theatre", "theatres", "Theater", "Theater", "n"),
    BilingualNoun("library", "libraries", "Bibliothek", "Bibliotheken", "f"),
    BilingualNoun("harbour", "harbours", "Hafen", "Häfen", "m"),
    BilingualNoun("town hall", "town halls", "Rathaus", "Rathäuser", "n"),
)
LOOKS = (Phrase("old", "alt"), Phrase("new", "neu"), Phrase("famous", "berühmt"), Phrase("small", "klein"))
CITIES = (
    Phrase("Berlin", "Berlin"),
    Phrase("Paris", "Paris"),
    Phrase("Oslo", "Oslo"),
    Phrase("Rome", "Rom"),
    Phrase("Vienna", "Wien"),
    Phrase("Prague", "Prag"),
    Phrase("Lisbon", "Lissabon"),
    Phrase("Munich", "München"),
    Phrase("Warsaw", "Warschau"),
    Phrase("Athens", "Athen"),
    Phrase("Cologne", "Köln"),
    Phrase("Geneva", "Genf"),
)
DAYS = (
    Phrase("Monday", "Montag"),
    Phrase("Tuesday", "Dienstag"),
    Phrase("Wednesday", "Mittwoch"),
    Phrase("Thursday", "Donnerstag"),
    Phrase("Friday", "Freitag"),
    Phrase("Sunday", "Sonntag"),
)
PEOPLE = ("Anna", "Paul", "Maria", "David", "Clara", "Simon", "Laura", "Felix", "Nora", "Oscar", "Ida", "Hugo")
SURNAMES = ("Berg", "Lind", "Stein", "Frost", "Wolf", "Hall", "Moss", "Rivers", "Field", "Brook", "Hart", "Lane")
#: German jobs are masculine, as in dictionaries, whoever has them: an answer is translated without its text.
JOBS = (
    Phrase("baker", "Bäcker"),
    Phrase("teacher", "Lehrer"),
    Phrase("painter", "Maler"),
    Phrase("doctor", "Arzt"),
    Phrase("farmer", "Bauer"),
    Phrase("cook", "Koch"),
    Phrase("judge", "Richter"),
    Phrase("pilot", "Pilot"),
)
INSTRUMENTS = (
    Phrase("violin", "Geige"),
    Phrase("piano", "Klavier"),
    Phrase("flute", "Flöte"),
    Phrase("guitar", "Gitarre"),
    Phrase("trumpet", "Trompete"),
    Phrase("harp", "Harfe"),
    Phrase("drum", "Trommel"),
    Phrase("organ", "Orgel"),
)
PARTS = ("story", "plot", "music", "acting", "ending", "cast", "camera", "dialogue")
GOOD = (
    "wonderful",
    "warm",
    "funny",
    "clever",
    "moving",
    "brilliant",
    "charming",
    "fresh",
    "lovely",
    "touching",
    "superb",
    "elegant",
)
BAD = (
    "dull",
    "boring",
    "weak",
    "awful",
    "silly",
    "cold",
    "clumsy",
    "stale",
    "tedious",
    "hollow",
    "shallow",
    "sloppy",
)
