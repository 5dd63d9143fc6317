"""The words of the generated shop: attributes and options of products, and synonyms of them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute of a product, with other words for the attribute in a buyer's request."""

    name: str
    before: tuple[str, ...]  #: in front of the product's name: `a rainproof bag`
    after: tuple[str, ...]  #: behind it: `a bag that keeps water out`


def _attribute(line: str) -> Attribute:
    """Read an attribute from `name | before, before | after, after`."""
    name, before, after = (part.strip() for part in line.split("|"))
    return Attribute(name, *(tuple(phrase.strip() for phrase in part.split(",")) for part in (before, after)))


_ATTRIBUTES = (
    "waterproof | rainproof, water resistant | that keeps water out, for rainy days",
    "lightweight | featherlight, not heavy | that weighs little, that is light to carry",
    "foldable | collapsible, folding | that folds up, that folds flat",
    "padded | cushioned, well padded | with soft padding, with a soft lining",
    "breathable | airy, well aired | that lets air through, that stays airy",
    "machine washable | easily washed, washable | that goes in the washer, for the washing machine",
    "non slip | grippy, slip free | that does not slide, with a good grip",
    "wireless | cordless, cable free | without any cable, that needs no wire",
    "rechargeable | recharging, battery saving | that can be charged again, with a charging port",
    "noise cancelling | quiet listening, sound blocking | that blocks noise, that shuts out noise",
    "heavy duty | rugged, extra strong | that takes hard use, built for hard work",
    "stainless steel | rustfree steel, steel | made from steel, that cannot rust",
    "dishwasher safe | dishwasher proof, dishwasher ready | for the dishwasher, that survives the dishwasher",
    "leak proof | spill free, leakfree | that never drips, that does not leak",
    "insulated | heat keeping, thermal | that stays warm inside, that holds its heat",
    "solid wood | wooden, timber | made from wood, made of real timber",
    "easy assemble | quickly built, simple to build | that goes together fast, that anyone can put together",
    "space saving | compact, slim line | for a small room, that takes little room",
    "adjustable | resizable, fully adjusting | that can be adjusted, whose fit can be set",
    "gluten free | wheat free, glutenless | without gluten, that has no gluten",
    "sugar free | unsweetened, sugarless | without sugar, that has no sugar",
    "organic | pesticide free, organically grown | grown without pesticides, from organic farms",
    "fragrance free | unscented, perfume free | without perfume, that has no smell",
    "cruelty free | animal friendly, not animal tested | that spares animals, never tested on animals",
    "long lasting | enduring, lasting | that lasts all day, that lasts for hours",
    "sensitive skin | gentle, mild | for tender skin, that is kind to skin",
    "fast drying | quick dry, quickly drying | that dries fast, that dries in minutes",
    "high waist | high rise, high cut | that sits high, with a high cut",
    "long sleeve | longsleeved, full sleeve | with long arms, with full sleeves",
    "memory foam | foam filled, soft foam | with a foam core, that remembers my shape",
)
ATTRIBUTES = {attribute.name: attribute for attribute in map(_attribute, _ATTRIBUTES)}

#: Option values by group, with synonyms. A product offers some values of its groups.
OPTIONS: dict[str, dict[str, tuple[str, ...]]] = {
    "color": {
        "black": ("jet", "ebony"),
        "white": ("snowy", "chalky"),
        "blue": ("azure", "cobalt"),
        "red": ("scarlet", "crimson"),
        "green": ("emerald", "leafy"),
        "yellow": ("lemony", "sunny"),
        "pink": ("rosy", "blossom"),
        "purple": ("plummy", "violet"),
        "grey": ("ashen", "smoky"),
        "brown": ("chestnut", "walnut"),
        "orange": ("tangerine", "apricot"),
        "silver": ("chrome", "metallic"),
    },
    "size": {
        "small": ("little", "petite"),
        "medium": ("mid sized", "average"),
        "large": ("big", "roomy"),
        "x-large": ("extra large", "very big"),
    },
    "shoe": {"6": ("six",), "7": ("seven",), "8": ("eight",), "9": ("nine",), "10": ("ten",), "11": ("eleven",)},
    "bed": {
        "twin": ("single bed", "one person"),
        "full": ("double bed",),
        "queen": ("two person",),
        "king": ("widest bed",),
    },
    "pack": {
        "single": ("just one", "one piece"),
        "pair": ("two of them",),
        "trio": ("three of them",),
        "dozen": ("twelve of them",),
    },
    "flavor": {
        "vanilla": ("custardy",),
        "chocolate": ("cocoa",),
        "strawberry": ("berry",),
        "peanut": ("nutty",),
        "lemon": ("citrus",),
        "mint": ("peppermint",),
    },
    "length": {
        "3 feet": ("one yard",),
        "6 feet": ("two yards",),
        "9 feet": ("three yards",),
        "15 feet": ("five yards",),
    },
}
#: The name of a group on a product's page. Sizes are matched word for word by the reward.
GROUP_NAMES = {
    "color": "color",
    "flavor": "flavor",
    "size": "size",
    "shoe": "size",
    "bed": "size",
    "pack": "quantity",
    "length": "size",
}

#: Invented makers.
_BRANDS = """
Velmora Tindrel Ostrava Kelpin Morvane Brackit Sunfeld Noriva Pellowe Quendal
Ravello Sorrin Tamsett Ulvera Wexmoor Yarrowe Zelphin Aldane Brindle Corvell
"""
BRANDS = tuple(_BRANDS.split())
