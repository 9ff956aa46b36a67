"""`bertshift.compare`: the five measures, and functions of the user's own, of two models."""

import io
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from tqdm.auto import tqdm

from bertshift.activations.extract import extract
from bertshift.activations.words import write_words
from bertshift.api import answers, own_measure
from bertshift.api.change import Change
from bertshift.api.given import check_apart, check_computes, check_weights, is_loaded
from bertshift.api.measures import CHOICES, Choice, by_name
from bertshift.api.models import (
    called,
    checkpoint_of,
    given_names,
    head_of,
    listed,
    name_of,
    own_reference,
    prepare,
    short_names,
)
from bertshift.api.surroundings import plain_torch, temporary_folder
from bertshift.api.texts import (
    are_same,
    check_count,
    check_cut,
    check_lengths,
    check_whole,
    rows_of,
    split_labels,
    tokens_of,
)
from bertshift.errors import UserError
from bertshift.measures import Shown
from bertshift.metrics import made as made_metric
from bertshift.metrics import reordered, text_change
from bertshift.metrics.hidden_states import FEWEST
from bertshift.metrics.pairs import Pair
from bertshift.metrics.text_change import TextChanges
from bertshift.models.answering import CLASSES, Head
from bertshift.models.family import longest_input
from bertshift.models.loading import load_encoder
from bertshift.models.noise import add_noise
from bertshift.models.tokenizer import load_tokenizer
from bertshift.naming import draw_number, noise_of
from bertshift.rows.table import Table, concat
from bertshift.seeds import seed_from

MOSTLY = 0.9  # of the texts differ, in samples of natural text
ACTIVATIONS, WORDS = "activations", "words"  # folders of files of tokens, and of words
DIFFERENT = "the tokenizers cut these texts differently"
# Draws of each null, unless the user says how many: 19 make one test of 5 %.
DRAWS = {"noise": 3, "texts": 19}
# How measures of states are taken with the texts in another order.
IN_ORDERS = {"rsa": reordered.rsa_in, "cka": reordered.cka_in, "svcca": reordered.svcca_in}
# The measures of which `made` has distances, their variant, and how these become their values.
OF_STATES = {
    "rsa": (made_metric.RSA, "content", lambda distance: 1 - distance),
    "cka": (made_metric.CKA, "cka_debiased", lambda distance: distance),
}


