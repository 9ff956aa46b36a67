"""`bertshift.compare` beside the straight way, in one run at BERT-base's shape: CPU seconds and
peak memory of a process each.

    PYTHONPATH=workflow OMP_NUM_THREADS=1 python benchmarks/two_models.py
        [--sentences 300] [--layers 12] [--width 768] [--blocks 2] [--svcca FOLDER]

All begin with two checkpoints on disk (random weights, one a copy of the other that was moved a
little) and the same made-up sentences. The straight way is a notebook's: transformers with
output_hidden_states and output_attentions, batches padded to their longest sentence, both models'
states and maps in memory, then each measure's public implementation: cosine_similarity of
scikit-learn and pearsonr of scipy for RSA; decompositions and get_cca_similarity for SVCCA, of a
clone of google/svcca in FOLDER, or its steps written out where there is none; the feature-space
form of Kornblith et al.'s notebook for CKA; jensenshannon of scipy; cosine_similarity of torch. It
has no null.

Values alone: the straight way is compared with the library's functions of two arrays. Both
compute RSA of the first 5000 tokens; `compare` draws them. With intervals: `compare` has each
value without each of 20 blocks of sentences. The straight way computes RSA, SVCCA and CKA again
without each of `--blocks` blocks, measured; attention's values are means over sentences, which are
only averaged again. The time of 20 blocks is calculated from these. `compare` is also run without
what each layer makes (`made`), and of the same models with heads, whose answers are compared; the
ratios are printed.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from functools import partial
from itertools import chain
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
from timing import timed

VOCABULARY, TOKENS, SEED, BLOCKS = 30_522, 5000, 0, 20
HEADS = {
    "-classes": "BertForSequenceClassification",
    "-masked": "BertForMaskedLM",
}


SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = [f"word{number}" for number in range(VOCABULARY - len(SPECIAL))]


def make_tokenizer():
    from transformers import BertTokenizer

    vocabulary = {token: i for i, token in enumerate([*SPECIAL, *WORDS])}
    return BertTokenizer(vocab=vocabulary, do_lower_case=True)


def make_config(layers, width):
    from transformers import BertConfig

    return BertConfig(
        num_hidden_layers=layers,
        hidden_size=width,
        num_attention_heads=width // 64,
        intermediate_size=4 * width,
    )


def draw_sentences(count):
    """Draw sentences in which few words are frequent, as in natural text."""
    generator = np.random.default_rng(SEED)
    frequencies = 1 / np.arange(10, len(WORDS) + 10)
    probabilities = frequencies / frequencies.sum()
    return [
        " ".join(generator.choice(WORDS, generator.integers(8, 40), p=probabilities))
        for _ in range(count)
    ]


def make_models(folder, sentences, layers, width):
    """Write two checkpoints, the same below heads, and random sentences."""
    import torch
    import transformers
    from transformers import BertModel

    tokenizer = make_tokenizer()
    torch.manual_seed(SEED)
    config = make_config(layers, width)
    model = BertModel(config)
    heads = {head: getattr(transformers, kind)(config) for head, kind in HEADS.items()}
    for name in ("base", "tuned"):
        model.save_pretrained(folder / name)
        tokenizer.save_pretrained(folder / name)
        for head, whole in heads.items():
            whole.bert.load_state_dict(model.state_dict(), strict=False)
            whole.save_pretrained(folder / f"{name}{head}")
            tokenizer.save_pretrained(folder / f"{name}{head}")
        with torch.no_grad():
            for weight in model.parameters():
                weight += 0.1 * 0.02 * torch.randn_like(weight)
    (folder / "texts.json").write_text(json.dumps(draw_sentences(sentences)))


# A route returns CPU seconds by part, and values by measure.


def with_intervals(folder, texts, arguments, made=True, head=""):
    from bertshift import compare

    call = partial(compare, made=made)
    seconds, change = timed(call, folder / f"tuned{head}", folder / f"base{head}", texts)
    assert bool(head) == bool(len(change.behaviour))
    table = change.table[change.table["head"] == 0]
    values = table.set_index(["measure", "variant", "layer"])["value"].sort_index()
    variants = {"svcca": "svcca99", "js": "nats", "cosine": "crop"}
    return {"all": seconds}, {
        measure: values[measure, variant].tolist() for measure, variant in variants.items()
    }


def values_alone(folder, texts, arguments):
    import bertshift
    from bertshift.activations.extract import extract
    from bertshift.activations.store import Activations
    from bertshift.api.models import prepare
    from bertshift.api.texts import rows_of
    from bertshift.models.loading import load_encoder
    from bertshift.models.tokenizer import load_tokenizer

    start = process_time()
    for name in ("tuned", "base"):
        run = folder / "runs" / name
        prepare(folder / name, run)
        model, tokenizer = load_encoder(run), load_tokenizer(run)
        extract(model, tokenizer, rows_of(texts), folder / f"{name}.npz", 512, attention=True)
    x, y = Activations(folder / "tuned.npz"), Activations(folder / "base.npz")
    seconds, values = {"models": process_time() - start}, {}
    for name in ("rsa", "svcca", "cka"):
        measure = getattr(bertshift, name)
        seconds[name], values[name] = timed(measure_states, name, measure, x, y)
    for name in ("js", "cosine"):
        measure = getattr(bertshift, name)
        seconds[name], values[name] = timed(measure_attention, measure, x, y)
    return seconds, values


def measure_states(name, measure, x, y):
    tokens = TOKENS if name == "rsa" else None
    return [
        measure(x.hidden(layer)[:tokens], y.hidden(layer)[:tokens])
        for layer in range(x.layers + 1)
    ]


def measure_attention(measure, x, y):
    values = []
    for layer in range(1, x.layers + 1):
        maps = zip(x.attention(layer), y.attention(layer))
        values.append(float(np.mean([measure(a, b) for a, b in maps])))
    return values


def straight(folder, texts, arguments):
    import scipy.stats  # noqa: F401 importing takes seconds
    import sklearn.metrics.pairwise  # noqa: F401
    import transformers.models.bert.modeling_bert  # noqa: F401

    if arguments.svcca:
        sys.path.insert(0, str(arguments.svcca))
    start = process_time()
    states, maps = run_model(folder / "tuned", texts)
    base_states, base_maps = run_model(folder / "base", texts)
    seconds, values = {"models": process_time() - start}, {}
    sentences = np.repeat(np.arange(len(texts)), [heads.shape[-1] for heads in maps[0]])
    block_of_token = sentences * BLOCKS // len(texts)
    svcca_route = google_svcca if arguments.svcca else svcca
    for name, measure in (("rsa", rsa), ("svcca", svcca_route), ("cka", cka)):
        start = process_time()
        values[name] = [float(measure(x, y)) for x, y in zip(states, base_states)]
        seconds[name] = process_time() - start
        if arguments.without:
            start = process_time()
            for block in range(arguments.without):
                rest = block_of_token != block
                for x, y in zip(states, base_states):
                    measure(x[rest], y[rest])
            seconds[f"{name} without blocks"] = process_time() - start
    for name, measure in (("js", js), ("cosine", cosine)):
        start = process_time()
        values[name] = [float(measure(a, b)) for a, b in zip(maps, base_maps)]
        seconds[name] = process_time() - start
    return seconds, values


def run_model(folder, texts):
    """Return [layers + 1] of [tokens, width], and [layers] of a list
    of [heads, length, length]."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    batch_states, batch_maps = [], []
    for first in range(0, len(texts), 16):
        inputs = tokenizer(texts[first : first + 16], padding=True, return_tensors="pt")
        with torch.no_grad():
            output = model(**inputs, output_hidden_states=True, output_attentions=True)
        mask = inputs["attention_mask"].bool()
        lengths = mask.sum(1).tolist()
        batch_states.append([layer[mask].numpy() for layer in output.hidden_states])
        batch_maps.append([cut_padding(layer, lengths) for layer in output.attentions])
    states = [np.concatenate(layer) for layer in zip(*batch_states)]
    maps = [list(chain.from_iterable(layer)) for layer in zip(*batch_maps)]
    return states, maps


