"""Checkpoints as their repositories have them: the true number of layers and heads, a few units a
head, made weights."""

import io
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from safetensors.torch import save
from torch import Tensor, nn
from transformers import AutoModelForCausalLM, AutoModelForMaskedLM, BertConfig, BertForPreTraining
from transformers.pytorch_utils import Conv1D

from bertshift.models.families import FAMILIES as FAMILY_ROWS
from bertshift.models.family import matrix
from bertshift.models.tokenizer import load_tokenizer
from bertshift.seeds import seed_from
from bertshift.training.architectures import config_of
from bertshift.training.vocabulary import SPECIAL_TOKENS, save_bert_tokenizer, train_byte_bpe

UNITS = 4  # of a head
NARROWEST = 32
POSITIONS = 512
UNUSED = 10
PIECES = 2000
FAMILIES = {"FacebookAI/roberta-base": "roberta", "openai-community/gpt2": "gpt2"}


def repositories(bases: Mapping, texts: Iterable[str]) -> dict[tuple[str, str], dict[str, bytes]]:
    """{(repository, commit): {path: content}} for every checkpoint of `bases` that names a place
    on the hub."""
    vocabularies, found = {}, {}
    texts = list(texts)
    for base in bases.values():
        lowercase = "uncased" in base["vocabulary"]
        if lowercase not in vocabularies:
            vocabularies[lowercase] = vocabulary(texts, lowercase)
        for checkpoint in base["checkpoints"]:
            place = checkpoint["hub"], checkpoint["revision"]
            if family := FAMILIES.get(place[0]):
                found[place] = files_of(family, base["layers"], base["heads"], texts)
                continue
            found[place] = files(
                place[0], base["layers"], base["heads"], vocabularies[lowercase], lowercase
            )
    return found


def overlay(bases: Mapping) -> dict:
    """Configuration by which every table and caption says that these are not the checkpoints of
    that name."""
    return {
        "bases": {
            name: {
                "checkpoints": [
                    {**each, "label": f"rehearsal, not {each['hub']}"}
                    for each in base["checkpoints"]
                ]
            }
            for name, base in bases.items()
        }
    }


def vocabulary(texts: Iterable[str], lowercase: bool) -> list[str]:
    """Every word of `texts`, and letters for the rest."""
    words = Counter()
    for text in texts:
        words.update(re.findall(r"\w+|[^\w\s]", text.lower() if lowercase else text))
    letters = sorted({letter for word in words for letter in word})
    pieces = [
        *letters,
        *(f"##{letter}" for letter in letters),
        *(w for w in sorted(words) if len(w) > 1),
    ]
    pad, *others = SPECIAL_TOKENS
    return [pad, *(f"[unused{n}]" for n in range(UNUSED)), *others, *pieces]


def files(
    repository: str, layers: int, heads: int, words: list[str], lowercase: bool
) -> dict[str, bytes]:
    """What the repository holds, but for other frameworks' weights."""
    width = max(UNITS * heads, NARROWEST)
    config = BertConfig(
        vocab_size=len(words), hidden_size=width, num_hidden_layers=layers, num_attention_heads=heads,
        intermediate_size=2 * width, max_position_embeddings=POSITIONS,
        # On a CPU dropout takes most of the time of a narrow model.
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
    )  # fmt: skip
    model = BertForPreTraining(config)
    draw(model, seed_from("rehearsal", repository))
    state = model.state_dict()
    keys = ("architectures", "model_type", "vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads",
            "intermediate_size", "hidden_act", "hidden_dropout_prob", "attention_probs_dropout_prob", "initializer_range",
            "max_position_embeddings", "type_vocab_size", "layer_norm_eps", "pad_token_id")  # fmt: skip
    described = {**config.to_dict(), "architectures": ["BertForPreTraining"]}
    described = {key: described[key] for key in keys}
    found = {
        "config.json": json.dumps(described).encode(),
        "vocab.txt": "".join(f"{word}\n" for word in words).encode(),
    }
    if repository.startswith("google-bert/"):
        # The first of them were converted from TensorFlow, with its names.
        tensors = {
            _first_name(key): value.clone() for key, value in state.items() if "_ids" not in key
        }
        found["model.safetensors"] = save(tensors, metadata={"format": "pt"})
        found["pytorch_model.bin"] = _pickle(tensors)
        with TemporaryDirectory() as folder:
            save_bert_tokenizer(words, lowercase, Path(folder))
            found["tokenizer.json"] = (Path(folder) / "tokenizer.json").read_bytes()
    else:
        found["pytorch_model.bin"] = _pickle({key: value.clone() for key, value in state.items()})
    if "bert_uncased_L-" not in repository:
        found["tokenizer_config.json"] = json.dumps({"do_lower_case": lowercase}).encode()
    return found


def files_of(family: str, layers: int, heads: int, texts: Iterable[str]) -> dict[str, bytes]:
    """What a repository of another family than BERT's holds."""
    width = max(UNITS * heads, NARROWEST)
    shape = {
        "num_hidden_layers": layers, "num_attention_heads": heads, "hidden_size": width, "intermediate_size": 2 * width,
        "max_position_embeddings": POSITIONS, "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0,
    }  # fmt: skip
    with TemporaryDirectory() as folder:
        train_byte_bpe(texts, PIECES, False, family, Path(folder))
        tokenizer = load_tokenizer(Path(folder))
        names = ("bos_token_id", "eos_token_id", "pad_token_id")
        special = {name: getattr(tokenizer, name) for name in names}
        config = config_of(family, shape, len(tokenizer), special, POSITIONS)
        kind = AutoModelForCausalLM if FAMILY_ROWS[family].causal else AutoModelForMaskedLM
        model = kind.from_config(config)
        draw(model, seed_from("rehearsal", family))
        model.save_pretrained(folder)
        return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


def draw(model: nn.Module, seed: int) -> None:
    """Weights from which a task is learnt in tens of steps: words that lie far apart, and layers
    that change them little."""
    generator = torch.Generator().manual_seed(seed)

    def normal(tensor: Tensor, std: float) -> None:
        with torch.no_grad():
            tensor.normal_(0, std, generator=generator)

    for name, part in model.named_modules():
        if isinstance(part, nn.Embedding):
            normal(part.weight, 1.0 if name.endswith(("word_embeddings", "wte")) else 0.2)
        elif isinstance(part, nn.Linear | Conv1D):
            if name != "lm_head":  # whose weights are those of the words
                normal(part.weight, _gain(name) * matrix(part).shape[1] ** -0.5)
            if part.bias is not None:
                nn.init.zeros_(part.bias)


def _gain(name: str) -> float:
    """Return the gain of a map: what it makes of the length of its input."""
    return 0.2 if name.endswith(("output.dense", "c_proj")) else 1.0


def _first_name(key: str) -> str:
    return key.replace("LayerNorm.weight", "LayerNorm.gamma").replace(
        "LayerNorm.bias", "LayerNorm.beta"
    )


def _pickle(state: Mapping[str, Tensor]) -> bytes:
    sink = io.BytesIO()
    torch.save(dict(state), sink)
    return sink.getvalue()