def compare(
    model: Any,
    reference: Any = None,
    texts: Any = (),
    *,
    columns: str | Sequence[str] | None = None,
    labels: Any = None,
    measures: str | Callable | Iterable[str | Callable] = tuple(CHOICES),
    max_length: int | None = None,
    tokens: int | None = None,
    tokenizer: Any = None,
    name: str = "texts",
    null: str | None = None,
    draws: int | None = None,
    made: bool = True,
    progress: bool = False,
) -> Change:
    """Compare two models layer by layer on the same texts, as the workflow's rules do.

    model, reference: a folder, a name on the Hugging Face hub (`name` or `name@revision`) or a
    loaded model of transformers; a list holds replicates: fine-tuning seeds of one reference, or
    as many references, each the parent of its model. A PEFT adapter is merged with its base, which
    is its reference unless another is given. texts: strings, or pairs of strings as tuples. Some
    hundred sentences suffice; SVCCA needs more tokens than the models are wide. Or a table: a
    DataFrame, a data set of the hub, a mapping of columns or rows that are mappings. columns: of a
    table, the column that is read, or two for pairs. labels: the right answers of the texts, where
    all models classify them: names of classes or their numbers from 0, or the numbers that a
    regression should give; or the name of a column of the table. measures: some of rsa, svcca,
    cka, js and cosine, and functions of your own: of x and y, the hidden states [tokens, width] of
    the same content tokens in float64, to a number that is 1 (a similarity) or 0 (a distance)
    where x is y. max_length: the number of tokens that texts are cut to. tokens: the maximum that
    the measures of hidden states draw (RSA 5000, SVCCA and CKA 20000). tokenizer: for models
    without one. name: of the texts; draws of tokens depend on it. progress: whether a bar shows on
    stderr.
    null: "noise" also measures models made by noise, `draws` for each replicate (3): the reference
    with random weights as large as the model's change (`models.noise`). Both models must have one
    shape. "texts", for models that have no parent in common, also measures hidden states with the
    reference's texts in `draws` other orders (19; `metrics.reordered`). made: whether rsa and cka
    also say what each layer makes and what arrives from the layers below (`metrics.made`), in one
    more pass of both models of each replicate.

    Tokenizers that cut the texts differently are compared word by word: states are means over the
    tokens of each word (`activations.words`), and attention is left out.

    Activations are written to a temporary folder: for 300 sentences and BERT-base half a gigabyte
    a model. A measure that cannot be taken, as attention of models with different numbers of
    layers, is named in `left_out` of the result. UserError for models and texts that cannot be
    compared at all.
    """
    models = listed(model)
    texts, labels = split_labels(texts, columns, labels)
    rows = rows_of(texts, columns)
    if reference is None:
        reference = [own_reference(adapter) for adapter in models]
    references = listed(reference)
    if len(references) not in (1, len(models)):
        raise UserError(
            f"{len(models)} models have {len(references)} references; give one for all, or one for"
            " each."
        )
    warn_of_repeated(rows)
    model_name, reference_name = short_names(models, references)
    selected = by_name(measures)
    draws = _count_draws(null, draws)
    noise_draws, orders = (draws if null == name else 0 for name in DRAWS)
    if max_length is not None:
        check_count("max_length", max_length, 1)
    if tokens is not None:
        check_count("tokens", tokens, FEWEST)
    for given in filter(is_loaded, [*models, *references]):
        check_weights(given, name_of(given))
    check_apart(models, references)
    distinct = _drop_duplicates([*models, *references])
    heads = {_key(model): head_of(model) for model in distinct}
    named = [(name_of(model), heads[_key(model)]) for model in distinct]
    question = answers.question_of(named, labels, len(rows))
    with plain_torch(), temporary_folder() as folder:
        steps = 2 * len(distinct) + noise_draws * len(models) + len(selected) + made + bool(orders)
        steps += bool(question.head.kind)
        with tqdm(total=steps, disable=not progress, unit="step", leave=False) as bar:
            files, length = extract_states(distinct, rows, folder, max_length, tokenizer, bar)
            left_out = {}
            by_words = folder / WORDS in {file.parent for file in files.values()}
            if by_words:
                selected, left_out = _leave_out_tokens(selected, noise_draws, made)
                made = False
            keys = {"model": model_name, "reference": reference_name, "stimuli": name}
            pairs = [
                Pair(files[_key(replicate)], files[_key(parent)], keys | numbers)
                for replicate, parent, numbers in _number_replicates(models, references)
            ]
            noise = [
                _make_noise(pair, draw, noise_draws, rows, length, bar)
                for pair in pairs
                for draw in range(1, noise_draws + 1)
            ]
            names = {str(files[_key(model)]): name_of(model) for model in distinct}
            tables, own, reasons = take_measures([*pairs, *noise], selected, tokens, names, bar)
            left_out |= reasons
            if made:
                of_states = [name for name in OF_STATES if name in {*selected} - {*left_out}]
                made_tables, reasons = _measure_made(pairs, of_states, tokens, names, bar)
                tables += made_tables
                left_out |= reasons
            in_orders = reordered.no_rows()
            if orders:
                in_orders, reasons = _measure_in_orders(
                    pairs, {**selected}, {*own}, orders, tokens, names, bar
                )
                left_out |= reasons
            text_changes, reasons = _compare_texts(pairs, noise, rows, names)
            left_out |= reasons
            found_answers = _compare_answers(pairs, distinct, heads, question, rows, bar)
            checkpoints = [
                checkpoint_of(model, folder / str(number)) for number, model in enumerate(distinct)
            ]
    given = given_names(models, references)
    about = {
        "texts": len(rows),
        "checkpoints": checkpoints,
        "given": given,
        "by_words": by_words,
    }
    table = concat(tables)
    change = Change(
        table,
        model_name,
        reference_name,
        about,
        left_out,
        noise_draws,
        own,
        in_orders,
        found_answers,
        text_changes,
    )
    if any(map(is_loaded, references)):
        _warn_of_no_change(change)
    return change