def cut_padding(maps, lengths):
    return [heads[:, :length, :length].numpy().copy() for heads, length in zip(maps, lengths)]


def rsa(x, y):
    from scipy.stats import pearsonr
    from sklearn.metrics.pairwise import cosine_similarity

    upper = np.triu_indices(min(len(x), TOKENS), 1)
    similarities_x = cosine_similarity(x[:TOKENS].astype(np.float64))[upper]
    similarities_y = cosine_similarity(y[:TOKENS].astype(np.float64))[upper]
    return pearsonr(similarities_x, similarities_y)[0]


def svcca(x, y):
    from svcca import two_decompositions

    return two_decompositions(x.T, y.T)


def google_svcca(x, y):
    """Compute the SVCCA distance as in the first tutorial of google/svcca, cut at 99 % of the
    variance."""
    from cca_core import get_cca_similarity

    components = []
    for z in (x.T, y.T):
        _, s, v = np.linalg.svd(z - z.mean(axis=1, keepdims=True), full_matrices=False)
        k = int(np.searchsorted(np.cumsum(s**2), 0.99 * np.sum(s**2))) + 1
        components.append(s[:k, None] * v[:k])
    similarity = get_cca_similarity(*components, epsilon=0.0, verbose=False)
    return 1 - similarity["cca_coef1"].mean()


def cka(x, y):
    """`feature_space_linear_cka` of Kornblith et al.'s notebook, debiased."""
    x = x.astype(np.float64) - x.mean(0, dtype=np.float64)
    y = y.astype(np.float64) - y.mean(0, dtype=np.float64)
    n = len(x)
    rows_x, rows_y = np.einsum("ij,ij->i", x, x), np.einsum("ij,ij->i", y, y)

    def debiased(a, b, rows_a, rows_b):
        similarity = np.linalg.norm(a.T.dot(b)) ** 2
        totals = rows_a.sum() * rows_b.sum() / ((n - 1) * (n - 2))
        return similarity - n / (n - 2.0) * rows_a.dot(rows_b) + totals

    cross = debiased(x, y, rows_x, rows_y)
    return cross / np.sqrt(debiased(x, x, rows_x, rows_x) * debiased(y, y, rows_y, rows_y))


