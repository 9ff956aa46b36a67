"""What a comparison of two models found: a report of some sentences, and tables as text.

Each sentence is made from rows of `Measurements.table`, `behaviour`, `excess` or `left_out`, whose
numbers and intervals it has.
"""

from collections.abc import Iterator, Mapping, Sequence

import pandas as pd

from bertshift.api.measured import COUNTS, Measurements
from bertshift.api.measures import CHOICES
from bertshift.api.spelling import spell, with_interval
from bertshift.metrics.text_change import FEWEST, SEEDS
from bertshift.models.answering import MASKED
from bertshift.rows import statistics
from bertshift.rows.blocks import LEVEL

# Measures of behaviour that are 0 where a head is the same.
NO_CHANGE = ("js", "difference", "kl")
NAMED = 3  # words at either end
FALSE = 0.05  # of the words that are found
PERCENT = f"{100 * LEVEL:.0f} %"


def sentences(found: Measurements) -> list[str]:
    """Say whether anything changed, how differently the models answer, where the change shows,
    where it was made, whether noise does the same, and how sure that is."""
    differs = found.differs
    if not differs.to_numpy().any():
        return [_name_no_change(found), *answers(found), *_name_left_out(found)]
    changed = differs.index[differs.any(axis=1)]
    lines = [_name_changed_layers(found), *_name_words(found), *answers(found)]
    lines += [_name_most_changed(found, measure) for measure in changed]
    by_heads = [name for name in changed if name in CHOICES and CHOICES[name].record.by_heads]
    lines += [_name_head(found, measure) for measure in by_heads]
    lines += _describe_made(found)
    lines += _describe_texts(found)
    if found.draws:
        lines.append(_describe_noise(found))
    if len(found.in_orders):
        lines.append(_describe_orders(found))
    lines.append(_say_how_sure(found))
    lines += _say_what_more(found, changed[0])
    return lines + _name_left_out(found)


def tables(found: Measurements) -> str:
    """Format two tables by layer, each measure's values with their share of the largest change
    and their intervals, and one of answers, if there are any."""
    values: dict[str, dict] = {}
    intervals: dict[str, dict] = {}
    for measure, shares in found.profile.iterrows():
        rows = found.by_layer(measure)
        values[measure] = {
            layer: f"{spell(value)} {shares[layer]:4.0%}" for layer, value in rows["value"].items()
        }
        ends = rows[["low", "high"]].dropna()
        intervals[measure] = {
            layer: f"{spell(low)} to {spell(high)}" for layer, low, high in ends.itertuples()
        }
    lines = ["Each measure by layer, and its share of the largest change:", _lay_out(values)]
    count = sum(map(len, intervals.values()))
    if count:
        misses = count * (1 - LEVEL)
        lines.append(
            f"{count} intervals of {PERCENT} over {_name_units(found)}, of which about"
            f" {misses:.2g} miss their value by chance:"
        )
        lines.append(_lay_out(intervals))
    if len(found.behaviour):
        lines += ["Answers:", found.behaviour.to_string(index=False, float_format=spell)]
    return "\n".join(lines)


def _name_no_change(found: Measurements) -> str:
    """Say that no layer differs: the models are the same, or their heads alone differ."""
    behaviour = found.behaviour.set_index("measure")["value"]
    is_other = any(behaviour.get(measure, 0) > statistics.EQUAL for measure in NO_CHANGE)
    sentence = f"{found.model} and {found.reference} are the same"
    if is_other:
        return f"{sentence} below their heads: no measure differs in a layer."
    return f"{sentence}: no measure differs in a layer."


def answers(found: Measurements) -> list[str]:
    """Say how differently both models answer, or why they are not asked."""
    if not found.answers.kind:
        reason = found.answers.reason
        return [f"No answers are compared: {reason}."] if reason else []
    rows = found.behaviour.set_index("measure")
    cells = {measure: with_interval(row) for measure, row in rows.iterrows()}
    counts = rows["n"]
    if "js" in cells:
        return [_describe_classes(cells, counts["js"]), *_describe_accuracy(found, cells, rows)]
    if "difference" in cells:
        return [_describe_outputs(found, cells, counts["difference"])]
    word = "masked tokens" if found.answers.kind == MASKED else "next tokens"
    differ = (
        f"At {counts['kl']} {word} the prediction of {found.model} differs from that of"
        f" {found.reference} by {cells['kl']} nats (KL); a share of {cells['first_guess_kept']}"
        " keeps its first guess."
    )
    lines = [differ]
    if "bits_difference" in cells:
        lines.append(
            f"A character takes {found.model} {cells['bits_per_character']} bits and"
            f" {found.reference} {cells['reference_bits_per_character']}: a difference of"
            f" {cells['bits_difference']}."
        )
    return lines