def _warn_of_no_change(change: Change) -> None:
    if not change.differs.to_numpy().any():
        warnings.warn(
            f"{change.model} and {change.reference} are equal in every layer; if the loaded"
            " reference was itself trained, or adapters were merged into it, give one that was"
            " loaded anew.",
            stacklevel=3,
        )


def warn_of_repeated(rows: Sequence[dict]) -> None:
    distinct = len({(row["text_a"], row.get("text_b")) for row in rows})
    if distinct < MOSTLY * len(rows):
        warnings.warn(
            f"only {distinct} of {len(rows)} texts differ; intervals take each for a new one, so"
            " they are too narrow: give each text once.",
            stacklevel=3,
        )


def _count_draws(null: str | None, draws: int | None) -> int:
    """Count the draws of a null: none unless it is given."""
    if draws is not None:
        check_count("draws", draws, 1)
    if null is None:
        return 0
    if null not in DRAWS:
        raise UserError(f"there is no null {null!r}; write {' or '.join(DRAWS)}, or leave it out.")
    return draws or DRAWS[null]


def _key(model: Any) -> str | int:
    """Identify a model: by its name, or as an object."""
    return str(model) if isinstance(model, (str, Path)) else id(model)


def _drop_duplicates(models: list) -> list:
    return list({_key(model): model for model in models}.values())


def _number_replicates(models: list, references: list) -> Iterator[tuple[Any, Any, dict]]:
    """Yield (model, its reference, numbers of the replicate): as the workflow numbers pretraining
    runs and fine-tuning seeds."""
    inits = list(map(_key, _drop_duplicates(references)))
    seeds: Counter = Counter()
    if len(references) == 1:
        references = references * len(models)
    for model, reference in zip(models, references, strict=True):
        init = inits.index(_key(reference)) + 1
        seeds[init] += 1
        numbers = {"init": init, "seed": seeds[init], "ref_init": init, "ref_seed": 0}
        yield model, reference, numbers


def extract_states(
    models: list, rows: list[dict], folder: Path, max_length: int | None, tokenizer: Any, bar: tqdm
) -> tuple[dict[str | int, Path], int]:
    """Write the activations of each model on the texts, with one model at a time in memory.

    Returns {key of a model: activation file} and the length that texts are cut to. The model
    folder of `activations/0.npz` is `0`. Where tokenizers cut the texts differently, files are of
    words, `words/0.npz`.
    """
    files: dict[str | int, Path] = {}
    first_tokens, first_name = {}, ""
    is_alike = True
    for number, model in enumerate(models):
        name = name_of(model)
        bar.set_description(f"reads {name}")
        model_folder = folder / str(number)
        with _silence_stderr():
            prepare(model, model_folder, tokenizer)
            model_tokenizer, encoder = load_tokenizer(model_folder), load_encoder(model_folder)
            if is_loaded(model):
                check_computes(model, encoder, name)
        bar.update()
        tokens = tokens_of(model_tokenizer, rows)
        if not files:
            first_tokens, first_name = tokens, name
        if not are_same(first_tokens, tokens):
            check_whole(max_length, first_name, name)
            is_alike = False
        room = longest_input(encoder)
        if max_length is None:
            check_lengths(tokens["offsets"], room, name)
        else:
            check_cut(max_length, model_tokenizer, rows, room, name)
        bar.set_description(f"runs {name}")
        length = max_length or int(np.diff(tokens["offsets"]).max())
        file = folder / ACTIVATIONS / f"{number}.npz"
        with _silence_stderr(), called({str(model_folder): name, str(file): name}):
            extract(encoder, model_tokenizer, rows, file, length, attention=True)
        files[_key(model)] = file
        bar.update()
    if not is_alike:
        words = {file: folder / WORDS / file.name for file in files.values()}
        write_words(words, rows)
        files = {key: words[file] for key, file in files.items()}
    return files, length


