import json
from dataclasses import replace
from itertools import chain

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
ARCHITECTURE = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2,
                "intermediate_size": 64,
                "max_position_embeddings": 32}  # fmt: skip
SETTINGS = TrainSettings(learning_rate=5e-3, batch_size=16, steps=120, warmup=0.1)
LENGTHS = Lengths(longest=32)


def numbered_documents(n: int = 40) -> list[list[list[int]]]:
    """Sentence j of document i repeats the piece 5 + (12 i + j) modulo 395: no piece is in two of
    the first 30."""
    rng = np.random.default_rng(0)
    return [
        [[5 + (12 * i + j) % 395] * int(rng.integers(2, 9)) for j in range(12)] for i in range(n)
    ]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """(documents, folder of their tokenizer): every noun goes with one verb."""
    rng = np.random.default_rng(1)
    pairs = ["dogs bark", "cats purr", "cows moo", "ducks quack", "owls hoot", "bees hum"]
    documents = [
        [f"the {rng.choice(pairs)} in the {['garden', 'forest'][i % 2]} ." for i in range(6)]
        for _ in range(60)
    ]
    folder = tmp_path_factory.mktemp("tokenizer")
    train_wordpiece([*chain(*documents)], 150, True, folder)
    return documents, folder


def test_documents_of_a_corpus_file(tmp_path):
    path = tmp_path / "corpus.txt"
    path.write_text("\n\nOne.\n Two. \n\n \nThree.\n\n")
    assert read_documents(path) == [["One.", "Two."], ["Three."]]
    path.write_bytes(b"\xef\xbb\xbfOne.\r\n\r\n")
    assert read_documents(path) == [["One."]]
    path.write_bytes(b"One.\ncaf\xe9\n")
    with pytest.raises(UserError, match="corpus.txt:2 is not UTF-8"):
        read_documents(path)
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
    masked = np.tile(row, (3000, 1))
    chosen = np.zeros(masked.shape, bool)
    for i in range(len(masked)):
        example = mask(first, second, 0, IDS, wanted, generator)
        masked[i] = example.input_ids
        chosen[i, example.target[0]] = True
        assert example.target[1] == row[example.target[0]].tolist()
    assert example.token_type_ids == [0] * 32 + [1] * 31
    special = np.isin(row, [IDS.cls, IDS.sep])
    assert not chosen[:, special].any() and not (masked != row)[~chosen].any()
    share = chosen[:, ~special].mean(0)
    assert share.mean() == pytest.approx(round(wanted * len(row)) / 60, rel=1e-9)
    assert np.abs(share - share.mean()).max() < 0.035
    assert (masked == IDS.mask)[chosen].mean() == pytest.approx(0.8, abs=0.012)
    # A random piece is the true one once in 395 draws.
    assert (masked == row)[chosen].mean() == pytest.approx(0.1, abs=0.009)


