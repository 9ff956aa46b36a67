"""Tiny models of many families with random weights, and a tokenizer of every kind for a few
sentences."""

import json
import tempfile
from functools import cache
from pathlib import Path

import torch
from tokenizers import (
    AddedToken,
    Tokenizer,
    decoders,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)
from tokenizers import models as kinds
from torch import Tensor, nn
from transformers import CONFIG_MAPPING, MODEL_MAPPING, PreTrainedModel

from bertshift.models.tokenizer import load_tokenizer

torch.set_num_threads(1)
LAYERS, HEADS, WIDTH, VOCABULARY = 4, 4, 32, 600
ENCODERS = ("bert", "electra", "roberta", "xlm-roberta", "camembert", "distilbert", "albert", "deberta-v2", "mpnet",
            "modernbert")  # fmt: skip
DECODERS = ("gpt2", "gpt_neox", "llama", "qwen3", "olmo2")
WITHOUT_ROW = ("eurobert", "nomic_bert", "opt", "phi3")
FAMILIES = ENCODERS + DECODERS + WITHOUT_ROW

# The tokenizer that a family's published checkpoints have, by one of its kind.
TOKENIZER_OF = {
    "roberta": "roberta", "xlm-roberta": "xlm-roberta", "camembert": "xlm-roberta", "albert": "albert",
    "deberta-v2": "albert", "mpnet": "mpnet", "modernbert": "modernbert", "gpt2": "gpt2", "gpt_neox": "gpt2",
    "llama": "llama", "qwen3": "gpt2", "olmo2": "gpt2", "eurobert": "gpt2", "opt": "gpt2", "phi3": "llama",
    "xmod": "xlm-roberta",
}  # fmt: skip
OWN = {
    "distilbert": {"dim": WIDTH, "n_layers": LAYERS, "n_heads": HEADS, "hidden_dim": 48},
    "gpt2": {"n_embd": WIDTH, "n_layer": LAYERS, "n_head": HEADS, "n_positions": 64, "n_inner": 48},
    "albert": {"embedding_size": 16},
    "electra": {"embedding_size": 16},
    "llama": {"num_key_value_heads": 2},
    "qwen3": {"num_key_value_heads": 2, "head_dim": 16},
    "olmo2": {"num_key_value_heads": 4},
    "phi3": {"num_key_value_heads": 2},
    "modernbert": {"local_attention": 8, "global_attn_every_n_layers": 3},
    "deberta-v2": {
        "relative_attention": True, "pos_att_type": ["p2c", "c2p"], "share_att_key": True, "position_buckets": 16,
        "position_biased_input": False, "type_vocab_size": 0, "norm_rel_ebd": "layer_norm",
    },
    "xmod": {"default_language": "en_XX", "languages": ["en_XX"]},
    "opt": {"ffn_dim": 48, "word_embed_proj_dim": WIDTH},
    "gemma2": {"num_key_value_heads": 2, "head_dim": 8, "attn_logit_softcapping": 1.0, "query_pre_attn_scalar": 8},
}  # fmt: skip
OWN |= {kind: {"type_vocab_size": 1} for kind in ("roberta", "xlm-roberta", "camembert")}
OLD_NAMES = {"gpt2", "distilbert"}


def model_of(kind: str, seed: int = 0, **changes) -> PreTrainedModel:
    """4 layers of 4 heads and width 32, in eval mode with eager attention; every weight random,
    norms and biases too."""
    padding = None if kind in DECODERS else tokenizer_of(kind).pad_token_id  # as published
    common = {"vocab_size": VOCABULARY, "pad_token_id": padding}
    if kind not in OLD_NAMES:
        common |= {
            "hidden_size": WIDTH,
            "num_hidden_layers": LAYERS,
            "num_attention_heads": HEADS,
            "intermediate_size": 48,
        }
    if kind != "gpt2":
        common["max_position_embeddings"] = 64
    common |= dict.fromkeys(("bos_token_id", "eos_token_id", "cls_token_id", "sep_token_id"), 2)
    config = CONFIG_MAPPING[kind](**common | OWN.get(kind, {}) | changes)
    config._attn_implementation = "eager"
    state = torch.random.get_rng_state()
    torch.manual_seed(seed)
    model = MODEL_MAPPING[type(config)](config).eval()
    for weight in model.parameters():
        if weight.dim() > 1:
            nn.init.normal_(weight, 0, 0.2)
        else:
            weight.data += 0.1 * torch.randn_like(weight)
    torch.random.set_rng_state(state)
    return model


