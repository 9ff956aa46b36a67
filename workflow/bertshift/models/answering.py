"""What a checkpoint answers: the head that it was published with, on states of its last layer.

A head is one that classifies texts, or predicts masked or next words, by transformers' class that
config.json names; or the workflow's own classifier. It runs alone, on states that the layers have
given before.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import safe_open
from torch import Tensor, nn
from transformers import (
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForSequenceClassification,
    PreTrainedConfig,
    PreTrainedModel,
)
from transformers.modeling_outputs import (
    BaseModelOutputWithPoolingAndCrossAttentions,
    SequenceClassifierOutput,
)
from transformers.models.auto import modeling_auto

from bertshift.data.examples import SIDECAR
from bertshift.errors import UserError
from bertshift.files import read_json
from bertshift.models.family import family_of, run
from bertshift.models.heads import HEADS, SequenceClassifier, load_task_model
from bertshift.models.layers import norms_of, pooled
from bertshift.models.loading import WEIGHTS, load_config, quietly_read
from bertshift.models.seal import check_seal

CLASSES, MASKED, NEXT = "classes", "masked", "next"
LOADERS = {
    CLASSES: AutoModelForSequenceClassification,
    MASKED: AutoModelForMaskedLM,
    NEXT: AutoModelForCausalLM,
}
ARCHITECTURES = {
    CLASSES: modeling_auto.MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES,
    MASKED: modeling_auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES,
    NEXT: modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
}
# Such a class has a head for masked words beside another one, if its weights have it.
PRETRAINED = "ForPreTraining"
# Of the logits' norm, or of 1 where that is less. Rounding is a tenth of it, and another head, or
# one that reads something else, is a thousand times as far.
TOLERANCE = 1e-4


@dataclass(frozen=True)
class Head:
    """A model's head, of one of the kinds above, and the names of its classes, one if it gives a
    number; or the reason why there is none that can be asked."""

    kind: str = ""
    labels: tuple[str, ...] = ()
    reason: str = ""


def head_of_class(architecture: str, config: PreTrainedConfig, name: str) -> Head:
    """Describe the head of transformers' class `architecture`. name: of the model, in reasons."""
    kind = _kind_of(architecture)
    if not kind:
        named = f" ({architecture})" if architecture else ""
        return Head(reason=f"{name}{named} has no head that classifies texts or predicts words")
    if kind != CLASSES:
        return Head(kind)
    labels = tuple(str(config.id2label.get(number, number)) for number in range(config.num_labels))
    if len({*labels}) < len(labels):
        return Head(reason=f"{name} has two labels of one name")
    problem = getattr(config, "problem_type", None)
    if problem == "multi_label_classification":
        return Head(reason=f"{name} gives a text several labels at once, and not one of them")
    if problem == "regression" and len(labels) > 1:
        return Head(reason=f"{name} gives a text {len(labels)} numbers, and not one")
    return Head(kind, labels)


def head_of_run(architecture: str, folder: Path, name: str) -> Head:
    """Describe the head, of the workflow's class `architecture`, in the folder of a fine-tuning.

    Its data set names the classes: in results/data, beside results/models. Classes of a folder
    that was moved away from there have numbers: `mnli 0`.
    """
    if architecture != SequenceClassifier.__name__:
        return Head(reason=f"{name} ({architecture}) has a head that does not classify texts")
    scores = folder / "scores.json"
    if not scores.is_file():
        return Head(reason=f"{name} has no scores.json, which says what its head was trained on")
    dataset = read_json(scores)["dataset"]
    outputs = _count_outputs(folder / WEIGHTS)
    if outputs == 1:
        return Head(CLASSES, (dataset,))
    return Head(CLASSES, _names_of_classes(folder, dataset, outputs))


def _count_outputs(weights: Path) -> int:
    """Count the outputs of a classifier by the shape of its last layer."""
    with safe_open(weights, framework="pt") as file:
        names = {*file.keys()}
        last = "head.out.weight" if "head.out.weight" in names else "head.weight"
        outputs, _ = file.get_slice(last).get_shape()
    return outputs


def _names_of_classes(folder: Path, dataset: str, outputs: int) -> tuple[str, ...]:
    sidecar = folder / "../../../data" / dataset / SIDECAR
    labels = read_json(sidecar)["labels"] if sidecar.is_file() else []
    if len(labels) == outputs:
        return tuple(labels)
    return tuple(f"{dataset} {number}" for number in range(outputs))


def _kind_of(architecture: str) -> str:
    for kind, names in ARCHITECTURES.items():
        if architecture in names.values():
            return kind
    return MASKED if architecture.endswith(PRETRAINED) else ""