def _leave_out_tokens(
    selected: Mapping[str, Choice | Callable], noise_draws: int, made: bool
) -> tuple[dict[str, Choice | Callable], dict[str, str]]:
    """Select the measures that can be taken of words, and say why the others cannot. UserError for
    noise, which needs models of one shape."""
    if noise_draws:
        raise UserError(f"{DIFFERENT}, so noise of one has no like in the other; leave null= out.")
    of_maps = [name for name in selected if name in CHOICES and CHOICES[name].record.by_heads]
    left_out = dict.fromkeys(of_maps, f"{DIFFERENT}, so maps of tokens have nothing in common.")
    if made:
        left_out["made"] = f"{DIFFERENT}, so no layer can read the other model's states."
    kept = {name: measure for name, measure in selected.items() if name not in of_maps}
    if not kept:
        raise UserError(left_out[of_maps[0]])
    return kept, left_out


def _make_noise(
    pair: Pair, draw: int, draws: int, rows: list[dict], length: int, bar: tqdm
) -> Pair:
    """Replace a pair's model with one made by noise. Raise UserError for models of different
    shapes."""
    name, init, seed = pair.keys["model"], pair.keys["init"], pair.keys["seed"]
    bar.set_description(f"noise, draw {draw}")
    folder = pair.model.parent
    model_folder = folder.parent / pair.model.stem
    reference_folder = folder.parent / pair.reference.stem
    file = folder / f"noise-{init}-{seed}-{draw}.npz"
    with _silence_stderr():
        encoder = load_encoder(reference_folder)
        noise_seed = seed_from("noise", name, init, seed, draw)
        add_noise(encoder, load_encoder(model_folder), noise_seed)
        extract(encoder, load_tokenizer(reference_folder), rows, file, length, attention=True)
    bar.update()
    keys = {"model": noise_of(name), "seed": draw_number(seed, draw, draws)}
    return Pair(file, pair.reference, pair.keys | keys)


def take_measures(
    pairs: list[Pair],
    measures: Mapping[str, Choice | Callable],
    tokens: int | None,
    names: Mapping[str, str],
    bar: tqdm,
) -> tuple[list[Table], dict[str, Shown], dict[str, str]]:
    """Return the measures' tables, the titles and kinds of the user's own, and the reasons of
    those that could not be taken. names: of models, by activation file."""
    tables, own, left_out = [], {}, {}
    for name, measure in measures.items():
        bar.set_description(name)
        measure_pairs = [
            Pair(pair.model, pair.reference, {"metric": name} | pair.keys) for pair in pairs
        ]
        options = {"tokens": tokens} if tokens else {}
        try:
            with _silence_stderr(), called(dict(names)):
                if isinstance(measure, Choice):
                    if not measure.record.tokens:
                        options = {}
                    table = measure.compare(measure_pairs, **options)
                    _check_measured(table, measure.shown)
                    tables.append(table)
                else:
                    shown = own_measure.shown(measure, name, measure_pairs[0], **options)
                    tables.append(own_measure.compare(measure, name, measure_pairs, **options))
                    own[name] = shown
        except UserError as error:
            left_out[name] = str(error)
        bar.update()
    if not tables:
        raise UserError(next(iter(left_out.values())))
    return tables, own, left_out


def _check_measured(table: Table, shown: Shown) -> None:
    """Raise UserError for a table without a measure's first variant, as RSA of a word alone in
    each text, which is the same token again and again."""
    if not (table["variant"] == shown.rows["variant"]).any():
        raise UserError(
            "no layer can be measured, as the content tokens of these texts are too few or do not"
            " differ; give more or longer texts."
        )


