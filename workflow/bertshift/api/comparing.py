"""`bertshift.compare`: two models in, everything that the five measures say of them out."""

import io
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from tqdm.auto import tqdm

from bertshift.activations.extract import extract
from bertshift.api import own_measure
from bertshift.api.change import Change, noise_name
from bertshift.api.measures import MEASURES, Measure, known
from bertshift.api.models import (
    called,
    checkpoint_of,
    listed,
    name_of,
    own_reference,
    prepare,
    short_names,
)
from bertshift.api.texts import (
    check_count,
    check_cut,
    check_lengths,
    check_same,
    rows_of,
    tokens_of,
)
from bertshift.errors import UserError
from bertshift.measures import Shown
from bertshift.metrics.hidden_states import FEWEST
from bertshift.metrics.pairs import Pair
from bertshift.models.family import longest_input
from bertshift.models.loading import load_encoder
from bertshift.models.noise import add_noise
from bertshift.models.tokenizer import load_tokenizer
from bertshift.naming import draw_number
from bertshift.seeds import seed_from


def compare(
    model: Any,
    reference: Any = None,
    texts: Any = (),
    *,
    columns: str | Sequence[str] | None = None,
    measures: str | Callable | Iterable[str | Callable] = tuple(MEASURES),
    max_length: int | None = None,
    tokens: int | None = None,
    tokenizer: Any = None,
    name: str = "texts",
    null: str | None = None,
    draws: int = 3,
    progress: bool = False,
) -> Change:
    """Compare two models layer by layer on the same texts, as the workflow's rules do.

    model, reference: a folder, a name on the Hugging Face hub (`name` or `name@revision`) or a
    loaded model of transformers; a list holds replicates: fine-tuning seeds of one reference, or
    as many references, each the parent of its model. An adapter of PEFT's is merged with its base,
    which is its reference unless another is given. texts: strings, or pairs of strings as tuples.
    Some hundred sentences do; SVCCA needs more tokens than the models are wide. Or a table: a
    DataFrame, a data set of the hub, a mapping of columns or rows that are mappings. columns: of a
    table, the column that is read, or two for pairs. measures: some of rsa, svcca, cka, js and
    cosine, and functions of your own: of x and y, the hidden states [tokens, width] of the same
    content tokens in float64, to a number that is 1 (a similarity) or 0 (a distance) where x is y.
    max_length: texts are cut to so many tokens. tokens: how many the measures of hidden states
    draw at most (RSA 5000, SVCCA and CKA 20000). tokenizer: for models that bring none. name: what
    the texts are called; draws of tokens depend on it. progress: whether a bar shows on stderr.
    null: "noise" also measures models made by noise, `draws` for each replicate: the reference
    with random weights as large as the model's change (`models.noise`). Both models must have one
    shape.

    Activations are written to a temporary folder: for 300 sentences and BERT-base half a gigabyte
    a model. A measure that cannot be taken, as attention of models with other numbers of layers,
    is named in `left_out` of the result. UserError for models and texts that cannot be compared at
    all.
    """
    models, rows = listed(model), rows_of(texts, columns)
    references = listed([own_reference(one) for one in models] if reference is None else reference)
    if len(references) not in (1, len(models)):
        raise UserError(
            f"{len(models)} models have {len(references)} references; give one for all, or one for"
            " each."
        )
    names, wanted = short_names(models, references), known(measures)
    draws = _known_draws(null, draws)
    for key, value, least in (("max_length", max_length, 1), ("tokens", tokens, FEWEST)):
        if value is not None:
            check_count(key, value, least)
    with tempfile.TemporaryDirectory(prefix="bertshift-") as folder:
        given = _once([*models, *references])
        steps = 2 * len(given) + draws * len(models) + len(wanted)
        with tqdm(total=steps, disable=not progress, unit="step", leave=False) as bar:
            files, length = _dumped(given, rows, Path(folder), max_length, tokenizer, bar)
            keys = {"model": names[0], "reference": names[1], "stimuli": name}
            pairs = [
                Pair(files[_key(one)], files[_key(other)], keys | replicate)
                for one, other, replicate in _replicates(models, references)
            ]
            paths = {str(files[_key(one)]): name_of(one) for one in given}
            noise = [
                _noise(pair, draw, draws, rows, length, bar)
                for pair in pairs
                for draw in range(1, draws + 1)
            ]
            tables, own, left_out = _measured([*pairs, *noise], wanted, tokens, paths, bar)
            checkpoints = [
                checkpoint_of(one, Path(folder) / str(number)) for number, one in enumerate(given)
            ]
    about = {"texts": len(rows), "checkpoints": checkpoints}
    return Change(pd.concat(tables, ignore_index=True), *names, about, left_out, draws, own)


