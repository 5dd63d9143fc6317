"""Model folders of every kind that `hf:` runs, with random weights of a few kilobytes, as transformers saves them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

_TEXT = "the a film is dull good story what where in Paris was born Anna . ?"
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *_TEXT.split()]
_SIZES = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
_BERT = {"vocab_size": len(WORDS), **_SIZES}
_SQUARE = {**_SIZES, "image_size": 16, "patch_size": 8}


def save(folder: Path, model: Any, processor: dict[str, Any] | None = None) -> Path:
    """The model with the tokenizer of WORDS, and a configuration of an image processor."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    model.save_pretrained(folder)
    words = Tokenizer(models.WordLevel({word: index for index, word in enumerate(WORDS)}, unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    words.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    PreTrainedTokenizerFast(
        tokenizer_object=words,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
        model_max_length=64,
    ).save_pretrained(folder)
    if processor:
        (folder / "preprocessor_config.json").write_text(json.dumps(processor))
    return folder


def sentiment(folder: Path) -> Path:
    from transformers import BertConfig, BertForSequenceClassification

    return save(folder, BertForSequenceClassification(BertConfig(**_BERT, id2label={0: "NEGATIVE", 1: "POSITIVE"})))


def masks(folder: Path) -> Path:
    from transformers import BertConfig, BertForMaskedLM

    return save(folder, BertForMaskedLM(BertConfig(**_BERT)))


def questions(folder: Path) -> Path:
    from transformers import BertConfig, BertForQuestionAnswering

    return save(folder, BertForQuestionAnswering(BertConfig(**_BERT, max_position_embeddings=24)))


def sequences(folder: Path) -> Path:
    from transformers import T5Config, T5ForConditionalGeneration

    config = T5Config(
        vocab_size=len(WORDS), d_model=16, d_kv=8, d_ff=16, num_layers=1, num_heads=2, decoder_start_token_id=0
    )
    return save(folder, T5ForConditionalGeneration(config))


def words(folder: Path) -> Path:
    from transformers import GPT2Config, GPT2LMHeadModel

    return save(
        folder, GPT2LMHeadModel(GPT2Config(vocab_size=len(WORDS), n_embd=16, n_layer=1, n_head=2, eos_token_id=3))
    )


_VIT = {"image_processor_type": "ViTImageProcessor", "size": {"height": 16, "width": 16}}


def classes(folder: Path) -> Path:
    from transformers import ViTConfig, ViTForImageClassification

    return save(folder, ViTForImageClassification(ViTConfig(**_SQUARE, id2label={0: "cat", 1: "dog"})), _VIT)


def captions(folder: Path) -> Path:
    from transformers import GPT2Config, VisionEncoderDecoderConfig, VisionEncoderDecoderModel, ViTConfig

    text = GPT2Config(vocab_size=len(WORDS), n_embd=16, n_layer=1, n_head=2, add_cross_attention=True, is_decoder=True)
    config = VisionEncoderDecoderConfig.from_encoder_decoder_configs(ViTConfig(**_SQUARE), text)
    model = VisionEncoderDecoderModel(config=config)
    model.generation_config.decoder_start_token_id, model.generation_config.pad_token_id = 2, 0
    model.generation_config.eos_token_id = 3
    return save(folder, model, _VIT)


def objects(folder: Path) -> Path:
    import torch
    from transformers import DetrConfig, DetrForObjectDetection, ResNetConfig

    backbone = ResNetConfig(embedding_size=8, hidden_sizes=[8, 8, 8, 8], depths=[1, 1, 1, 1], out_features=["stage4"])
    config = DetrConfig(
        use_timm_backbone=False,
        use_pretrained_backbone=False,
        backbone=None,
        backbone_config=backbone,
        d_model=16,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=16,
        decoder_ffn_dim=16,
        num_queries=3,
        id2label={0: "cat", 1: "dog"},
    )
    model = DetrForObjectDetection(config)
    with torch.no_grad():
        model.class_labels_classifier.bias.copy_(torch.tensor([30.0, 0.0, 0.0]))  # always sure of a cat
    return save(folder, model, {"image_processor_type": "DetrImageProcessor", "size": {"height": 32, "width": 32}})


def enlarge(folder: Path) -> Path:
    from transformers import Swin2SRConfig, Swin2SRForImageSuperResolution

    config = Swin2SRConfig(image_size=16, embed_dim=12, depths=[1], num_heads=[2], window_size=4, upscale=2)
    return save(folder, Swin2SRForImageSuperResolution(config), {"image_processor_type": "Swin2SRImageProcessor"})


def answers(folder: Path) -> Path:
    from transformers import ViltConfig, ViltForQuestionAnswering

    config = ViltConfig(**{**_BERT, **_SQUARE}, id2label={0: "yes", 1: "no"})
    processor = {"image_processor_type": "ViltImageProcessor", "size": {"shortest_edge": 16}, "size_divisor": 8}
    return save(folder, ViltForQuestionAnswering(config), processor)


def draws(folder: Path, channels: int = 4, kind: str = "StableDiffusionPipeline") -> Path:
    """A pipeline of diffusers that makes images of 16 x 16."""
    import diffusers
    from diffusers import AutoencoderKL, DDIMScheduler, UNet2DConditionModel
    from transformers import CLIPTextConfig, CLIPTextModel, CLIPTokenizer

    unet = UNet2DConditionModel(
        sample_size=8,
        in_channels=channels,
        block_out_channels=(8, 8),
        layers_per_block=1,
        cross_attention_dim=16,
        norm_num_groups=4,
        attention_head_dim=4,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
    )
    vae = AutoencoderKL(
        block_out_channels=(8, 8),
        norm_num_groups=4,
        down_block_types=("DownEncoderBlock2D",) * 2,
        up_block_types=("UpDecoderBlock2D",) * 2,
    )
    text = CLIPTextModel(
        CLIPTextConfig(vocab_size=len(WORDS) + 2, max_position_embeddings=16, eos_token_id=1, **_SIZES)
    )
    vocabulary = {word: index for index, word in enumerate(["<|startoftext|>", "<|endoftext|>", *WORDS])}
    tokenizer = CLIPTokenizer(vocab=vocabulary, merges=[], model_max_length=16)
    pipeline = getattr(diffusers, kind)(
        vae=vae,
        text_encoder=text,
        tokenizer=tokenizer,
        unet=unet,
        scheduler=DDIMScheduler(steps_offset=1),
        safety_checker=None,
        feature_extractor=None,
        requires_safety_checker=False,
    )
    pipeline.save_pretrained(folder)
    return folder


def edits(folder: Path) -> Path:
    return draws(folder, channels=8, kind="StableDiffusionInstructPix2PixPipeline")


#: The experts, and the folders that run them.
KINDS: dict[str, Callable[[Path], Path]] = {
    "Sentiment Analysis": sentiment,
    "Text Summarization": sequences,
    "Machine Translation": sequences,
    "Fill Mask": masks,
    "Question Answering": questions,
    "Text Generation": words,
    "Image Classification": classes,
    "Object Detection": objects,
    "Image Super Resolution": enlarge,
    "Image Captioning": captions,
    "Visual Question Answering": answers,
    "Text to Image Generation": draws,
    "Image Editing": edits,
}


def make(expert: str, folder: Path) -> Path:
    """The same weights every time."""
    import torch

    torch.manual_seed(7)
    return KINDS[expert](folder)
