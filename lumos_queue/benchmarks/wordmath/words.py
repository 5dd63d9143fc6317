"""The vocabulary: names of many cultures, countable things by kind, containers, crowds, and plurals."""

from __future__ import annotations


def _list(text: str) -> list[str]:
    """Return the words of a text. An underscore is a space inside a word."""
    return [word.replace("_", " ") for word in text.split()]


FEMALE = _list(
    "Maria Sofia Aisha Mei Priya Fatima Elena Ingrid Chloe Zara Nadia Yuki Amara Lucia Hana Leila Greta Olga Rosa "
    "Tara Anika Beatriz Carmen Dalia Emma Freya Gloria Hilda Imani Jasmine Kavya Lena Mina Nora Olivia Paula "
    "Rania Sara Tanya Uma Vera Wanjiru Ximena Yasmin Zofia Abena Bianca Clara Diya Esra Farah Grace Heidi Irene "
    "Julia Keiko Laila Marta Ngozi Petra Ruth Salma Teresa Valentina Wendy Alice Bella Daisy Ella Fiona Hannah "
    "Ivy Jade Kate Lily Molly Nina Pearl Rachel Susan Tina Anna Betty Cora Diana Eva Holly Jenny Karen Laura "
    "Megan Nancy Sally Joan Helen Ruby"
)
MALE = _list(
    "Omar Liam Diego Kwame Raj Hiroshi Ivan Mateo Ahmed Chen Noah Tariq Luca Sven Pablo Kofi Arjun Tomas Yusuf "
    "Bao Emeka Felix Gustav Hamza Ibrahim Jamal Karim Leo Marco Nikhil Oscar Pedro Quentin Ravi Samir Tunde Umar "
    "Viktor Wei Xavier Yaw Zane Adam Boris Carlos Dmitri Elias Farid Goran Hassan Igor Juan Kenji Lars Milan "
    "Nelson Otto Paolo Rafael Stefan Tendai Vikram Walter Andre Ben Caleb Daniel Ethan Frank George Harry Isaac "
    "Jack Kevin Lucas Martin Nathan Owen Peter Robert Simon Thomas Victor Alan Bill David Eric Fred Henry Jim Ken "
    "Luke Mark Nick Paul Ryan Sam Tim"
)
THINGS = {
    "fruit": _list(
        "apple orange banana peach pear plum mango lemon lime strawberry cherry kiwi apricot fig melon coconut "
        "pineapple grapefruit papaya tangerine"
    ),
    "snack": _list(
        "cookie cupcake muffin candy doughnut cracker sandwich pancake brownie pretzel chocolate lollipop pastry "
        "bagel waffle biscuit dumpling taco samosa pie tart bun caramel granola_bar rice_cake"
    ),
    "vegetable": _list("carrot tomato potato onion cucumber pumpkin pepper radish turnip cabbage beet zucchini"),
    "toy": _list(
        "marble sticker stamp coin doll toy_car puzzle card ball balloon kite shell block robot comic_book button "
        "badge postcard crystal rock bead whistle yo-yo dinosaur_figure game poster keychain magnet"
    ),
    "school": _list(
        "pencil pen book notebook eraser crayon marker ruler folder paper_clip envelope paintbrush glue_stick "
        "highlighter textbook magazine map bookmark index_card"
    ),
    "craft": _list(
        "ribbon candle bracelet necklace basket paper_star origami_crane bowl mug scarf pillow picture_frame "
        "wooden_spoon clay_pot birdhouse lantern quilt greeting_card"
    ),
    "clothes": _list("shirt sock hat glove dress jacket sweater belt skirt tie cap T-shirt coat scarf"),
    "plant": _list("rose tulip sunflower daisy lily seed seedling bush orchid cactus fern bulb shrub"),
    "tool": _list("nail screw brick tile plank light_bulb battery bolt rope bucket brush hammer"),
    "kitchen": _list("egg plate cup spoon fork glass napkin bottle jar bowl spice_jar tea_bag straw"),
}
IRREGULAR = {
    "child": "children",
    "person": "people",
    "man": "men",
    "woman": "women",
    "goose": "geese",
    "mouse": "mice",
    "fish": "fish",
    "sheep": "sheep",
    "deer": "deer",
    "scarf": "scarves",
    "shelf": "shelves",
    "loaf": "loaves",
    "potato": "potatoes",
    "tomato": "tomatoes",
    "mango": "mangoes",
    "foot": "feet",
    "inch": "inches",
    "yo-yo": "yo-yos",
    "leaf": "leaves",
    "goldfish": "goldfish",
    "cactus": "cactuses",
    "half": "halves",
    "knife": "knives",
    "calf": "calves",
}


