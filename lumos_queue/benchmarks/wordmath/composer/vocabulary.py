"""The composer's own vocabulary: deeds and what they are done to, places, and what changes an amount."""

from __future__ import annotations

from lumos_queue.benchmarks.wordmath.words import THINGS

COLORS = ("red", "blue", "green", "yellow", "white", "black", "purple", "brown", "pink", "silver")
#: What comes in colors.
COLORED = frozenset(
    (
        *(thing for kind in ("toy", "school", "craft", "clothes", "kitchen") for thing in THINGS[kind]),
        "car", "balloon", "rose", "tulip", "flower", "vase", "box", "lamp", "chair", "blanket", "towel", "bird",
        "butterfly", "bicycle", "bead", "key", "bag", "bottle cap", "flowerpot", "paper plane", "paper boat", "fish",
        "paper star", "suitcase", "bench", "cat", "dog", "crate", "poster", "umbrella", "house", "boat", "bus",
    )
) - {"egg", "straw", "rock", "game", "map", "paper clip", "tea bag"}  # fmt: skip
#: (past, base, things): a person did it to so many of them.
DEEDS = (
    ("bought", "buy", tuple(thing for kind in THINGS for thing in THINGS[kind])),
    ("picked", "pick", (*THINGS["fruit"][:16], "tomato", "pepper", "flower", "rose", "tulip", "daisy", "mushroom")),
    ("found", "find", ("shell", "coin", "pebble", "acorn", "feather", "pine cone", "marble", "key", "golf ball")),
    ("baked", "bake", ("muffin", "cupcake", "cookie", "pie", "bun", "loaf of bread", "brownie", "biscuit", "tart")),
    ("sold", "sell", tuple(thing for kind in ("fruit", "craft", "plant", "toy", "snack") for thing in THINGS[kind])),
    ("collected", "collect", ("stamp", "shell", "badge", "leaf", "postcard", "bottle cap", "can", "newspaper", "egg")),
    ("planted", "plant", ("tree", "bush", "bulb", "seed", "rose", "carrot", "seedling", "fern", "sunflower")),
    ("drew", "draw", ("picture", "map", "star", "house", "circle", "cartoon", "horse")),
    ("painted", "paint", ("picture", "fence post", "wall tile", "mask", "egg", "flowerpot", "model boat")),
    ("wrote", "write", ("letter", "postcard", "poem", "page", "story", "invitation", "email")),
    ("read", "read", ("page", "book", "chapter", "comic", "story", "article", "magazine")),
    ("washed", "wash", ("plate", "car", "window", "glass", "shirt", "dog", "pot", "cup")),
    ("caught", "catch", ("fish", "crab", "ball", "butterfly", "frog", "firefly")),
    ("saw", "see", ("deer", "owl", "rabbit", "squirrel", "boat", "goat", "swan", "train")),
    ("folded", "fold", ("towel", "shirt", "paper plane", "napkin", "blanket", "paper boat")),
    ("ran", "run", ("lap", "mile", "kilometer")),
    ("walked", "walk", ("mile", "kilometer", "block")),
    ("swam", "swim", ("lap", "length")),
    ("did", "do", ("push-up", "sit-up", "jumping jack", "exercise", "handstand", "squat")),
    ("scored", "score", ("point", "goal", "basket")),
    ("made", "make", (*THINGS["craft"], "sandwich", "pancake", "dumpling", "snowball", "paper plane", "phone call")),
    ("repaired", "repair", ("bicycle", "chair", "watch", "shoe", "toy", "radio")),
    ("delivered", "deliver", ("parcel", "newspaper", "pizza", "letter", "flyer", "box")),
    ("carried", "carry", ("brick", "box", "chair", "log", "suitcase", "bag of sand")),
    ("solved", "solve", ("riddle", "puzzle", "problem", "sum")),
    ("watched", "watch", ("film", "cartoon", "game", "video", "play")),
    ("took", "take", ("photo", "note", "picture", "test", "trip")),
    ("drank", "drink", ("glass of water", "cup of tea", "bottle of juice", "glass of milk")),
    ("ate", "eat", (*THINGS["fruit"][:10], "cracker", "cookie", "grape", "almond", "pancake", "dumpling", "cherry")),
    ("cut", "cut", ("log", "branch", "rope", "paper star", "slice of cake", "sheet of paper")),
    ("visited", "visit", ("museum", "farm", "village", "castle", "town", "shop")),
    ("borrowed", "borrow", ("book", "film", "magazine", "game")),
    ("peeled", "peel", ("potato", "carrot", "orange", "onion", "apple")),
    ("loaded", "load", ("crate", "sack", "truck", "pallet", "barrel")),
    ("fed", "feed", ("duck", "goat", "hen", "rabbit", "horse", "calf")),
    ("knitted", "knit", ("hat", "scarf", "sock", "glove", "blanket")),
    ("printed", "print", ("poster", "page", "ticket", "photo", "flyer")),
    ("filled", "fill", ("bottle", "jar", "sack", "bucket", "balloon", "basket")),
    ("packed", "pack", ("box", "lunch bag", "suitcase", "crate", "sandwich")),
    ("sent", "send", ("message", "card", "letter", "parcel", "postcard")),
    ("counted", "count", ("car", "bird", "star", "bus", "sheep", "cloud", "ship")),
    ("learned", "learn", ("song", "word", "poem", "rule", "dance", "trick")),
    ("climbed", "climb", ("step", "hill", "tree", "ladder")),
    ("won", "win", ("game", "medal", "prize", "ticket", "race", "match")),
    ("used", "use", ("nail", "screw", "sheet of paper", "egg", "stamp", "plank", "brick", "bead", "tea bag")),
    ("gathered", "gather", ("nut", "mushroom", "leaf", "stick", "shell", "chestnut")),
    ("broke", "break", ("plate", "cup", "pencil", "egg", "stick", "glass")),
    ("blew up", "blow up", ("balloon",)),
    ("recycled", "recycle", ("can", "bottle", "newspaper", "jar")),
    ("sharpened", "sharpen", ("pencil", "knife", "crayon")),
    ("mended", "mend", ("sock", "shirt", "net", "bag")),
    ("hung up", "hang up", ("shirt", "towel", "lantern", "picture", "coat")),
    ("chopped", "chop", ("carrot", "onion", "log", "pepper", "tomato")),
)  # fmt: skip
#: Who does things besides persons: (the doers, deeds of theirs).
DOERS = (
    (("the bakery", "the café", "the snack bar"), (("sold", "sell", ("bun", "pie", "sandwich", "cupcake", "muffin")),
                                                  ("used", "use", ("egg", "bag of flour", "lemon")))),
    (("the red team", "the blue team", "the green team"), (("scored", "score", ("point", "goal")),
                                                          ("won", "win", ("game", "match", "medal")),
                                                          ("collected", "collect", ("can", "flag", "ball")))),
    (("the farmer", "the gardener", "the neighbor"), (("planted", "plant", ("tree", "row of corn", "bush", "bulb")),
                                                     ("picked", "pick", ("pumpkin", "melon", "cabbage", "apple")),
                                                     ("sold", "sell", ("goat", "hen", "egg", "sack of potatoes")))),
    (("the north school", "the south school", "the village school"), (
        ("ordered", "order", ("desk", "computer", "book", "chair", "globe")),
        ("collected", "collect", ("bottle", "coat", "toy", "can of soup")),
        ("planted", "plant", ("tree", "bush", "rose")))),
    (("the first machine", "the second machine", "the old machine"), (
        ("made", "make", ("button", "bolt", "toy car", "bottle", "bag")),
        ("packed", "pack", ("box", "crate", "parcel")), ("printed", "print", ("page", "poster", "book")))),
    (("the morning bus", "the evening bus", "the night bus"), (
        ("carried", "carry", ("passenger", "tourist", "bicycle", "suitcase")),)),
    (("the older class", "the younger class", "the art class"), (
        ("drew", "draw", ("picture", "map", "poster")), ("made", "make", ("mask", "lantern", "card", "kite")),
        ("read", "read", ("book", "story", "poem")))),
)  # fmt: skip
#: (places side by side, things that may be there).
PLACES = (
    (("on the top shelf", "on the middle shelf", "on the bottom shelf"), ("book", "jar", "toy", "box", "vase", "game")),
    (("in the red box", "in the blue box", "in the white box"), ("button", "marble", "pencil", "bead", "card")),
    (("in the kitchen", "in the garage", "in the attic"), ("chair", "box", "lamp", "bottle", "basket", "mouse")),
    (("in the first row", "in the second row", "in the last row"), ("chair", "plant", "student", "tree", "desk")),
    (("in the big pond", "in the small pond"), ("duck", "fish", "frog", "goose", "turtle", "swan")),
    (("in the park", "in the garden", "in the schoolyard"), ("tree", "bench", "child", "bird", "dog", "flower")),
    (("on the left side of the road", "on the right side of the road"), ("house", "lamp", "car", "shop", "tree")),
    (("on the first floor", "on the second floor", "on the third floor"), ("room", "desk", "window", "guest")),
    (("in the north field", "in the south field"), ("cow", "sheep", "horse", "tractor", "goat", "haystack")),
    (("in the front car", "in the middle car", "in the rear car"), ("passenger", "seat", "suitcase", "tourist")),
    (("in the first bag", "in the second bag", "in the third bag"), ("apple", "orange", "potato", "shell", "nut")),
    (("on the big table", "on the small table"), ("plate", "cup", "cupcake", "candle", "spoon", "napkin")),
    (("in the drawer", "on the desk", "in the cupboard"), ("pen", "notebook", "envelope", "key", "ruler", "stamp")),
    (("at the beach", "at the pool", "at the lake"), ("swimmer", "umbrella", "child", "towel", "tourist")),
    (("in the old barn", "in the new barn"), ("hen", "cow", "bale of hay", "cat", "lamb", "calf")),
    (("in the morning show", "in the evening show"), ("dancer", "clown", "singer", "visitor", "horse")),
    (("in the zoo", "on the farm"), ("goat", "pony", "parrot", "rabbit", "turtle")),
    (("in the town library", "in the school library"), ("book", "map", "reader", "computer", "atlas")),
    (("in the aquarium", "in the fishbowl"), ("goldfish", "snail", "shell", "stone")),
    (("in the freezer", "in the basket", "on the tray"), ("bun", "pie", "loaf of bread", "bagel")),
)  # fmt: skip
TIMES_OF_DEEDS = (
    ("in the morning", "in the afternoon", "in the evening"),
    ("yesterday", "today"),
    ("last week", "this week"),
    ("last month", "this month"),
    ("in the first hour", "in the second hour", "in the third hour"),
    ("in spring", "in summer", "in autumn"),
    ("before lunch", "after lunch"),
    ("in the first week", "in the second week", "in the third week"),
    ("last year", "this year"),
)

