"""`bertshift.along`: how far the checkpoints of a training are from a reference, step by step."""

import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tqdm.auto import tqdm

from bertshift.api.comparing import extract_states, take_measures, warn_of_repeated
from bertshift.api.course import Course
from bertshift.api.given import check_apart, check_weights, is_loaded
from bertshift.api.measures import CHOICES, Choice, by_name
from bertshift.api.models import HUB_NAME, locate, name_of, own_reference, short_names
from bertshift.api.surroundings import plain_torch, temporary_folder
from bertshift.api.texts import are_same, check_count, rows_of, tokens_of
from bertshift.api.twin import Twin
from bertshift.errors import UserError
from bertshift.files import sha256
from bertshift.measures import Shown
from bertshift.metrics.hidden_states import FEWEST
from bertshift.metrics.pairs import Pair
from bertshift.models.published import WEIGHTS
from bertshift.models.tokenizer import load_tokenizer
from bertshift.rows.table import Table, concat
from bertshift.running.checkpoint import weights_digest

# A step in the name of a folder or revision: checkpoint-500, step1000, stage1-step1000, step_20k.
STEP = re.compile(r"(?:checkpoint|ckpt|step)[-_]?(\d+)(k?)(?![a-z0-9])", re.IGNORECASE)
# One training: one model and one reference, as the workflow numbers replicates.
REPLICATE = {"init": 1, "seed": 1, "ref_init": 1, "ref_seed": 0}


def along(
    checkpoints: Any,
    reference: Any = None,
    texts: Any = (),
    *,
    columns: str | Sequence[str] | None = None,
    measures: str | Callable | Iterable[str | Callable] = tuple(CHOICES),
    max_length: int | None = None,
    tokens: int | None = None,
    tokenizer: Any = None,
    name: str = "texts",
    progress: bool = False,
) -> Course:
    """Compare the checkpoints of one training with a reference, step by step.

    checkpoints: a folder with folders `checkpoint-*`, as transformers' Trainer leaves; or a list
    of folders and names on the hub that say their steps, such as `name@step1000`; or a mapping
    {step: model}, whose models may be loaded ones. reference: one model, such as the one that the
    training began with; left out, the base of an adapter. All else is as in `bertshift.compare`,
    and so are the numbers: each checkpoint's are those of `compare` of this checkpoint alone.

    The reference is run once, and each checkpoint once; the disk holds the states of two models,
    however many checkpoints there are. A warning names checkpoints with equal weights. UserError
    for checkpoints whose steps nothing says, and for what `compare` refuses.
    """
    by_step = steps_of(checkpoints)
    question = ask(texts, columns, measures, max_length, tokens, tokenizer, name)
    models = list(by_step.values())
    if reference is None:
        reference = own_reference(models[-1])
    for model in (*models, reference):
        _check_given(model)
    check_apart(models, [reference])
    names = _name_training(checkpoints, models, reference)
    steps = 2 + len(models) * (2 + len(question.measures))
    with (
        plain_torch(),
        temporary_folder() as folder,
        tqdm(total=steps, disable=not progress, unit="step", leave=False) as bar,
    ):
        against = Against(reference, folder, question, names, bar)
        for step, model in by_step.items():
            against.measure(model, step)
    course = against.course
    for steps_of_one in course.duplicates:
        warnings.warn(
            f"the checkpoints of steps {_join(steps_of_one)} have the same weights, as copies"
            " have, or a training that stood still.",
            stacklevel=2,
        )
    return course