def _known_draws(null: str | None, draws: int) -> int:
    """Return how many models are made by noise: none where no null is asked for."""
    if null not in (None, "noise"):
        raise UserError(f"there is no null {null!r}; write noise, or leave it out.")
    check_count("draws", draws, 1)
    return draws if null else 0


def _key(model: Any) -> str | int:
    """Tell models apart: by name, or as objects."""
    return str(model) if isinstance(model, (str, Path)) else id(model)


def _once(models: list) -> list:
    return list({_key(one): one for one in models}.values())


def _replicates(models: list, references: list) -> Iterator[tuple[Any, Any, dict]]:
    """Yield (model, its reference, which replicate it is): as the workflow numbers pretraining
    runs and fine-tuning seeds."""
    runs, seeds = list(map(_key, _once(references))), Counter()
    for one, other in zip(
        models, references if len(references) > 1 else references * len(models), strict=True
    ):
        init = runs.index(_key(other)) + 1
        seeds[init] += 1
        yield one, other, {"init": init, "seed": seeds[init], "ref_init": init, "ref_seed": 0}


def _dumped(
    given: list, rows: list[dict], folder: Path, max_length: int | None, tokenizer: Any, bar: tqdm
) -> tuple[dict[str | int, Path], int]:
    """Write what each model makes of the texts, one model at a time in memory.

    Returns {key of a model: activation file} and the length that texts are cut to. The model
    folder is beside the file's folder, under the file's name.
    """
    files, first = {}, None
    for number, one in enumerate(given):
        bar.set_description(f"reads {name_of(one)}")
        run = folder / str(number)
        with _quiet():
            prepare(one, run, tokenizer)
            own, encoder = load_tokenizer(run), load_encoder(run)
        bar.update()
        cut = tokens_of(own, rows)
        first = first or (cut, name_of(one))
        check_same(first[0], cut, first[1], name_of(one))
        room = longest_input(encoder)
        if max_length is None:
            check_lengths(cut["offsets"], room, name_of(one))
        else:
            check_cut(max_length, own, rows, room, name_of(one))
        bar.set_description(f"runs {name_of(one)}")
        length = max_length or int(np.diff(cut["offsets"]).max())
        files[_key(one)] = folder / "activations" / f"{number}.npz"
        with _quiet(), called({str(run): name_of(one), str(files[_key(one)]): name_of(one)}):
            extract(encoder, own, rows, files[_key(one)], length, attention=True)
        bar.update()
    return files, length


def _noise(pair: Pair, draw: int, draws: int, rows: list[dict], length: int, bar: tqdm) -> Pair:
    """Put a model made by noise in the place of a pair's model. Raise UserError for models of
    other shapes."""
    name, init, seed = (pair.keys[key] for key in ("model", "init", "seed"))
    bar.set_description(f"noise, draw {draw}")
    folder = pair.model.parent
    changed, start = (folder.parent / file.stem for file in (pair.model, pair.reference))
    file = folder / f"noise-{init}-{seed}-{draw}.npz"
    with _quiet():
        model = load_encoder(start)
        add_noise(model, load_encoder(changed), seed_from("noise", name, init, seed, draw))
        extract(model, load_tokenizer(start), rows, file, length, attention=True)
    bar.update()
    keys = {"model": noise_name(name), "seed": draw_number(seed, draw, draws)}
    return Pair(file, pair.reference, pair.keys | keys)


def _measured(
    pairs: list[Pair],
    wanted: Mapping[str, Measure | Callable],
    tokens: int | None,
    paths: Mapping[str, str],
    bar: tqdm,
) -> tuple[list[pd.DataFrame], dict[str, Shown], dict[str, str]]:
    """Return the measures' tables, how those of the user's own are shown, and which could not be
    taken, and why."""
    tables, own, left_out = [], {}, {}
    for name, measure in wanted.items():
        bar.set_description(name)
        named = [Pair(pair.model, pair.reference, {"metric": name} | pair.keys) for pair in pairs]
        how = {"tokens": tokens} if tokens else {}
        try:
            with _quiet(), called(dict(paths)):
                if isinstance(measure, Measure):
                    tables.append(measure.compare(named, **how if measure.record.tokens else {}))
                else:
                    shown = own_measure.shown(measure, name, named[0], **how)
                    tables.append(own_measure.compare(measure, name, named, **how))
                    own[name] = shown
        except UserError as error:
            left_out[name] = str(error)
        bar.update()
    if not tables:
        raise UserError(next(iter(left_out.values())))
    return tables, own, left_out


def _quiet() -> redirect_stderr:
    """Drop the rules' lines on stderr: they are about files, which here are nobody's."""
    return redirect_stderr(io.StringIO())
