"""Digests of datasets whose rows are known. They identify the rows of jobs that have no digest of their data file.

tests/unit/test_row_digests.py computes them again. A digest stays in the table when a reader or a generator changes,
because earlier jobs have it.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from lumos_queue.downloads.catalogue import GENERATED

#: Digest to the name of the public file that has these rows, or GENERATED, and to their split.
ROW_DIGESTS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "6c294308ffcf2d2f716e21ddb3968b7f7a6d7032c0ea82ac0a801c225291d057": ("gsm8k/train.jsonl", "train"),
        # wordmath
        "521066658b54c29e59538b9dee784af9794edebc888eb44d9458d43069f7a9a9": (GENERATED, "train"),
        "e6a97b36cb7e7173f413d623de7b138ecac7b70ec6c897b756cfc5e6da1aeb1b": (GENERATED, "familiar"),
        "6d6514243eeae6c55640319fbcc308e200a8cff1717e8a9ac175b06c42831a78": (GENERATED, "dev"),
        "f3232e5ecac262df00b173a1d05a14be62e6af6fdd820f28bf844a02fafdfd1d": (GENERATED, "test"),
        # toolworld of earlier releases, and with descriptions=no
        "d45f3587a47d733b0bddde18c7b14c051367271b9aaf728e0e624adf6d771605": (GENERATED, "train"),
        "68f9c406be8732fbddd2025fb9e81dfc421e91c96ae24459854b532919bd9d8b": (GENERATED, "I1-inst"),
        "b4e6eaa1013f62a17e142aa00f61f824797bd4dcb68356a465229f361b105ecf": (GENERATED, "I1-tool"),
        "1ee0470dafb5ff0d6f8e455ef11528047ebf8b6738485a4f139d58666b3fbb1b": (GENERATED, "I1-cat"),
        "96cb40776f96471b59a0c515c992643097964a4cc20de2ac41a8388cebcee0d6": (GENERATED, "I2-inst"),
        "449ae050c3fca2295eae4e5614ff2faf1dccaf061b061ac770adc5c2cea992d2": (GENERATED, "I2-cat"),
        "ef2fdb93ef4f3986622f13d412365952034124135693bd4e9683b82885b1a625": (GENERATED, "I3-inst"),
        # toolworld, with descriptions of its tools
        "bf15c7ad6f2810a2d79bb2710e6df4c70b86aec9f93819623e0e6d6b3d7ffeab": (GENERATED, "train"),
        "38c450e1e125874215ded26fcc21f899af3acec3bb225772297475ca8261ee94": (GENERATED, "I1-inst"),
        "d3eb62e8758d691ef7cb72ed1f6d15cae7a6f63f25a35f70f554d3b782e00964": (GENERATED, "I1-tool"),
        "cac21c057fc59b663a81ed87ec6b2ef185528a5311fd9f028085f3deb47c377e": (GENERATED, "I1-cat"),
        "6d5363edddd1d24f49353ac73b3e8c451604ff85c04ccf9cb56f461ef24a5458": (GENERATED, "I2-inst"),
        "eb307718c29440f45af71485911d1ecaacea4665c780ed1f7c50805e84598f14": (GENERATED, "I2-cat"),
        "d5d6c661eb7c60a9dd195fa417d743bf3cea86d39b60de819434c3cc8708ce82": (GENERATED, "I3-inst"),
        # sum2act_visual
        "ad0dfe0080615b74484143725d1fab99daceeb94195dc7f94899ba6f34d9f101": (GENERATED, "test"),
        # openagi
        "e7e65c5b62107a8980338bffd9f761b93fead00d187e2abbbd6b2837cc530526": (GENERATED, "labelled"),
        "dac8eeed4f5b51ea0ede854e0ea658437b7ea31268512953634e069b6d3c4c53": (GENERATED, "feedback"),
        "3ece497adad6483034e017b1d5f6ed2e7d1c52e58b297d076a1ab3af9d34dc35": (GENERATED, "heldout"),
        "4b4d02bb08be8c2f9b80510fbdca055c3550a7698f6a30fb05151a6ac59917b2": (GENERATED, "all"),
        # webshop
        "caffd372fe0bab6e35ad4ca0acfdcffb4201abb8546960f867c0adacaed1c037": (GENERATED, "train"),
        "ee82278767a6a0d1b4ec66aefb0a20a23f2134ee414fdccf51f227f3c69e6347": (GENERATED, "dev"),
        "7967073f888c081a0fd939a00546b1d3d3ed7974e4c3710e7f56f06bdad93910": (GENERATED, "test"),
        # open_ended
        "0cb2171a11ef60a7eda805521aa11d09dbe9af45dd7431c052414ee5eadb80db": (GENERATED, "test"),
    }
)