def steps_of(checkpoints: Any) -> dict[int, Any]:
    """Return the checkpoints by rising step. UserError where steps are not known, are given twice,
    or are fewer than two."""
    if isinstance(checkpoints, Mapping):
        for step in checkpoints:
            if not isinstance(step, Integral) or isinstance(step, bool) or step < 0:
                raise UserError(f"a step is {step!r}; write 0 or more, as a whole number.")
        pairs = [(int(step), model) for step, model in checkpoints.items()]
    elif isinstance(checkpoints, (list, tuple)):
        pairs = [(_read_step(model), model) for model in checkpoints]
    else:
        pairs = [(_read_step(folder), folder) for folder in _list_checkpoints(checkpoints)]
    by_step: dict[int, Any] = {}
    for step, model in sorted(pairs, key=lambda pair: pair[0]):
        if step in by_step:
            raise UserError(
                f"{name_of(by_step[step])} and {name_of(model)} are both of step {step}; give one"
                " of them."
            )
        by_step[step] = model
    if len(by_step) < 2:
        raise UserError(f"checkpoints has {len(by_step)} of them; give two or more.")
    return by_step


def _list_checkpoints(folder: Any) -> list[Path]:
    """List the folders of checkpoints in a folder. UserError where there are none."""
    if not isinstance(folder, (str, Path)):
        raise UserError(
            f"checkpoints is of type {type(folder).__name__}; give a folder, a list, or {{step:"
            " model}}."
        )
    found = [path for path in Path(folder).expanduser().glob("checkpoint-*") if path.is_dir()]
    if not found:
        raise UserError(
            f"{folder} is no folder with folders checkpoint-*; give such a folder, or a list of"
            " checkpoints."
        )
    return found


def _read_step(model: Any) -> int:
    """Read a checkpoint's step from its name. UserError where it says none."""
    if isinstance(model, (str, Path)):
        for number, thousands in reversed(STEP.findall(name_of(model))):
            return int(number) * (1000 if thousands else 1)
    raise UserError(
        f"nothing says at which step {name_of(model)} was taken; give a mapping {{step: model}}."
    )


def _check_given(model: Any) -> None:
    """Raise UserError for a folder without a model, a name that is none, and a loaded model whose
    weights are not in memory."""
    if is_loaded(model):
        check_weights(model, name_of(model))
    elif not isinstance(model, (str, Path)):
        raise UserError(
            f"a model is of type {type(model).__name__}; give a folder, a name on the hub, or a"
            " model of transformers."
        )
    elif Path(model).expanduser().is_dir() or not HUB_NAME.fullmatch(str(model)):
        locate(model)


def _name_training(checkpoints: Any, models: Sequence, reference: Any) -> tuple[str, str]:
    """Name a training by the folder that its checkpoints are in, or else by them."""
    if isinstance(checkpoints, (str, Path)):
        return short_names([Path(checkpoints).expanduser().resolve()], [reference])
    return short_names(models, [reference])


@dataclass(frozen=True)
class Question:
    """What is measured of each model: the texts, as stimuli, and how they are read."""

    rows: list[dict] = field(repr=False)
    measures: Mapping[str, Choice | Callable]
    max_length: int | None
    tokens: int | None
    tokenizer: Any
    name: str


def ask(
    texts: Any,
    columns: str | Sequence[str] | None,
    measures: str | Callable | Iterable[str | Callable],
    max_length: int | None,
    tokens: int | None,
    tokenizer: Any,
    name: str,
) -> Question:
    """Check what is asked, as `bertshift.compare` does, before any model is loaded."""
    rows, selected = rows_of(texts, columns), by_name(measures)
    warn_of_repeated(rows)
    if max_length is not None:
        check_count("max_length", max_length, 1)
    if tokens is not None:
        check_count("tokens", tokens, FEWEST)
    return Question(rows, selected, max_length, tokens, tokenizer, name)