def copied(model: nn.Module) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in model.state_dict().items()}


def changed(before: dict[str, Tensor], model: nn.Module) -> set[str]:
    """Return the names of what is not as it was `before`, which is what `copied` gave."""
    now = model.state_dict()
    return {name for name, value in before.items() if not torch.equal(value, now[name])}


def inputs_of(kind: str) -> dict[str, Tensor]:
    """Two texts of 12 and 8 tokens that are not special."""
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(10, VOCABULARY, (2, 12), generator=generator)
    mask = torch.ones_like(ids)
    mask[1, 8:] = 0
    ids[mask == 0] = tokenizer_of(kind).pad_token_id
    return {"input_ids": ids, "attention_mask": mask}


TEXTS = (
    "the old house stood near the river and nobody had lived there for many years",
    "she didn't know whether the letter was from her brother or from somebody else",
    "a small dog ran across the street, and the man who owned it ran after it",
    "Paris, London and Rome are cities; 1 000 people said so in 1999.",
    "the café has a naïve façade, as the Straße in Köln has",
    "children were singing while their mother was cooking dinner in the kitchen",
)
SPECIAL = {
    "bert": {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"},
    "mpnet": {"bos": "<s>", "pad": "<pad>", "eos": "</s>", "unk": "[UNK]", "mask": "<mask>"},
    "roberta": {"bos": "<s>", "pad": "<pad>", "eos": "</s>", "unk": "<unk>", "mask": "<mask>"},
    "gpt2": {"eos": "<|endoftext|>"},
    "modernbert": {"unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "pad": "[PAD]", "mask": "[MASK]"},
    "xlm-roberta": {"bos": "<s>", "pad": "<pad>", "eos": "</s>", "unk": "<unk>", "mask": "<mask>"},
    "albert": {"pad": "<pad>", "unk": "<unk>", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"},
    "llama": {"unk": "<unk>", "bos": "<s>", "eos": "</s>"},
}  # fmt: skip
TOKENIZERS = tuple(SPECIAL)
CLASSES = {
    "bert": "BertTokenizer", "mpnet": "MPNetTokenizer", "roberta": "RobertaTokenizer", "gpt2": "GPT2Tokenizer",
    "modernbert": "PreTrainedTokenizerFast", "xlm-roberta": "XLMRobertaTokenizer", "albert": "AlbertTokenizer",
    "llama": "LlamaTokenizer",
}  # fmt: skip


ENDINGS = ("ing", "ed", "er", "s", "se", "le")


def made_tokenizer(kind: str) -> Tokenizer:
    """Build a tokenizer of this kind as the library `tokenizers` does, with a vocabulary from
    TEXTS, the same in every process."""
    special = list(SPECIAL[kind].values())
    words, letters = sorted({*" ".join(TEXTS).split()}), sorted({*"".join(TEXTS)} - {" "})
    if kind in ("bert", "mpnet"):
        lower = sorted({*map(str.lower, letters)} - {*"ïéßç"})
        vocabulary = [*special, *lower, *(f"##{letter}" for letter in (*lower, *ENDINGS))]
        vocabulary += [
            word
            for word in words
            if word.isalpha() and word.isascii() and word.islower() and len(word) > 1
        ]
        tokenizer = Tokenizer(
            kinds.WordPiece(
                {one: i for i, one in enumerate(dict.fromkeys(vocabulary))}, unk_token="[UNK]"
            )
        )
        tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
        tokenizer.pre_tokenizer, tokenizer.decoder = (
            pre_tokenizers.BertPreTokenizer(),
            decoders.WordPiece(),
        )
    elif kind in ("roberta", "gpt2", "modernbert"):
        tokenizer = Tokenizer(kinds.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        trainer = trainers.BpeTrainer(
            vocab_size=420, special_tokens=special, show_progress=False, initial_alphabet=alphabet
        )
        tokenizer.train_from_iterator(TEXTS, trainer)
    elif kind == "llama":
        tokenizer = Tokenizer(kinds.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
        first = [*special, *(f"<0x{number:02X}>" for number in range(256))]
        trainer = trainers.BpeTrainer(vocab_size=500, special_tokens=first, show_progress=False)
        tokenizer.train_from_iterator(TEXTS, trainer)
        state = json.loads(tokenizer.to_str())
        state["added_tokens"] = state["added_tokens"][
            : len(special)
        ]  # bytes are pieces like others
        tokenizer = Tokenizer.from_str(json.dumps(state | {"pre_tokenizer": None}))
        tokenizer.normalizer = normalizers.Sequence(
            [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
        )
        tokenizer.decoder = decoders.Metaspace()
    else:
        scores = [
            *((one, 0.0) for one in special),
            ("▁", -3.0),
            *((letter, -6.0) for letter in letters),
        ]
        scores += [(f"▁{word}", -7.0) for word in words if len(word) < 6] + [
            (one, -5.0) for one in ENDINGS
        ]
        scores = list(dict(scores).items())
        tokenizer = Tokenizer(kinds.Unigram(scores, unk_id=special.index("<unk>")))
        tokenizer.normalizer = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC()])
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]
        )
        tokenizer.decoder = decoders.Metaspace()
    tokenizer.add_special_tokens(special)
    first, last = _ends(kind)
    if kind == "llama":
        tokenizer.post_processor = processors.TemplateProcessing(
            single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", 1)]
        )
    elif first:
        again = f" {last}" if first == "<s>" else ""
        second = ":1" if kind in ("bert", "albert") else ""
        tokenizer.post_processor = processors.TemplateProcessing(
            single=f"{first} $A {last}",
            pair=f"{first} $A {last}{again} $B{second} {last}{second}",
            special_tokens=[(one, tokenizer.token_to_id(one)) for one in (first, last)],
        )
    if kind in ("roberta", "mpnet", "xlm-roberta"):  # their masks take the space before them
        tokenizer.add_special_tokens([AddedToken("<mask>", lstrip=True)])
    return tokenizer


def _ends(kind: str) -> tuple[str, str]:
    special = SPECIAL[kind]
    if kind in ("gpt2", "llama"):
        return "", ""
    return special.get("cls") or special["bos"], special.get("sep") or special["eos"]


def tokenizer_folder(kind: str, folder: Path, config: bool = True) -> Path:
    """tokenizer.json and, if asked, tokenizer_config.json as a hub has them."""
    folder.mkdir(parents=True, exist_ok=True)
    made_tokenizer(kind).save(str(folder / "tokenizer.json"))
    if config:
        names = {f"{key}_token": token for key, token in SPECIAL[kind].items()}
        if kind == "gpt2":
            names |= {"bos_token": names["eos_token"], "unk_token": names["eos_token"]}
        if kind in ("roberta", "mpnet", "xlm-roberta"):
            names |= {"cls_token": "<s>", "sep_token": "</s>"}
        said = {"tokenizer_class": CLASSES[kind]} | names
        (folder / "tokenizer_config.json").write_text(json.dumps(said))
    return folder


@cache
def tokenizer(kind: str):
    """Load the made tokenizer of this kind as the project reads it."""
    with tempfile.TemporaryDirectory() as folder:
        return load_tokenizer(tokenizer_folder(kind, Path(folder)))


def tokenizer_of(family: str):
    return tokenizer(TOKENIZER_OF.get(family, "bert"))