def _measure_made(
    pairs: list[Pair],
    measures: Sequence[str],
    tokens: int | None,
    names: Mapping[str, str],
    bar: tqdm,
) -> tuple[list[Table], dict[str, str]]:
    """Return a table of what layers make and what arrives for each of these measures, with its
    variants `<variant>_made` and `<variant>_arrived`, and {"made": why there is none}."""
    bar.set_description("made")
    tables: list[Table] = []
    if not measures:
        bar.update()
        return tables, {}
    files = {file for pair in pairs for file in (pair.model, pair.reference)}
    folders = {file: file.parents[1] / file.stem for file in files}
    distances = [OF_STATES[name][0] for name in measures]
    try:
        with _silence_stderr(), called(dict(names)):
            complete_table = made_metric.compare(pairs, folders, tokens, distances)
    except UserError as error:
        return tables, {"made": str(error)}
    finally:
        bar.update()
    for name in measures:
        distance, variant, convert = OF_STATES[name]
        table = complete_table.where(complete_table["measure"] == distance).drop("measure")
        table = table.with_numbers(convert(table.numbers))
        variants = f"{variant}_" + table["variant"]
        tables.append(table.assign(metric=name, variant=variants))
    return tables, {}


def _measure_in_orders(
    pairs: list[Pair],
    measures: Mapping[str, Choice | Callable],
    own: Collection[str],
    orders: int,
    tokens: int | None,
    names: Mapping[str, str],
    bar: tqdm,
) -> tuple[pd.DataFrame, dict[str, str]]:
    """Return the similarities of hidden states with the texts in other orders, of these measures
    and the user's own that could be taken, and the reasons of those that could not."""
    bar.set_description("texts in another order")
    tables, left_out = [], {}
    for name, measure in measures.items():
        if name in IN_ORDERS:
            values = IN_ORDERS[name]
        elif name in own:
            values = reordered.of_function(measure)
        else:
            continue
        named = [Pair(pair.model, pair.reference, pair.keys | {"metric": name}) for pair in pairs]
        try:
            with _silence_stderr(), called(dict(names)):
                tables.append(reordered.compare(values, named, orders, tokens))
        except UserError as error:
            left_out[f"{name} with texts in another order"] = str(error)
    bar.update()
    rows = pd.concat(tables, ignore_index=True) if tables else reordered.no_rows()
    return rows, left_out


def _compare_texts(
    pairs: list[Pair], noise: list[Pair], rows: Sequence[dict], names: Mapping[str, str]
) -> tuple[TextChanges, dict[str, str]]:
    """Return the changes of each text and word, and {"texts": why there are none}."""
    beside = {
        text_change.MODEL: pairs,
        text_change.NOISE: noise,
        text_change.SEEDS: text_change.two_seeds(pairs),
    }
    try:
        with _silence_stderr(), called(dict(names)):
            return text_change.compare(beside, rows), {}
    except UserError as error:
        return TextChanges(), {"texts": str(error)}


def _compare_answers(
    pairs: Sequence[Pair],
    models: Sequence,
    heads: Mapping[str | int, Head],
    question: answers.Question,
    rows: Sequence[dict],
    bar: tqdm,
) -> answers.Answers:
    """Compare what the models answer; where a head cannot be asked, say why."""
    if not question.head.kind:
        return answers.Answers(reason=question.head.reason)
    if question.head.kind != CLASSES and pairs[0].model.parent.name == WORDS:
        return answers.Answers(reason=f"{DIFFERENT}, so the models predict other tokens")
    bar.set_description("answers")
    asked = {}
    folder = pairs[0].model.parents[1]
    for number, model in enumerate(models):
        file = folder / ACTIVATIONS / f"{number}.npz"
        model_folder = folder / str(number)
        asked[file] = answers.Asked(name_of(model), model_folder, heads[_key(model)], model)
    try:
        with _silence_stderr():
            of_tokens = [
                Pair(
                    *(folder / ACTIVATIONS / file.name for file in (pair.model, pair.reference)),
                    pair.keys,
                )
                for pair in pairs
            ]
            return answers.measure(of_tokens, asked, question, rows)
    except UserError as error:
        return answers.Answers(reason=str(error).removesuffix("."))
    finally:
        bar.update()


def _silence_stderr() -> redirect_stderr:
    """Drop the rules' lines on stderr: they are about files that the user does not see."""
    return redirect_stderr(io.StringIO())