def plural(singular: str) -> str:
    """Return the plural of a noun. Its last word changes, or that before ` of ` (`loaves of bread`)."""
    head, of, rest = singular.partition(" of ")
    *before, last = head.split(" ")
    if last in IRREGULAR:
        many = IRREGULAR[last]
    elif last.endswith(("s", "x", "z", "ch", "sh")):
        many = last + "es"
    elif last.endswith("y") and last[-2] not in "aeiou":
        many = last[:-1] + "ies"
    else:
        many = last + "s"
    return " ".join([*before, many]) + of + rest


CONTAINERS = _list(
    "box bag basket jar tray crate bucket drawer pack tin bowl case carton bin chest pouch sack packet shelf"
)
COLORS = _list("red blue green yellow white black purple orange pink brown gray silver gold striped large small round")
NUMBERS = _list("zero one two three four five six seven eight nine ten eleven twelve")
SUBJECTS = _list("math history science geography music art spelling chemistry biology English French Spanish")
DAYS = _list("Monday Tuesday Wednesday Thursday Friday Saturday Sunday")
MONTHS = _list("January February March April May June July August September October November December")
SHOPS = ("shop", "store", "market", "supermarket", "corner shop", "mall", "bazaar", "gift shop")

#: (who, where, verbs for coming, verbs for going), with alternatives as in `Scene.say`.
CROWDS = (
    ("bird", "in the tree", "[flew in|landed there|joined them]", "flew away"),
    ("passenger", "on the bus", "got on", "got off"),
    ("passenger", "on the train", "boarded", "got off"),
    ("student", "in the library", "[came in|walked in|arrived]", "[left|walked out]"),
    ("child", "on the playground", "[came to play|joined them]", "[went home|left]"),
    ("car", "in the parking lot", "[drove in|arrived]", "[drove away|left]"),
    ("duck", "on the pond", "[swam over|landed there]", "[swam away|flew off]"),
    ("customer", "in the shop", "[came in|walked in]", "[left|went out]"),
    ("boat", "in the harbor", "[sailed in|arrived]", "[sailed away|left]"),
    ("sheep", "in the field", "[wandered in|joined the flock]", "[wandered off|ran away]"),
    ("guest", "at the party", "[arrived|came]", "[went home|left]"),
    ("frog", "on the log", "[hopped on|jumped up]", "[hopped off|jumped into the water]"),
    ("plane", "at the airport", "landed", "took off"),
    ("swimmer", "in the pool", "[jumped in|got in]", "[got out|climbed out]"),
    ("visitor", "in the museum", "[walked in|arrived]", "[walked out|left]"),
    ("monkey", "in the tree", "climbed up", "climbed down"),
    ("dog", "in the park", "[ran in|came along]", "[ran off|went home]"),
    ("player", "on the field", "[ran on|joined in]", "[went off|left]"),
    ("horse", "in the barn", "[were led in|came in]", "[were led out|ran out]"),
    ("cow", "in the pasture", "[walked in|came over]", "[walked off|went back to the barn]"),
    ("fan", "in the stadium", "[came in|arrived]", "[left|went home]"),
    ("hiker", "at the camp", "[arrived|joined them]", "[set off|left]"),
    ("squirrel", "on the roof", "[climbed up|jumped on]", "[ran off|jumped down]"),
    ("butterfly", "in the garden", "[flew in|arrived]", "flew away"),
    ("truck", "at the depot", "[drove in|arrived]", "[drove off|left]"),
    ("dancer", "on the stage", "[came on|joined in]", "[left|stepped down]"),
    ("bicycle", "in the rack", "were [added|parked there]", "were [taken out|removed]"),
    ("letter", "in the mailbox", "were [put in|added]", "were [taken out|removed]"),
    ("book", "on the shelf", "were [put there|added]", "were [borrowed|taken away]"),
    ("bottle", "in the fridge", "were [put in|added]", "were [taken out|used]"),
)