def _describe_classes(cells: Mapping[str, str], texts: int) -> str:
    return (
        f"Of {texts} texts a share of {cells['answers_changed']} gets another answer; the outputs"
        f" differ by {cells['js']} nats (Jensen-Shannon)."
    )


def _describe_accuracy(
    found: Measurements, cells: Mapping[str, str], rows: pd.DataFrame
) -> Iterator[str]:
    """Say how right both classifiers are, where labels are known."""
    if "accuracy" in cells:
        yield (
            f"Accuracy is {cells['accuracy']}, and {cells['reference_accuracy']} of"
            f" {found.reference}: a difference of {cells['accuracy_difference']}, paired by texts;"
            f" {spell(rows.loc['lost', 'value'])} texts are lost and"
            f" {spell(rows.loc['won', 'value'])} won."
        )


def _describe_outputs(found: Measurements, cells: Mapping[str, str], texts: int) -> str:
    """Say how far the outputs of regressions lie apart, and from labels where these are known."""
    sentence = f"The outputs for {texts} texts differ by {cells['difference']} on average"
    if "pearson" in cells:
        sentence += f", and correlate by {cells['pearson']} (Pearson)"
    if "spearman" in cells:
        sentence += f" and {cells['spearman']} (Spearman)"
    with_labels, of_reference = "pearson_with_labels", "reference_pearson_with_labels"
    if with_labels in cells and of_reference in cells:
        sentence += (
            f"; with the labels they correlate by {cells[with_labels]}, those of"
            f" {found.reference} by {cells[of_reference]} (Pearson)"
        )
    return f"{sentence}."


def _name_words(found: Measurements) -> Iterator[str]:
    if found.about.get("by_words"):
        yield (
            "Their tokenizers cut these texts differently: hidden states are means over the tokens"
            " of each word."
        )


def _name_changed_layers(found: Measurements) -> str:
    """Name the layers that differ by some measure, and those that do not."""
    is_changed = found.differs.any()
    changed, same = is_changed.index[is_changed], is_changed.index[~is_changed]
    sentence = f"{found.model} and {found.reference} differ in {_name_layers(changed)}"
    return (
        f"{sentence}, and are the same in {_name_layers(same)}." if len(same) else f"{sentence}."
    )


def _name_most_changed(found: Measurements, measure: str) -> str:
    """Name the layer that changed most, and those that may have changed as much."""
    top, others = found.most_changed(measure)
    row = found.by_layer(measure).loc[top]
    unchanged = 1 if found.shown[measure].is_similarity else 0
    sentence = f"{measure} changed most in layer {top}: {with_interval(row)}"
    sentence += f", where {unchanged} is no change"
    if others:
        return f"{sentence}; {_name_layers(others)} may have changed as much."
    return f"{sentence}, and more than any other layer."


def _name_head(found: Measurements, measure: str) -> str:
    """Name the head that changed most, and among how many."""
    heads = found.by_head(measure)
    is_least = found.shown[measure].is_similarity
    row = heads.loc[heads["value"].idxmin() if is_least else heads["value"].idxmax()]
    return (
        f"Of {len(heads)} heads {row['layer']}.{row['head']} changed most by {measure}:"
        f" {with_interval(row)}. The largest of several is too large by chance."
    )


def _describe_made(found: Measurements) -> Iterator[str]:
    """Say of each measure that has it what the last layer makes and what arrives there."""
    for measure in found.profile.index:
        rows = found.by_layer(measure).dropna(subset=["made", "arrived"])
        if len(rows):
            last = rows.iloc[-1]
            yield (
                f"{measure} in layer {rows.index[-1]} is {spell(last['value'])}: by this layer's"
                f" weights alone {spell(last['made'])} (made), by its input alone"
                f" {spell(last['arrived'])} (arrived)."
            )


def _describe_texts(found: Measurements) -> Iterator[str]:
    """Name the texts and words whose states change most and least in the last layer."""
    texts, words = found.texts, found.words
    if len(texts) < 2:
        return
    last = [column for column in texts if column.startswith("layer_")][-1]
    most, least = (
        f"text {position + 1:.0f} ({spell(value)})"
        for position, value in texts[["position", last]].iloc[[0, -1]].itertuples(index=False)
    )
    sentence = (
        f"In {last.replace('_', ' ')} the states of {most} change most and those of {least}"
        " least, by 1 minus their cosine (0 is no change)"
    )
    if SEEDS in texts:
        more = _count_more(texts[last], texts[SEEDS])
        sentence += f"; {more} of {len(texts)} texts change more than two seeds differ there"
    yield f"{sentence}."
    tested = words[words["low"].notna()]
    if len(tested) < 2 * NAMED:
        return
    most, least = (_name_words_of(rows) for rows in (tested[:NAMED], tested[: -NAMED - 1 : -1]))
    sentence = (
        f"Of {len(tested)} words in {FEWEST} texts or more, {most} change most and {least} least"
    )
    if SEEDS in words:
        more = _count_more(tested["value"], tested[SEEDS])
        sentence += f"; {more} change more than between two seeds, without a test"
    if "q" in words:
        more = int((words["q"] <= FALSE).sum())
        sentence += f"; {more} change more than by noise, at a false discovery rate of {FALSE:.0%}"
    yield f"{sentence}."


