import json

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer
from transformers import (
    CONFIG_MAPPING,
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    BertConfig,
    BertForPreTraining,
)

from bertshift.data.documents import read_documents
from bertshift.errors import UserError
from bertshift.models.families import FAMILIES
from bertshift.models.loading import load_encoder
from bertshift.models.tokenizer import load_tokenizer
from bertshift.training.architectures import config_of
from bertshift.training.norms import layer_groups
from bertshift.training.pretraining import (
    Lengths,
    PieceIds,
    Words,
    draw_examples,
    encode_documents,
    loss,
    mask,
    pretrain,
    segment_pairs,
    split_held_out,
)
from bertshift.training.settings import TrainSettings
from bertshift.training.vocabulary import train_byte_bpe, train_wordpiece

IDS = PieceIds(pad=0, cls=2, sep=3, mask=4, ordinary=np.arange(5, 400))
ARCHITECTURE = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64,
                "max_position_embeddings": 32}  # fmt: skip
SETTINGS = TrainSettings(learning_rate=5e-3, batch_size=16, steps=120, warmup=0.1)


def numbered_documents(n: int = 40, sentences: int = 12) -> list[list[list[int]]]:
    """Sentence j of document i is a few times the piece 5 + (12 i + j) modulo 395: no piece in two
    of the first 30."""
    generator = np.random.default_rng(0)
    return [
        [[5 + (sentences * i + j) % 395] * int(generator.integers(2, 9)) for j in range(sentences)]
        for i in range(n)
    ]


def sentences(n: int, generator: np.random.Generator) -> list[str]:
    """Sentences in which every noun goes with one verb."""
    pairs = ["dogs bark", "cats purr", "cows moo", "ducks quack", "owls hoot", "bees hum"]
    return [
        f"the {pairs[generator.integers(6)]} in the {['garden', 'forest'][i % 2]} ."
        for i in range(n)
    ]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    generator = np.random.default_rng(1)
    documents = [sentences(6, generator) for _ in range(60)]
    folder = tmp_path_factory.mktemp("tokenizer")
    train_wordpiece(
        [sentence for document in documents for sentence in document], 150, True, folder
    )
    return documents, folder


def test_documents_of_a_corpus_file(tmp_path):
    path = tmp_path / "corpus.txt"
    path.write_text("\n\nOne.\n Two. \n\n \nThree.\n\n")
    assert read_documents(path) == [["One.", "Two."], ["Three."]]
    path.write_text("\n\n")
    for name in ("corpus.txt", "absent.txt"):
        with pytest.raises(UserError, match=name):
            read_documents(tmp_path / name)


@pytest.mark.parametrize("wanted", [0.15, 0.3])
def test_masking_statistics(wanted):
    """The wanted share of the pieces, of these 80 / 10 / 10, never a special one; tolerances of
    about 5 standard errors."""
    generator = np.random.default_rng(0)
    first, second = list(range(5, 35)), list(range(35, 65))
    row = np.array([IDS.cls, *first, IDS.sep, *second, IDS.sep])
    found = np.tile(row, (3000, 1))
    chosen = np.zeros(found.shape, bool)
    for i in range(len(found)):
        example = mask(first, second, 0, IDS, wanted, generator)
        found[i] = example.input_ids
        chosen[i, example.target[0]] = True
        assert example.target[1] == row[example.target[0]].tolist()
    assert example.token_type_ids == [0] * 32 + [1] * 31
    special = np.isin(row, [IDS.cls, IDS.sep])
    assert not chosen[:, special].any() and not (found != row)[~chosen].any()
    share = chosen[:, ~special].mean(0)
    assert share.mean() == pytest.approx(round(wanted * len(row)) / 60, rel=1e-9)
    assert np.abs(share - share.mean()).max() < 0.035
    assert (found == IDS.mask)[chosen].mean() == pytest.approx(0.8, abs=0.012)
    # A random piece is the true one once in 395 draws.
    assert (found == row)[chosen].mean() == pytest.approx(0.1, abs=0.009)


def test_half_of_the_second_segments_follow_and_the_rest_are_of_another_document():
    documents, generator = numbered_documents()[:30], np.random.default_rng(0)
    document_of = {one[0]: i for i, document in enumerate(documents) for one in document}
    labels, lengths = [], []
    for home in 10 * list(range(30)):
        for first, second, is_random in segment_pairs(
            documents, home, Lengths(longest=32), generator
        ):
            assert {document_of[piece] for piece in first} == {home}
            [other] = {document_of[piece] for piece in second}
            assert (other != home) == is_random
            assert is_random or (first == sorted(first) and first[-1] < second[0])
            labels.append(is_random)
            lengths.append(len(first) + len(second))
    assert np.mean(labels) == pytest.approx(0.5, abs=0.05)
    assert max(lengths) == 29 and 0.02 < np.mean(np.array(lengths) < 12) < 0.25


