"""Experts that process images with transformers."""

from __future__ import annotations

from typing import Any

import torch
from transformers import (
    AutoConfig,
    AutoImageProcessor,
    AutoModelForCausalLM,
    AutoModelForImageClassification,
    AutoModelForImageToImage,
    AutoModelForObjectDetection,
    AutoModelForVisualQuestionAnswering,
    AutoTokenizer,
    VisionEncoderDecoderModel,
)

from lumos_queue.experts.backends.hf.loading import load
from lumos_queue.experts.backends.pixels import from_pixels, read_picture, read_text
from lumos_queue.util.model_loading import MODEL_LOADING

_LEAST_SCORE = 0.9  #: of a detection
_BEAMS, _CAPTION_TOKENS, _ANSWER_TOKENS = 4, 40, 20


class _Image:
    auto: Any

    def __init__(self, folder: str):
        self.model, self.device = load(self.auto, folder)
        with MODEL_LOADING:
            self.processor = AutoImageProcessor.from_pretrained(folder)

    def look(self, data: bytes) -> Any:
        return self.processor(images=read_picture(data), return_tensors="pt").to(self.device)


class ClassifyImage(_Image):
    auto = AutoModelForImageClassification

    def run(self, *inputs: bytes) -> bytes:
        with torch.inference_mode():
            scores = self.model(**self.look(inputs[0])).logits
        return str(self.model.config.id2label[int(scores.argmax())]).encode()


class DetectObjects(_Image):
    auto = AutoModelForObjectDetection

    def run(self, *inputs: bytes) -> bytes:
        """Return the labels of all objects with a sufficient score; an empty text if there are none."""
        size = read_picture(inputs[0]).size[::-1]
        with torch.inference_mode():
            output = self.model(**self.look(inputs[0]))
        detections = self.processor.post_process_object_detection(output, _LEAST_SCORE, torch.tensor([size]))[0]
        return ", ".join(self.model.config.id2label[int(label)] for label in detections["labels"]).encode()


class Enlarge(_Image):
    auto = AutoModelForImageToImage

    def run(self, *inputs: bytes) -> bytes:
        width, height = read_picture(inputs[0]).size
        with torch.inference_mode():
            picture = self.model(**self.look(inputs[0])).reconstruction[0]
        scale = getattr(self.model.config, "upscale", 1)  # pixels beyond it are padding
        return from_pixels(picture[:, : height * scale, : width * scale].permute(1, 2, 0).float().cpu().numpy())


class Caption(_Image):
    auto = VisionEncoderDecoderModel

    def __init__(self, folder: str):
        super().__init__(folder)
        with MODEL_LOADING:
            self.tokenizer = AutoTokenizer.from_pretrained(folder)

    def run(self, *inputs: bytes) -> bytes:
        with torch.inference_mode():
            output = self.model.generate(**self.look(inputs[0]), num_beams=_BEAMS, max_length=_CAPTION_TOKENS)
        return self.tokenizer.decode(output[0], skip_special_tokens=True).strip().encode()


class AnswerAboutImage:
    """A classifier over answers (ViLT), or a language model that continues the question (GIT)."""

    def __init__(self, folder: str):
        with MODEL_LOADING:
            self.classifies = AutoConfig.from_pretrained(folder).model_type == "vilt"
        auto = AutoModelForVisualQuestionAnswering if self.classifies else AutoModelForCausalLM
        self.model, self.device = load(auto, folder)
        with MODEL_LOADING:
            self.images = AutoImageProcessor.from_pretrained(folder)
            self.tokenizer = AutoTokenizer.from_pretrained(folder)

    def run(self, *inputs: bytes) -> bytes:
        image_inputs = self.images(images=read_picture(inputs[0]), return_tensors="pt").to(self.device)
        question = self.tokenizer(read_text(inputs[1]), add_special_tokens=self.classifies, return_tensors="pt")
        question = question.to(self.device)
        with torch.inference_mode():
            if self.classifies:
                answer = int(self.model(**image_inputs, **question).logits.argmax())
                return str(self.model.config.id2label[answer]).encode()
            words = torch.cat([torch.full((1, 1), self.tokenizer.cls_token_id), question["input_ids"].cpu()], dim=1)
            words = words.to(self.device)
            output = self.model.generate(
                pixel_values=image_inputs["pixel_values"], input_ids=words, max_new_tokens=_ANSWER_TOKENS
            )
        return self.tokenizer.decode(output[0, words.shape[1] :], skip_special_tokens=True).strip().encode()