class Against:
    """A reference, run once on the texts of a question, with which models are measured one by one.

    folder: of the reference's states. names: of the training and the reference. trained: a loaded
    model that is measured again and again; only once it is written to a folder.
    """

    def __init__(
        self,
        reference: Any,
        folder: Path,
        question: Question,
        names: tuple[str, str],
        bar: tqdm,
        trained: Any = None,
    ):
        self._question, self._names, self._bar = question, names, bar
        self._folder, self._given = folder, name_of(reference)
        self._trained, self._length = trained, 0
        self._twin: Twin | None = None
        self._spelling: dict | None = None
        self._file = self._extract(reference, folder / "reference")
        self._tables: list[Table] = []
        self._own: dict[str, Shown] = {}
        self._left_out: dict[str, str] = {}
        self._hashes: dict[int, str] = {}

    def measure(self, model: Any, step: int) -> None:
        """Measure a model, and keep its table. UserError as of `bertshift.compare`."""
        question = self._question
        given = name_of(model)
        with TemporaryDirectory(dir=self._folder) as temporary:
            file = self._extract(model, Path(temporary))
            names = {str(file): given, str(self._file): self._given}
            keys = dict(zip(("model", "reference"), self._names), stimuli=question.name)
            tables, own, left_out = take_measures(
                [Pair(file, self._file, keys | REPLICATE)],
                question.measures,
                question.tokens,
                names,
                self._bar,
            )
            self._hashes[step] = _digest(model, Path(temporary))
        table = concat(tables).assign(step=step)
        self._check_layers(table, given)
        self._tables.append(table)
        self._own |= own
        for measure, reason in left_out.items():
            self._left_out.setdefault(measure, f"at step {step}, {reason}")

    def drop_twin(self) -> None:
        """Free the memory of the copy of the model that was trained."""
        self._twin = None

    @property
    def course(self) -> Course:
        """What was measured up to now."""
        return self._course(self._tables)

    @property
    def last(self) -> Course:
        """What was measured last."""
        return self._course(self._tables[-1:])

    def _course(self, tables: Sequence[Table]) -> Course:
        return Course(
            concat(tables),
            *self._names,
            len(self._question.rows),
            self._left_out,
            self._own,
            _list_equal(self._hashes),
        )

    def _extract(self, model: Any, folder: Path) -> Path:
        """Write the states of a model; UserError where it cuts the texts differently."""
        question = self._question
        if model is self._trained and self._twin is not None:
            file = folder / "0.npz"
            self._twin.extract(model, question.rows, file, self._length)
            return file
        files, self._length = extract_states(
            [model], question.rows, folder, question.max_length, question.tokenizer, self._bar
        )
        self._check_tokens(load_tokenizer(folder / "0"), name_of(model))
        if model is self._trained:
            self._twin = Twin.of(model, folder / "0")
        [file] = files.values()
        return file

    def _check_tokens(self, tokenizer: Any, given: str) -> None:
        """Raise UserError where a tokenizer cuts the texts otherwise than the reference's, which
        is the first."""
        spelling = tokens_of(tokenizer, self._question.rows)
        if self._spelling is None:
            self._spelling = spelling
        if not are_same(self._spelling, spelling):
            raise UserError(
                f"{given} and {self._given} cut the texts differently; give a reference with the"
                " training's own tokenizer."
            )

    def _check_layers(self, table: Table, given: str) -> None:
        """Raise UserError for a checkpoint with other layers than the first."""
        if self._tables:
            layers, expected = table["layer"].max(), self._tables[0]["layer"].max()
            if layers != expected:
                raise UserError(
                    f"{given} has {layers} layers, and the first checkpoint {expected}; give"
                    " checkpoints of one training."
                )


def _digest(model: Any, folder: Path) -> str:
    """Digest the weights of a loaded model, or those that are in the model folder `0`."""
    return weights_digest(model) if is_loaded(model) else sha256(folder / "0" / WEIGHTS)


def _list_equal(hashes: Mapping[int, str]) -> list[list[int]]:
    """List the steps of each hash that several have."""
    steps: dict[str, list[int]] = {}
    for step, digest in hashes.items():
        steps.setdefault(digest, []).append(step)
    return [equal for equal in steps.values() if len(equal) > 1]


def _join(steps: Sequence[int]) -> str:
    *first, last = map(str, steps)
    return f"{', '.join(first)} and {last}"
