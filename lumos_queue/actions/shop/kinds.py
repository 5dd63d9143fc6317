"""The kinds of products of the generated shop."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of product."""

    name: str
    synonyms: tuple[str, ...]  #: other names for it
    category: str
    path: str  #: `Home › Furniture › Sofas`
    attributes: tuple[str, ...]  #: a product has two of them
    groups: tuple[str, ...]  #: of options: keys of `lexicon.OPTIONS`
    dollars: tuple[int, int]  #: the lowest and the highest price


def _kind(text: str) -> Kind:
    """Read a kind from `name | other names | category | path`, followed by ` | attributes | groups | dollars`."""
    name, other_names, category, path, attributes, groups, dollars = (part.strip() for part in text.split("|"))
    lists = [tuple(name.strip() for name in part.split(",")) for part in (other_names, attributes, groups)]
    low, high = map(int, dollars.split("-"))
    return Kind(name, lists[0], category, path, lists[1], lists[2], (low, high))


_TEXT = """
rain jacket | raincoat, anorak | fashion | Clothing › Outdoor › Jackets
    waterproof, lightweight, breathable, foldable, long sleeve, machine washable | color, size | 25-90
running shirt | jogging top, sports top | fashion | Clothing › Outdoor › Shirts
    breathable, lightweight, fast drying, long sleeve, machine washable | color, size | 12-45
yoga pants | stretch leggings, gym leggings | fashion | Clothing › Outdoor › Pants
    high waist, breathable, fast drying, machine washable, lightweight | color, size | 15-55
wool sweater | knit jumper, pullover | fashion | Clothing › Outdoor › Sweaters
    long sleeve, machine washable, lightweight, breathable | color, size | 25-80
hiking boots | trekking shoes, trail boots | fashion | Clothing › Shoes › Boots
    waterproof, non slip, lightweight, padded, heavy duty, breathable | color, shoe | 45-150
walking sandals | open shoes, summer footwear | fashion | Clothing › Shoes › Sandals
    non slip, lightweight, padded, adjustable, breathable | color, shoe | 20-70
house slippers | indoor shoes, home footwear | fashion | Clothing › Shoes › Slippers
    memory foam, non slip, machine washable, padded, breathable | color, shoe | 10-40
laptop bag | computer case, notebook sleeve | luggage | Luggage › Bags › Laptop Bags
    waterproof, padded, lightweight, adjustable, heavy duty | color, size | 20-80
travel backpack | rucksack, knapsack | luggage | Luggage › Bags › Backpacks
    waterproof, foldable, padded, lightweight, adjustable, heavy duty | color, size | 25-110
lunch box | meal carrier, food container | kitchen | Kitchen › Storage › Lunch Boxes
    insulated, leak proof, dishwasher safe, stainless steel, lightweight | color, size | 10-40
water bottle | drinking flask, canteen | kitchen | Kitchen › Storage › Bottles
    insulated, leak proof, dishwasher safe, stainless steel, lightweight | color, size | 8-45
coffee mug | drinking cup, hot beverage cup | kitchen | Kitchen › Tableware › Mugs
    insulated, dishwasher safe, stainless steel, leak proof | color, pack | 8-35
frying pan | skillet, cooking pan | kitchen | Kitchen › Cookware › Pans
    non slip, dishwasher safe, stainless steel, heavy duty, lightweight | color, size | 15-90
garden hose | watering tube, yard pipe | garden | Garden › Watering › Hoses
    heavy duty, leak proof, lightweight, foldable, adjustable | color, length | 20-80
patio chair | garden seat, lawn seat | garden | Garden › Furniture › Chairs
    foldable, waterproof, solid wood, padded, lightweight, easy assemble | color, pack | 30-140
bath towel | shower cloth, drying cloth | home | Home › Bath › Towels
    fast drying, machine washable, lightweight, organic | color, pack | 8-50
bath mat | shower rug, floor mat | home | Home › Bath › Mats
    non slip, fast drying, machine washable, memory foam | color, size | 10-45
bed sheet | mattress linen, bedding cover | home | Home › Bedding › Sheets
    machine washable, breathable, organic, lightweight | color, bed | 20-90
bed pillow | head cushion, sleeping cushion | home | Home › Bedding › Pillows
    memory foam, machine washable, breathable, adjustable | bed, pack | 15-70
mattress topper | bed pad, mattress pad | home | Home › Bedding › Toppers
    memory foam, breathable, machine washable, non slip | color, bed | 40-160
desk lamp | reading light, table light | home | Home › Lighting › Lamps
    rechargeable, wireless, adjustable, foldable, space saving | color, size | 18-75
book shelf | bookcase, shelving rack | home | Home › Furniture › Shelves
    solid wood, easy assemble, space saving, heavy duty, adjustable | color, size | 40-190
coffee table | sofa table, low table | home | Home › Furniture › Tables
    solid wood, easy assemble, space saving, foldable, adjustable | color, size | 50-240
office chair | desk seat, work seat | home | Home › Furniture › Chairs
    adjustable, padded, easy assemble, breathable, heavy duty, memory foam | color, size | 60-250
headphones | headset, ear phones | electronics | Electronics › Audio › Headphones
    wireless, noise cancelling, rechargeable, foldable, padded, lightweight | color, size | 25-190
speaker | sound box, music box | electronics | Electronics › Audio › Speakers
    wireless, waterproof, rechargeable, lightweight, heavy duty | color, size | 20-150
charging cable | power cord, charger lead | electronics | Electronics › Accessories › Cables
    heavy duty, lightweight, long lasting, waterproof | color, length | 6-30
phone case | mobile cover, handset cover | electronics | Electronics › Accessories › Cases
    waterproof, non slip, padded, lightweight, heavy duty | color, pack | 8-40
keyboard | typing board, computer keys | electronics | Electronics › Computers › Keyboards
    wireless, rechargeable, foldable, space saving, waterproof | color, size | 18-120
face cream | skin lotion, moisturizer | beauty | Beauty › Skin Care › Creams
    fragrance free, cruelty free, sensitive skin, long lasting, organic | size, pack | 8-60
lip balm | lip salve, lip care stick | beauty | Beauty › Skin Care › Lips
    fragrance free, cruelty free, sensitive skin, long lasting, organic, sugar free | flavor, pack | 4-25
hair shampoo | hair soap, hair wash | beauty | Beauty › Hair Care › Shampoos
    fragrance free, cruelty free, sensitive skin, organic, long lasting | size, pack | 7-45
snack bar | energy bite, granola slice | grocery | Grocery › Snacks › Bars
    gluten free, sugar free, organic, long lasting | flavor, pack | 6-40
protein powder | shake mix, fitness drink | grocery | Grocery › Nutrition › Powders
    gluten free, sugar free, organic, fragrance free | flavor, size | 15-70
cookies | biscuits, baked treats | grocery | Grocery › Snacks › Cookies
    gluten free, sugar free, organic, long lasting | flavor, pack | 5-30
dog bed | pet couch, puppy mat | pets | Pets › Dogs › Beds
    memory foam, machine washable, non slip, waterproof, padded, foldable | color, size | 20-95
dog leash | pet lead, puppy line | pets | Pets › Dogs › Leashes
    heavy duty, adjustable, padded, waterproof, lightweight | color, length | 8-35
camping tent | outdoor shelter, canvas shelter | sports | Sports › Camping › Tents
    waterproof, lightweight, foldable, easy assemble, breathable, heavy duty | color, size | 50-260
sleeping bag | camp bedding, camping quilt | sports | Sports › Camping › Bags
    waterproof, lightweight, insulated, machine washable, padded | color, size | 30-140
bike helmet | cycling hat, bicycle headgear | sports | Sports › Cycling › Helmets
    lightweight, adjustable, padded, breathable, heavy duty | color, size | 20-95
"""
KINDS = tuple(map(_kind, _TEXT.strip().replace("\n    ", " | ").splitlines()))