def js(maps, base_maps):
    from scipy.spatial.distance import jensenshannon

    divergences = [np.mean(jensenshannon(a, b, axis=-1) ** 2) for a, b in zip(maps, base_maps)]
    return np.mean(divergences)


def cosine(maps, base_maps):
    import torch

    similarities = []
    for a, b in zip(maps, base_maps):
        flat_a, flat_b = torch.from_numpy(a).flatten(1), torch.from_numpy(b).flatten(1)
        similarities.append(torch.cosine_similarity(flat_a, flat_b).mean().item())
    return np.mean(similarities)


ROUTES = {
    "bertshift, values alone": values_alone,
    "the straight way, values alone": straight,
    "bertshift.compare, intervals and nulls": with_intervals,
    "bertshift.compare, the same without made": partial(with_intervals, made=False),
    "the straight way, intervals": straight,
} | {f"bertshift.compare, heads {head[1:]}": partial(with_intervals, head=head) for head in HEADS}


def run_route(arguments):
    """Print the result of one route as JSON, with wall time and peak memory of this process."""
    texts = json.loads((arguments.folder / "texts.json").read_text())
    start = perf_counter()
    seconds, values = ROUTES[arguments.route](arguments.folder, texts, arguments)
    result = {
        "seconds": seconds,
        "wall": perf_counter() - start,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
        "values": values,
    }
    print(json.dumps(result))


def start_route(route, arguments, folder, without):
    """Take a route in a new process and return what that prints."""
    command = [sys.executable, __file__, "--route", route, "--folder", str(folder)]
    command += ["--without", str(without)]
    if arguments.svcca:
        command += ["--svcca", str(arguments.svcca)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout.splitlines()[-1])


def total_seconds(result):
    return sum(result["seconds"].values())


def print_results(results, arguments):
    print(f"{arguments.sentences} sentences, {arguments.layers} layers of width {arguments.width}")
    print(f"{'route':48}{'CPU s':>10}{'wall s':>10}{'peak GB':>10}")
    for route, result in results.items():
        if route.endswith("intervals"):
            route = f"{route}, {arguments.blocks} of {BLOCKS} blocks"
        print(
            f"{route:48}{total_seconds(result):10.1f}{result['wall']:10.1f}{result['peak']:10.2f}"
        )
    library, straight_way, compare, plain_compare, straight_intervals, *answers = results.values()
    blocks = sum(
        seconds
        for part, seconds in straight_intervals["seconds"].items()
        if part.endswith("blocks")
    )
    all_blocks = total_seconds(straight_intervals) + blocks * (BLOCKS / arguments.blocks - 1)
    calculated = f"the straight way, {BLOCKS} of {BLOCKS} blocks, calculated"
    print(f"{calculated:48}{all_blocks:10.1f}")
    straight_seconds = total_seconds(straight_way)
    print(
        f"ratios: values alone {straight_seconds / total_seconds(library):.1f},"
        f" with intervals {all_blocks / total_seconds(compare):.1f},"
        f" its values alone by intervals of ours {straight_seconds / total_seconds(compare):.1f}"
    )
    ratio = total_seconds(compare) / total_seconds(plain_compare)
    print(f"compare with made, relative to compare without: {ratio:.2f}")
    for head, result in zip(HEADS, answers, strict=True):
        ratio = total_seconds(result) / total_seconds(compare)
        print(f"compare of models with heads {head[1:]}, relative to models without: {ratio:.2f}")
    for name, result in (("values alone", library), ("the straight way", straight_intervals)):
        parts = [f"{part} {seconds:.1f}" for part, seconds in result["seconds"].items()]
        print(f"{name}:", ", ".join(parts))
    for result in (library, compare):
        for name, values in result["values"].items():
            expected = straight_way["values"][name]
            difference = max(abs(a - b) for a, b in zip(values, expected))
            print(f"{name}: largest difference {difference:.1e}")


def start_making(arguments, folder):
    """Write models and sentences in a process of its own, as a process that starts others hands
    its peak of memory on to them."""
    command = [sys.executable, __file__, "--make", "--folder", str(folder)]
    for name in ("sentences", "layers", "width"):
        command += [f"--{name}", str(getattr(arguments, name))]
    subprocess.run(command, check=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sentences", type=int, default=300)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--width", type=int, default=768)
    parser.add_argument("--blocks", type=int, default=2)
    parser.add_argument("--without", type=int, default=0)
    parser.add_argument("--route", choices=ROUTES)
    parser.add_argument("--make", action="store_true")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--svcca", type=Path)
    arguments = parser.parse_args()
    if arguments.make:
        make_models(arguments.folder, arguments.sentences, arguments.layers, arguments.width)
        return
    if arguments.route:
        run_route(arguments)
        return
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        start_making(arguments, Path(folder))
        for route in ROUTES:
            without = arguments.blocks if route == "the straight way, intervals" else 0
            results[route] = start_route(route, arguments, folder, without)
    print_results(results, arguments)


if __name__ == "__main__":
    main()
