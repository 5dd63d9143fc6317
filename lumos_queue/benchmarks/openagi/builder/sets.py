"""The seven sources of OpenAGI's samples, by the names that tasks have for them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from lumos_queue.benchmarks.openagi.builder.picture_sets import (
    read_captions,
    read_imagenet,
    read_instances,
    read_textvqa,
)
from lumos_queue.benchmarks.openagi.builder.samples import SetReader
from lumos_queue.benchmarks.openagi.builder.text_sets import read_cnn_dailymail, read_squad, read_sst2

_COCO = "annotations: CC BY 4.0; pictures: terms of use of Flickr"
SETS: Mapping[str, SetReader] = MappingProxyType(
    {
        "ImageNet-1K val": SetReader(
            "ILSVRC2012_val_*.JPEG, in folders of classes or with LOC_val_solution.csv or the development kit, and "
            "LOC_synset_mapping.txt",
            "ImageNet's terms of access: research that is not commercial",
            True,
            read_imagenet,
        ),
        "COCO captions val2017": SetReader("captions_val2017.json and val2017/*.jpg", _COCO, True, read_captions),
        "COCO instances val2017": SetReader("instances_val2017.json and val2017/*.jpg", _COCO, True, read_instances),
        "CNN/DailyMail test": SetReader(
            "all_test.txt and *.story, or a table with article and highlights",
            "Apache-2.0; articles: copyright of CNN and Daily Mail",
            False,
            read_cnn_dailymail,
        ),
        "SST-2 val": SetReader("SST-2/dev.tsv, or a table with sentence and label", "not stated", False, read_sst2),
        "TextVQA val": SetReader(
            "TextVQA_0.5.1_val.json and train_images/*.jpg",
            "CC BY 4.0; pictures, of Open Images: CC BY 2.0",
            True,
            read_textvqa,
        ),
        "SQuAD val": SetReader("dev-v1.1.json", "CC BY-SA 4.0", False, read_squad),
    }
)