def _count_more(changes: pd.Series, seeds: pd.Series) -> int:
    """Count changes that are larger than what two seeds differ by, not by rounding."""
    return int((changes - seeds > statistics.EQUAL).sum())


def _name_words_of(rows: pd.DataFrame) -> str:
    return ", ".join(f"{row.word} ({row.value:.2g})" for row in rows.itertuples())


def _describe_noise(found: Measurements) -> str:
    """Name the layers that changed more than by noise, among how many comparisons."""
    layers = {measure: found.beyond_noise(measure) for measure in found.profile.index}
    return (
        f"Changed more than by every draw of noise of the same size ({found.draws} drawn), by the"
        f" {PERCENT} interval of each difference and corrected over layers:"
        f" {_list_tested(found, layers)}"
    )


def _describe_orders(found: Measurements) -> str:
    """Name the layers that are more alike than with the texts in another order."""
    measures = found.tests["measure"].unique()
    layers = {measure: found.exceeding(measure) for measure in measures}
    orders = found.tests["draws"].iloc[0]
    return (
        f"Hidden states are more alike than with the texts of {found.reference} in any of"
        f" {orders} other orders, corrected over layers: {_list_tested(found, layers)}"
    )


def _list_tested(found: Measurements, layers: Mapping[str, list[int]]) -> str:
    """List each measure's layers, with the p of its whole profile."""
    tests = found.tests.groupby("measure")
    phrases = []
    for measure, p in tests["p"].min().reindex(list(layers)).items():
        where = _name_layers(layers[measure]) if layers[measure] else "none"
        phrases.append(f"{measure} in {where} (p = {p:.2g})")
    sentence = f"{'; '.join(phrases)}. Each p is one test of a measure in all layers."
    least = 1 / (found.tests["draws"].iloc[0] + 1)
    if least > 1 - LEVEL + statistics.EQUAL:
        enough = round(1 / (1 - LEVEL)) - 1
        sentence += f" None can be below {least:.2g}: take {enough} draws for {1 - LEVEL:.2g}."
    return sentence


def _say_how_sure(found: Measurements) -> str:
    """Say what the intervals are over, and what they say nothing about."""
    texts = found.about["texts"]
    if found.table["low"].isna().all():
        return "There is no interval: one text says nothing about others."
    sentence = f"Intervals are of {PERCENT}, over {_name_units(found)} ({texts} texts"
    replicates = _count_replicates(found)
    if replicates > 1:
        return f"{sentence}, {replicates} replicates)."
    return f"{sentence}); they say nothing of other seeds: give the models of several."


def _say_what_more(found: Measurements, measure: str) -> Iterator[str]:
    """Say how many replicates and texts halve the interval of the layer that changed most by a
    measure."""
    top, _ = found.most_changed(measure)
    row = found.design_of(measure, top)
    for replicates, texts, *both in row[COUNTS].itertuples(index=False):
        ways = [(replicates, "{:.0f} replicates"), (texts, "{:.0f} texts")]
        ways.append((both[0], f"{both[0]:.0f} replicates and {both[1]:.0f} texts"))
        known = [words.format(count) for count, words in ways if not pd.isna(count)]
        if known:
            yield f"To halve the interval of {measure} in layer {top}, take {', or '.join(known)}."


def _name_left_out(found: Measurements) -> list[str]:
    return [f"{measure} is left out: {reason}" for measure, reason in found.left_out.items()]


def _count_replicates(found: Measurements) -> int:
    return len(found.measured.rows[["init", "seed"]].drop_duplicates())


def _name_units(found: Measurements) -> str:
    return "texts and replicates" if _count_replicates(found) > 1 else "texts"


def _name_layers(layers: Sequence[int]) -> str:
    """Name layers: `layer 3`, `layers 1 to 6`, `layers 2, 4 and 5`."""
    layers = sorted(layers)
    if len(layers) == 1:
        return f"layer {layers[0]}"
    if len(layers) > 2 and layers[-1] - layers[0] == len(layers) - 1:
        return f"layers {layers[0]} to {layers[-1]}"
    *first, last = map(str, layers)
    return f"layers {', '.join(first)} and {last}"


def _lay_out(cells: Mapping[str, Mapping[int, str]]) -> str:
    """Lay out {measure: {layer: cell}} as a table, one row a layer."""
    table = pd.DataFrame(cells).sort_index().fillna("").rename_axis("layer").reset_index()
    return table.to_string(index=False)
