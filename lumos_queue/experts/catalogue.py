"""The experts by name: OpenAGI's 14, its Text Generation, which no task needs, and the visual APIs of Sum2Act.

Names and checkpoints are those of OpenAGI's paper (arXiv:2304.04370, table 1); descriptions were written here.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from lumos_queue.experts.base import Expert, Kind, Slot

IMAGE, TEXT = Kind.IMAGE, Kind.TEXT
_IMAGE, _TEXT = Slot("image", IMAGE), Slot("text", TEXT)
_DOCUMENT, _QUESTION, _INSTRUCTION = Slot("document", TEXT), Slot("question", TEXT), Slot("instruction", TEXT)

_OF_TEXTS = (
    Expert(
        "Sentiment Analysis",
        (_TEXT,),
        TEXT,
        "says whether a text is positive or negative; takes a text",
        ("sentiment classification", "sentiment analyzer", "sentiment analyser"),
        checkpoint="yiyanghkust/finbert-tone",
    ),
    Expert(
        "Text Summarization",
        (_TEXT,),
        TEXT,
        "shortens a long text to what matters; takes a text",
        ("text summarisation", "summarization", "summarisation", "text summarizer"),
        checkpoint="facebook/bart-large-cnn",
    ),
    Expert(
        "Machine Translation",
        (_TEXT,),
        TEXT,
        "translates an English text into German; takes a text",
        ("translation", "text translation", "language translation"),
        checkpoint="t5-base",
    ),
    Expert(
        "Fill Mask",
        (_TEXT,),
        TEXT,
        "puts the missing word in the place of [MASK]; takes a text",
        ("mask filling", "fill in mask", "masked language modeling", "fillmask"),
        undoes="clozed",
        checkpoint="distilroberta-base",
    ),
    Expert(
        "Question Answering",
        (_DOCUMENT, _QUESTION),
        TEXT,
        "answers a question from a document; takes the document and the question",
        ("text question answering", "document question answering", "extractive question answering"),
        checkpoint="distilbert-base-cased-distilled-squad",
    ),
    Expert(
        "Text Generation",
        (_TEXT,),
        TEXT,
        "continues a text in its own words; takes a text",
        ("text generator",),
        checkpoint="gpt2",
    ),
)
_OF_IMAGES = (
    Expert(
        "Image Classification",
        (_IMAGE,),
        TEXT,
        "names the class of what an image shows; takes an image",
        ("image classifier",),
        checkpoint="google/vit-base-patch16-224",
    ),
    Expert(
        "Object Detection",
        (_IMAGE,),
        TEXT,
        "lists the objects in an image; takes an image",
        ("object detector", "image object detection"),
        checkpoint="facebook/detr-resnet-101",
    ),
    Expert(
        "Colorization",
        (_IMAGE,),
        IMAGE,
        "gives a grayscale image its colors; takes an image",
        (
            "colourization",
            "colorisation",
            "colourisation",
            "image colorization",
            "image colourization",
            "image colorisation",
        ),
        undoes="grayscale",
        checkpoint="richzhang/colorization",
    ),
    Expert(
        "Image Super Resolution",
        (_IMAGE,),
        IMAGE,
        "restores the details of an image of low resolution; takes an image",
        ("super resolution", "superresolution", "image superresolution"),
        undoes="low-resolutioned",
        checkpoint="caidas/swin2SR-classical-sr-x2-64",
    ),
    Expert(
        "Image Denoising",
        (_IMAGE,),
        IMAGE,
        "removes the noise of an image; takes an image",
        ("denoising", "image denoiser", "image noise removal"),
        undoes="noisy",
        checkpoint="Restormer",
    ),
    Expert(
        "Image Deblurring",
        (_IMAGE,),
        IMAGE,
        "makes a blurry image sharp; takes an image",
        ("deblurring", "image debluring", "image deblurrer"),
        undoes="blurry",
        checkpoint="Restormer",
    ),
    Expert(
        "Visual Question Answering",
        (_IMAGE, _QUESTION),
        TEXT,
        "answers a question about an image; takes the image and the question",
        ("vqa", "image question answering", "visual qa"),
        checkpoint="microsoft/git-base-textvqa",
    ),
    Expert(
        "Image Captioning",
        (_IMAGE,),
        TEXT,
        "describes an image in one sentence; takes an image",
        ("image caption", "image caption generation", "image to text"),
        checkpoint="nlpconnect/vit-gpt2-image-captioning",
    ),
    Expert(
        "Text to Image Generation",
        (_TEXT,),
        IMAGE,
        "draws an image of what a text says; takes a text",
        ("text to image", "image generation", "text image generation"),
        checkpoint="CompVis/stable-diffusion-v1-4",
    ),
)
#: The visual APIs that Sum2Act adds and OpenAGI lacks; its visual questions are Visual Question Answering.
_OF_SUM2ACT = (
    Expert(
        "Conditioned Image Generation",
        (_IMAGE, _TEXT),
        IMAGE,
        "draws what a text says along the outlines of an image; takes the image and the text",
        ("conditioned generation", "controlnet"),
    ),
    Expert(
        "Image Editing",
        (_IMAGE, _INSTRUCTION),
        IMAGE,
        "changes an image as an instruction says; takes the image and the instruction",
        ("instruction editing", "instructpix2pix"),
        checkpoint="timbrooks/instruct-pix2pix",
    ),
    Expert(
        "Image Style Transfer",
        (_IMAGE, _TEXT),
        IMAGE,
        "draws an image again in a style; takes the image and the name of the style",
        ("style transfer",),
    ),
)

EXPERTS: Mapping[str, Expert] = MappingProxyType(
    {expert.name: expert for expert in (*_OF_TEXTS, *_OF_IMAGES, *_OF_SUM2ACT)}
)
PLANNABLE = tuple(expert.name for expert in (*_OF_TEXTS, *_OF_IMAGES))  #: the 15 names that plans of OpenAGI may use