def architecture_of(config: PreTrainedConfig) -> str:
    """Return the class that config.json names; empty where it names none."""
    return str((config.architectures or [""])[0])


def has_task_head(config: PreTrainedConfig) -> bool:
    """Test whether a model folder holds a head of the workflow's."""
    return architecture_of(config) in HEADS


class Classifier(nn.Module):
    """A fine-tuned model of the workflow's, called as one of transformers' classes is."""

    def __init__(self, task_model: SequenceClassifier):
        super().__init__()
        self.task_model, self.base_model = task_model, task_model.encoder
        self.config = task_model.encoder.config

    @property
    def device(self) -> torch.device:
        return self.base_model.device

    def forward(self, use_cache: bool = False, **inputs: Tensor | None):
        return SequenceClassifierOutput(logits=self.task_model(**inputs))


def load_answering(folder: Path, kind: str) -> PreTrainedModel | Classifier:
    """Load a model with its head of this kind from a model folder, in float32 and eval mode.

    UserError where the weights lack a part of the head, or have it in another shape, so that it
    would be drawn at random.
    """
    folder = Path(folder)
    config = load_config(folder)
    if has_task_head(config):
        return Classifier(load_task_model(folder)).eval()
    if type(config) not in LOADERS[kind]._model_mapping:
        raise UserError(f"{folder}: transformers has no such head for {config.model_type} models.")
    check_seal(folder / WEIGHTS)
    try:
        model, report = quietly_read(LOADERS[kind], folder, config)
    except RuntimeError as error:  # of another shape
        raise UserError(f"{folder}: its head does not fit its configuration.") from error
    missing = [name for name in report["missing_keys"] if not name.endswith("_ids")]
    if missing:
        raise UserError(f"{folder}: its weights lack {min(missing)}, which its head needs.")
    return model.eval()


class Answering:
    """A model whose head runs alone. name: of the model, in errors.

    UserError for a head of another direction than the model: a decoder predicts next words, an
    encoder masked ones.
    """

    def __init__(self, model: PreTrainedModel | Classifier, kind: str, name: str):
        self.model, self.kind, self.name = model, kind, name
        self.base = model.base_model
        model.family = family_of(self.base)  # the whole is run as its base is
        if kind != CLASSES and model.family.causal != (kind == NEXT):
            raise UserError(f"{name} reads words in another direction than its head predicts.")

    @torch.inference_mode()
    def logits(self, states: Tensor, ids: Tensor) -> Tensor:
        """Compute the head's logits from the last states of the base model, [examples, tokens,
        width], of the tokens `ids` [examples, tokens]: [examples, classes], or [examples, tokens,
        vocabulary].

        UserError for a head that does not read its base model's output.
        """
        pooler = getattr(self.base, "pooler", None)
        output = BaseModelOutputWithPoolingAndCrossAttentions(
            states, None if pooler is None else pooled(self.base, states)
        )
        with _giving(self.base, output) as calls:
            logits = self.model(input_ids=ids).logits
        if not calls:
            raise UserError(f"the head of {self.name} cannot be run alone.")
        return logits

    @torch.inference_mode()
    def after(self, states: Tensor) -> Tensor:
        """Compute the base model's last states from those of its last layer: a final norm, if
        there is one."""
        for norm in norms_of(self.base):
            states = norm(states)
        return states

    @torch.inference_mode()
    def read(self, **inputs: Tensor) -> Tensor:
        """Run the base model: its last states [examples, tokens, width]."""
        return run(self.base, **inputs).last_hidden_state

    @torch.inference_mode()
    def check(self, states: Tensor, inputs: Mapping[str, Tensor]) -> None:
        """Raise UserError where the whole model gives other logits for the `inputs`, of one
        example, than the head alone on its `states` [1, tokens, width]."""
        whole = run(self.model, **inputs).logits
        if not are_equal(self.logits(states, inputs["input_ids"]), whole, TOLERANCE):
            raise UserError(
                f"{self.name} has a head that reads more than the states of its last layer."
            )


def are_equal(logits: Tensor, others: Tensor, tolerance: float) -> bool:
    """Test whether logits are the same up to a share of their norm, or of 1 where that is less."""
    if logits.shape != others.shape:
        return False
    others = others.float()
    distances = (logits.to(others) - others).norm(dim=-1)
    return bool((distances <= tolerance * others.norm(dim=-1).clamp(min=1)).all())


@contextmanager
def _giving(base: nn.Module, output: object) -> Iterator[list]:
    """Let the base model return an output, whatever its input, inside the block, and list its
    calls."""
    calls = []

    def give(*_, **__) -> object:
        calls.append(output)
        return output

    base.forward = give
    try:
        yield calls
    finally:
        del base.forward