def test_half_of_the_second_segments_follow_and_the_rest_are_of_another_document():
    documents, generator = numbered_documents(30), np.random.default_rng(0)
    labels, sizes = [], []
    for home in 10 * list(range(30)):
        for first, second, is_random in segment_pairs(documents, home, LENGTHS, generator):
            first_documents, second_documents = (
                {(piece - 5) // 12 for piece in segment} for segment in (first, second)
            )
            assert first_documents == {home} and len(second_documents) == 1
            assert (second_documents != {home}) == is_random
            assert is_random or (first == sorted(first) and first[-1] < second[0])
            labels.append(is_random)
            sizes.append(len(first) + len(second))
    assert np.mean(labels) == pytest.approx(0.5, abs=0.05)
    assert max(sizes) == 29 and 0.02 < np.mean(np.array(sizes) < 12) < 0.25


def test_a_cut_takes_two_sentences_however_long_they_are():
    documents, generator = numbered_documents(30), np.random.default_rng(0)
    short = Lengths(longest=5)  # one piece of each sentence
    for home in range(30):
        for first, second, is_random in segment_pairs(documents, home, short, generator):
            assert is_random or second[0] - first[-1] == 1


def test_a_document_of_one_sentence_has_no_true_pair():
    documents, generator = numbered_documents(30), np.random.default_rng(0)
    documents[3] = documents[3][:1]
    [(first, second, is_random)] = segment_pairs(documents, 3, LENGTHS, generator)
    assert is_random and first == documents[3][0] and not {*first} & {*second}


def test_held_out_documents_are_two_percent():
    documents = numbered_documents(100)
    training, held_out = split_held_out(documents)
    assert (len(training), len(held_out)) == (98, 2)
    assert not any(document in training for document in held_out)


def test_short_sequences_have_their_share_and_length():
    generator = np.random.default_rng(0)
    fixed, original = (
        np.array([lengths.draw(generator) for _ in range(5000)])
        for lengths in (Lengths(longest=64, short=0.8, short_length=24), Lengths(longest=64))
    )
    assert set(fixed) == {61, 21} and np.mean(fixed == 21) == pytest.approx(0.8, abs=0.02)
    assert set(original) >= set(range(2, 62))
    assert np.mean(original == 61) == pytest.approx(0.9, abs=0.02)


@pytest.mark.parametrize(
    ("documents", "changes", "longest", "problem"),
    [
        (2, {}, 32, "three documents"),
        (9, {"hiden_size": 8}, 32, "hiden_size"),
        (9, {"num_attention_heads": 3}, 32, "multiple of num_attention_heads"),
        (9, {}, 33, "max_position_embeddings"),
    ],
)
def test_input_that_cannot_be_trained_on_is_named(
    corpus, tmp_path, documents, changes, longest, problem
):
    texts, folder = corpus[0][:documents], corpus[1]
    architecture, lengths = ARCHITECTURE | changes, Lengths(longest=longest)
    with pytest.raises(UserError, match=problem):
        pretrain(texts, folder, architecture, SETTINGS, 0, tmp_path, lengths)


@pytest.fixture(scope="module")
def byte_level(corpus, tmp_path_factory):
    """{"roberta", "gpt2": folder of a tokenizer}"""
    folders = {special: tmp_path_factory.mktemp(special) for special in ("roberta", "gpt2")}
    for special, folder in folders.items():
        train_byte_bpe([*chain(*corpus[0])], 330, True, special, folder)
    return folders


def words_of(folder, causal):
    return Words(folder, Lengths(longest=32, short=0.0), causal=causal)


def test_sequences_are_consecutive_sentences_as_the_tokenizer_cuts_and_joins_them(
    corpus, byte_level
):
    words, document = words_of(byte_level["roberta"], causal=False), corpus[0][0]
    tokenizer, text = words.tokenizer, " ".join(document)
    sequences = words.texts(words.encode([document])[0], np.random.default_rng(0))
    decoded = [tokenizer.decode(sequence) for sequence in sequences]
    for sequence, part in zip(sequences, decoded, strict=True):
        joined = [tokenizer.cls_token_id, *sequence, tokenizer.sep_token_id]
        assert tokenizer(part)["input_ids"] == joined
    *full, last = map(len, sequences)
    assert set(full) == {30} and last <= 30
    starts = [text.index(part) for part in decoded]
    assert starts[0] == 0 and starts == sorted(starts) and text.endswith(decoded[-1])


def test_masked_words_alone_and_next_words(corpus, byte_level):
    encoder = words_of(byte_level["roberta"], causal=False)
    documents, tokenizer = encoder.encode(corpus[0]), encoder.tokenizer
    inputs = []
    for example in encoder.draw(documents, np.random.default_rng(0)):
        positions, _ = example.target
        assert example.input_ids[0] == tokenizer.cls_token_id
        assert {0, len(example) - 1}.isdisjoint(positions)
        assert len(positions) == max(1, round(0.15 * len(example)))
        inputs += np.array(example.input_ids)[positions].tolist()
    masked = np.array(inputs) == tokenizer.mask_token_id
    assert masked.mean() == pytest.approx(0.8, abs=0.1)

    decoder = words_of(byte_level["gpt2"], causal=True)
    for example in decoder.draw(decoder.encode(corpus[0]), np.random.default_rng(0)):
        assert example.target == (list(range(len(example) - 1)), example.input_ids[1:])


@pytest.mark.parametrize("family", ["bert", "distilbert", "gpt2"])
def test_the_loss_is_the_full_models(corpus, byte_level, family):
    """The library decodes chosen positions alone; transformers decodes all and ignores the
    others."""
    causal, generator = FAMILIES[family].causal, np.random.default_rng(0)
    if family == "bert":
        tokenizer = Tokenizer.from_file(str(corpus[1] / "tokenizer.json"))
        ids = PieceIds.of(tokenizer)
        documents = encode_documents(corpus[0], tokenizer)
        batch = ids.collate(draw_examples(documents, ids, LENGTHS, generator)[:8])
        config = BertConfig(**ARCHITECTURE, vocab_size=tokenizer.get_vocab_size())
        model = BertForPreTraining(config)
    else:
        words = words_of(byte_level["gpt2" if causal else "roberta"], causal=causal)
        batch = words.ids.collate(words.draw(words.encode(corpus[0]), generator)[:7])
        names = [f"{name}_token_id" for name in ("pad", "bos", "eos")]
        special = {name: getattr(words.tokenizer, name) for name in names}
        config = config_of(family, ARCHITECTURE, len(words.tokenizer), special, 32)
        model = (AutoModelForCausalLM if causal else AutoModelForMaskedLM).from_config(config)
    labels = torch.full_like(batch["input_ids"], -100)
    # transformers shifts a decoder's labels.
    labels.view(-1)[batch["masked"] + causal] = batch["words"]
    inputs = {key: batch[key] for key in ("input_ids", "attention_mask")} | {"labels": labels}
    if family == "bert":
        inputs["token_type_ids"] = batch["token_type_ids"]
        inputs["next_sentence_label"] = batch["is_random"]
        assert list(layer_groups(model)) == ["embeddings", "1", "2", "pooler", "head"]
    torch.testing.assert_close(loss(model.eval(), batch), model(**inputs).loss)


@pytest.mark.parametrize("family", FAMILIES)
def test_one_set_of_keys_describes_every_family(family):
    special = {"bos_token_id": 0, "pad_token_id": 1, "eos_token_id": 2}
    changes = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    architecture = ARCHITECTURE | changes | {"intermediate_size": 56}
    config = config_of(family, architecture, 300, special, 32)
    assert type(config) is CONFIG_MAPPING[family] and config.pad_token_id == 1
    assert (config.num_hidden_layers, config.num_attention_heads, config.hidden_size) == (2, 2, 32)
    language_model = AutoModelForCausalLM if FAMILIES[family].causal else AutoModelForMaskedLM
    model = language_model.from_config(config).train()
    widths = {len(weight) for weight in model.base_model.parameters()}
    assert widths & {56, 112}  # modernbert has two in one
    ids = torch.arange(32)[None] % 290 + 5
    logits = model(ids).logits
    assert torch.equal(model(ids).logits, logits)  # nothing is dropped
    assert logits.shape == (1, 32, 300)


FILES = {"config.json", "layers.tsv", "model.safetensors", "pretraining.json", "steps.tsv",
         "tokenizer.json",
         "tokenizer_config.json"}  # fmt: skip


@pytest.mark.parametrize(
    ("family", "predicted", "bound", "steps"),
    [
        ("bert", "masked_word", 2.5, 120),
        ("roberta", "masked_word", 3, 60),
        ("gpt2", "next_word", 3, 60),
    ],
)
def test_a_family_learns_is_saved_and_depends_on_the_seed_alone(
    corpus, byte_level, tmp_path, family, predicted, bound, steps
):
    start = corpus[1] if family == "bert" else byte_level[family]

    def trained(name, seed, steps=3):
        settings, folder = replace(SETTINGS, steps=steps), tmp_path / name
        arguments = start, ARCHITECTURE, settings, seed, folder, LENGTHS, family
        summary = pretrain(corpus[0], *arguments)
        assert json.loads((folder / "pretraining.json").read_text()) == summary
        return summary, (folder / "model.safetensors").read_bytes()

    assert trained("first", 1)[1] == trained("same", 1)[1] != trained("different", 2)[1]
    summary, _ = trained("long", 1, steps)
    assert summary["held_out"][f"{predicted}_loss"] < bound < np.log(summary["vocabulary"])
    assert FILES <= {path.name for path in (tmp_path / "long").iterdir()}
    encoder = load_encoder(tmp_path / "long")
    assert encoder.config.model_type == family
    assert encoder.config.pad_token_id == load_tokenizer(tmp_path / "long").pad_token_id
    assert encoder.config.max_position_embeddings == 32 + 2 * (family == "roberta")
    assert {weight.dtype for weight in encoder.parameters()} == {torch.float32}


def test_vocabularies_that_do_not_fit_a_family_are_named(corpus, byte_level, tmp_path):
    for family, folder, problem in (
        ("roberta", byte_level["gpt2"], "no mask"),
        ("mpnet", corpus[1], "byte_bpe"),
        ("bert", byte_level["roberta"], "use a BERT tokenizer"),
    ):
        arguments = folder, ARCHITECTURE, SETTINGS, 0, tmp_path, LENGTHS, family
        with pytest.raises(UserError, match=problem):
            pretrain(corpus[0], *arguments)