def test_every_epoch_is_drawn_anew_and_by_its_generator_alone():
    one, same, other = (
        draw_examples(numbered_documents(), IDS, Lengths(longest=32), np.random.default_rng(seed))
        for seed in (0, 0, 1)
    )
    assert one == same != other and max(map(len, one)) <= 32


def test_held_out_documents_are_two_percent():
    documents = numbered_documents(100)
    training, held_out = split_held_out(documents)
    assert (len(training), len(held_out)) == (98, 2)
    assert not any(document in training for document in held_out)


def test_short_sequences_have_their_share_and_length():
    generator = np.random.default_rng(0)
    fixed, original = Lengths(longest=64, short=0.8, short_length=24), Lengths(longest=64)
    fixed = np.array([fixed.draw(generator) for _ in range(5000)])
    original = np.array([original.draw(generator) for _ in range(5000)])
    assert set(fixed) == {61, 21} and np.mean(fixed == 21) == pytest.approx(0.8, abs=0.02)
    assert set(original) >= set(range(2, 62))
    assert np.mean(original == 61) == pytest.approx(0.9, abs=0.02)


@pytest.mark.parametrize(
    ("documents", "changes", "longest", "words"),
    [
        (2, {}, 32, "three documents"),
        (9, {"hiden_size": 8}, 32, "hiden_size"),
        (9, {"num_attention_heads": 3}, 32, "multiple of num_attention_heads"),
        (9, {}, 33, "max_position_embeddings"),
    ],
)
def test_input_that_cannot_be_trained_on_is_named(
    corpus, tmp_path, documents, changes, longest, words
):
    texts, folder = corpus[0][:documents], corpus[1]
    with pytest.raises(UserError, match=words):
        pretrain(
            texts, folder, ARCHITECTURE | changes, SETTINGS, 0, tmp_path, Lengths(longest=longest)
        )


@pytest.fixture(scope="module")
def byte_level(corpus, tmp_path_factory):
    """{"roberta", "gpt2": folder with a vocabulary}"""
    folder = tmp_path_factory.mktemp("byte_level")
    texts = [sentence for document in corpus[0] for sentence in document]
    for special in ("roberta", "gpt2"):
        train_byte_bpe(texts, 330, True, special, folder / special)
    return {special: folder / special for special in ("roberta", "gpt2")}


def words_of(folder, longest=32, **more):
    return Words(folder, Lengths(longest=longest, short=0.0), **more)


def test_sequences_are_consecutive_sentences_as_the_tokenizer_cuts_and_joins_them(
    corpus, byte_level
):
    words, document = words_of(byte_level["roberta"], causal=False), corpus[0][0]
    tokenizer, whole = words.tokenizer, " ".join(document)
    texts = words.texts(words.encode([document])[0], np.random.default_rng(0))
    read = [tokenizer.decode(text) for text in texts]
    for text, said in zip(texts, read, strict=True):
        joined = [tokenizer.cls_token_id, *text, tokenizer.sep_token_id]
        assert tokenizer(said)["input_ids"] == joined
    assert [len(text) for text in texts[:-1]] == [30] * (len(texts) - 1) and len(texts[-1]) <= 30
    begun = [whole.index(said) for said in read]
    assert begun[0] == 0 and begun == sorted(begun) and whole.endswith(read[-1])


def test_masked_words_alone_and_next_words(corpus, byte_level):
    encoder = words_of(byte_level["roberta"], causal=False)
    documents, tokenizer = encoder.encode(corpus[0]), encoder.tokenizer
    one, same, other = (encoder.draw(documents, np.random.default_rng(n)) for n in (0, 0, 1))
    assert one == same != other
    changed = []
    for example in one:
        positions, _ = example.target
        assert example.input_ids[0] == tokenizer.cls_token_id
        assert {0, len(example) - 1}.isdisjoint(positions)
        assert len(positions) == max(1, round(0.15 * len(example)))
        changed += np.array(example.input_ids)[positions].tolist()
    masked = np.array(changed) == tokenizer.mask_token_id
    assert masked.mean() == pytest.approx(0.8, abs=0.1)

    decoder = words_of(byte_level["gpt2"], causal=True)
    for example in decoder.draw(decoder.encode(corpus[0]), np.random.default_rng(0)):
        assert example.target == (list(range(len(example) - 1)), example.input_ids[1:])