#: (past with `{n}`, base without a number, kinds of things; '' is for all), `{q}` is another person.
LOSSES = (
    ("gave {n} to {q}", "give to {q}", ()), ("sold {n}", "sell", ()), ("gave away {n}", "give away", ()),
    ("lost {n}", "lose", ("toy", "school", "clothes", "tool", "craft")), ("donated {n}", "donate", ()),
    ("lent {n} to {q}", "lend to {q}", ("toy", "school", "clothes", "tool", "kitchen")),
    ("ate {n}", "eat", ("fruit", "snack")), ("cooked {n}", "cook", ("vegetable",)),
    ("threw away {n}", "throw away", ("fruit", "vegetable", "school", "kitchen", "snack")),
    ("broke {n}", "break", ("kitchen", "craft")), ("used {n}", "use", ("tool", "school", "vegetable", "fruit")),
    ("planted {n}", "plant", ("plant",)), ("mailed {n} to {q}", "mail to {q}", ("toy", "craft", "clothes", "school")),
    ("handed {n} to {q}", "hand to {q}", ()), ("dropped {n}", "drop", ("snack", "kitchen", "toy", "fruit")),
    ("traded away {n}", "trade away", ("toy", "craft")), ("left {n} on the bus", "leave on the bus", ("school", "toy")),
    ("brought {n} to school", "bring to school", ("fruit", "snack", "toy", "school", "plant")),
    ("hid {n} under the bed", "hide under the bed", ("toy", "snack")),
    ("sent {n} to {q}", "send to {q}", ("toy", "craft", "snack", "clothes")),
    ("returned {n} to the shop", "return to the shop", ("clothes", "tool", "kitchen", "school")),
)  # fmt: skip
GAINS = (
    ("bought {n}", "buy", ()), ("got {n} from {q}", "get from {q}", ()),
    ("received {n} from {q}", "receive from {q}", ()),
    ("found {n}", "find", ("toy", "school", "tool", "clothes", "fruit")), ("ordered {n}", "order", ()),
    ("picked {n}", "pick", ("fruit", "vegetable")), ("baked {n}", "bake", ("snack",)),
    ("made {n}", "make", ("craft", "snack")), ("won {n}", "win", ("toy",)),
    ("borrowed {n} from {q}", "borrow from {q}", ("toy", "school", "clothes", "tool", "kitchen")),
    ("collected {n}", "collect", ("toy", "plant")), ("harvested {n}", "harvest", ("vegetable",)),
    ("took {n} from a shelf", "take from a shelf", ("school", "kitchen", "tool")),
)  # fmt: skip

#: A container and things that have so many of something: (one, has, parts, smallest and largest).
BUILT_OF = (
    ("spider", "legs", 8), ("tricycle", "wheels", 3), ("table", "legs", 4), ("car", "wheels", 4), ("insect", "legs", 6),
    ("bicycle", "wheels", 2), ("butterfly", "wings", 2), ("starfish", "arms", 5), ("horse", "legs", 4),
)  # fmt: skip
ROWS = (
    ("chair", "row", "in the hall"), ("tree", "row", "in the orchard"), ("desk", "row", "in the classroom"),
    ("car", "line", "in the parking lot"), ("cabbage", "row", "in the field"), ("tile", "column", "on the wall"),
    ("dancer", "line", "on the stage"), ("tent", "row", "at the camp"), ("book", "stack", "on the desk"),
    ("brick", "pile", "at the building site"), ("player", "team", "in the tournament"),
    ("cup", "stack", "in the kitchen"),
    ("student", "group", "in the gym"), ("guest", "boat", "on the lake"), ("plant", "bed", "in the garden"),
)  # fmt: skip