#: Deeds by which a person has fewer things. `{n}` is '3 apples' or '3 of them', `{q}` is another person.
LOSSES = {
    "fruit": "[ate {n}|gave {n} to {q}|sold {n}|shared {n} with {q}|threw away {n}|handed {n} to {q}|used {n} for jam]",
    "snack": "[ate {n}|gave {n} to {q}|sold {n}|shared {n} with {q}|dropped {n}|passed {n} to {q}|sent {n} to {q}]",
    "vegetable": "[gave {n} to {q}|sold {n}|cooked {n}|used {n} for soup|threw away {n}|chopped up {n}]",
    "toy": "[gave {n} to {q}|lost {n}|sold {n}|traded away {n}|lent {n} to {q}|gave away {n}|mailed {n} to {q}]",
    "school": "[gave {n} to {q}|lost {n}|lent {n} to {q}|donated {n}|used up {n}|left {n} on the bus]",
    "craft": "[gave {n} to {q}|sold {n}|donated {n}|broke {n}|shipped {n} to {q}|gave away {n}]",
    "clothes": "[gave {n} to {q}|sold {n}|donated {n}|lost {n}|gave away {n}|packed {n} for {q}]",
    "plant": "[gave {n} to {q}|sold {n}|gave away {n}|planted {n}|donated {n}]",
    "tool": "[gave {n} to {q}|sold {n}|used {n}|used up {n}|lent {n} to {q}|lost {n}]",
    "kitchen": "[gave {n} to {q}|sold {n}|broke {n}|used {n}|dropped {n}|lent {n} to {q}]",
}
#: Deeds by which a person has more things. `{n}` is '3 apples' or '3 more apples'.
GAINS = {
    "fruit": "[bought {n}|picked {n}|got {n} from {q}|received {n} from {q}|found {n} in the kitchen|gathered {n}]",
    "snack": "[bought {n}|baked {n}|got {n} from {q}|received {n} from {q}|made {n}|was given {n} by {q}]",
    "vegetable": "[bought {n}|picked {n}|got {n} from {q}|harvested {n}|dug up {n}|received {n} from {q}]",
    "toy": "[bought {n}|found {n}|won {n}|got {n} from {q}|was given {n} by {q}|collected {n}|borrowed {n} from {q}]",
    "school": "[bought {n}|found {n}|got {n} from {q}|was given {n} by {q}|borrowed {n} from {q}|ordered {n}]",
    "craft": "[made {n}|bought {n}|got {n} from {q}|finished {n}|received {n} from {q}]",
    "clothes": "[bought {n}|got {n} from {q}|ordered {n}|was given {n} by {q}|received {n} from {q}]",
    "plant": "[bought {n}|got {n} from {q}|ordered {n}|was given {n} by {q}|collected {n}]",
    "tool": "[bought {n}|found {n} in the garage|got {n} from {q}|ordered {n}|borrowed {n} from {q}]",
    "kitchen": "[bought {n}|found {n} in a cupboard|got {n} from {q}|ordered {n}|borrowed {n} from {q}]",
}