@pytest.mark.parametrize("family", ["bert", "distilbert", "gpt2"])
def test_the_loss_is_the_full_models(corpus, byte_level, family):
    """The library decodes chosen positions alone; transformers' own loss decodes all and ignores
    the others."""
    causal, generator = FAMILIES[family].causal, np.random.default_rng(0)
    if family == "bert":
        tokenizer = Tokenizer.from_file(str(corpus[1] / "tokenizer.json"))
        ids = PieceIds.of(tokenizer)
        documents = encode_documents(corpus[0], tokenizer)
        batch = ids.collate(draw_examples(documents, ids, Lengths(longest=32), generator)[:8])
        model = BertForPreTraining(
            BertConfig(**ARCHITECTURE, vocab_size=tokenizer.get_vocab_size())
        )
    else:
        words = words_of(byte_level["gpt2" if causal else "roberta"], causal=causal)
        batch = words.ids.collate(words.draw(words.encode(corpus[0]), generator)[:7])
        special = {
            f"{name}_token_id": getattr(words.tokenizer, f"{name}_token_id")
            for name in ("pad", "bos", "eos")
        }
        config = config_of(family, ARCHITECTURE, len(words.tokenizer), special, 32)
        model = (AutoModelForCausalLM if causal else AutoModelForMaskedLM).from_config(config)
    labels = torch.full_like(batch["input_ids"], -100)
    labels.view(-1)[batch["masked"] + causal] = batch[
        "words"
    ]  # a decoder's are shifted by transformers
    inputs = {key: batch[key] for key in ("input_ids", "attention_mask")} | {"labels": labels}
    if family == "bert":
        inputs |= {
            "token_type_ids": batch["token_type_ids"],
            "next_sentence_label": batch["is_random"],
        }
        assert list(layer_groups(model)) == ["embeddings", "1", "2", "pooler", "head"]
    torch.testing.assert_close(loss(model.eval(), batch), model(**inputs).loss)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_can_be_made_of_one_set_of_keys(family):
    special = {f"{name}_token_id": number for number, name in enumerate(("bos", "pad", "eos"))}
    changes = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    config = config_of(
        family, ARCHITECTURE | changes | {"intermediate_size": 56}, 300, special, 32
    )
    assert type(config) is CONFIG_MAPPING[family] and config.pad_token_id == 1
    assert (config.num_hidden_layers, config.num_attention_heads, config.hidden_size) == (2, 2, 32)
    kind = AutoModelForCausalLM if FAMILIES[family].causal else AutoModelForMaskedLM
    model = kind.from_config(config).train()
    widths = {len(weight) for weight in model.base_model.parameters()}
    assert widths & {56, 112}  # modernbert has two in one
    ids = torch.arange(32)[None] % 290 + 5
    assert torch.equal(model(ids).logits, model(ids).logits)  # nothing is dropped
    assert model(ids).logits.shape == (1, 32, 300)


FILES = {"config.json", "layers.tsv", "model.safetensors", "pretraining.json", "steps.tsv", "tokenizer.json",
         "tokenizer_config.json"}  # fmt: skip


@pytest.mark.parametrize(
    ("family", "predicted", "most"),
    [("bert", "masked_word", 2.5), ("roberta", "masked_word", 3), ("gpt2", "next_word", 3)],
)
def test_a_family_learns_is_saved_and_depends_on_the_seed_alone(
    corpus, byte_level, tmp_path, family, predicted, most
):
    def made(name, seed, steps=3):
        start = corpus[1] if family == "bert" else byte_level[family]
        settings = TrainSettings(learning_rate=5e-3, batch_size=16, steps=steps, warmup=0.1)
        summary = pretrain(
            corpus[0],
            start,
            ARCHITECTURE,
            settings,
            seed,
            tmp_path / name,
            Lengths(longest=32),
            family,
        )
        assert json.loads((tmp_path / name / "pretraining.json").read_text()) == summary
        return summary, (tmp_path / name / "model.safetensors").read_bytes()

    assert made("one", 1)[1] == made("same", 1)[1] != made("other", 2)[1]
    summary, _ = made("long", 1, 120 if family == "bert" else 60)
    assert summary["held_out"][f"{predicted}_loss"] < most < np.log(summary["vocabulary"])
    assert FILES <= {path.name for path in (tmp_path / "long").iterdir()}
    encoder = load_encoder(tmp_path / "long")
    assert encoder.config.model_type == family
    assert encoder.config.pad_token_id == load_tokenizer(tmp_path / "long").pad_token_id
    assert encoder.config.max_position_embeddings == 32 + 2 * (family == "roberta")
    assert {weight.dtype for weight in encoder.parameters()} == {torch.float32}


def test_vocabularies_that_do_not_fit_a_family_are_named(corpus, byte_level, tmp_path):
    for family, folder, words in (
        ("roberta", byte_level["gpt2"], "no mask"),
        ("mpnet", corpus[1], "byte_bpe"),
        ("bert", byte_level["roberta"], "use a BERT tokenizer"),
    ):
        with pytest.raises(UserError, match=words):
            pretrain(
                corpus[0], folder, ARCHITECTURE, SETTINGS, 0, tmp_path, Lengths(longest=32), family
            )
