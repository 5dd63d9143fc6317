# The names that this project imports from transformers, for pyright alone. The library's own __init__.py imports the
# modules of every model: pyright would read 2,200 files (docs/decisions/0043). A new name is a new line here.
from transformers.cache_utils import (
    Cache as Cache,
    DynamicCache as DynamicCache,
    EncoderDecoderCache as EncoderDecoderCache,
)
from transformers.data.data_collator import DataCollatorForSeq2Seq as DataCollatorForSeq2Seq
from transformers.generation.configuration_utils import GenerationConfig as GenerationConfig
from transformers.modeling_utils import PreTrainedModel as PreTrainedModel
from transformers.models.auto.configuration_auto import AutoConfig as AutoConfig
from transformers.models.auto.image_processing_auto import AutoImageProcessor as AutoImageProcessor
from transformers.models.auto.modeling_auto import (
    AutoModel as AutoModel,
    AutoModelForCausalLM as AutoModelForCausalLM,
    AutoModelForImageClassification as AutoModelForImageClassification,
    AutoModelForImageToImage as AutoModelForImageToImage,
    AutoModelForMaskedLM as AutoModelForMaskedLM,
    AutoModelForObjectDetection as AutoModelForObjectDetection,
    AutoModelForQuestionAnswering as AutoModelForQuestionAnswering,
    AutoModelForSeq2SeqLM as AutoModelForSeq2SeqLM,
    AutoModelForSequenceClassification as AutoModelForSequenceClassification,
    AutoModelForVisualQuestionAnswering as AutoModelForVisualQuestionAnswering,
)
from transformers.models.auto.tokenization_auto import AutoTokenizer as AutoTokenizer
from transformers.models.clip.modeling_clip import CLIPModel as CLIPModel
from transformers.models.dpr.modeling_dpr import DPRReader as DPRReader
from transformers.models.llama.configuration_llama import LlamaConfig as LlamaConfig
from transformers.models.llama.modeling_llama import LlamaForCausalLM as LlamaForCausalLM
from transformers.models.vision_encoder_decoder.modeling_vision_encoder_decoder import (
    VisionEncoderDecoderModel as VisionEncoderDecoderModel,
)
from transformers.tokenization_utils_base import PreTrainedTokenizerBase as PreTrainedTokenizerBase
from transformers.tokenization_utils_tokenizers import PreTrainedTokenizerFast as PreTrainedTokenizerFast
from transformers.trainer import Trainer as Trainer
from transformers.trainer_callback import TrainerCallback as TrainerCallback
from transformers.training_args import TrainingArguments as TrainingArguments
