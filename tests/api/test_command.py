"""`bertshift compare` on a command line."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from made_encoders import TEXTS, model_of, tokenizer_of

from bertshift.api.command import main
from bertshift.files import read_tsv
from bertshift.models.loading import save_model


@pytest.fixture
def asked(tmp_path):
    for seed, name in enumerate(("one", "other")):
        model = model_of("bert", seed, vocab_size=len(tokenizer_of("bert")))
        save_model(tmp_path / name, model, tokenizer_of("bert"))
    (tmp_path / "texts.txt").write_text(
        "\n".join(TEXTS) + f"\n{TEXTS[0]}\t{TEXTS[1]}\n", encoding="utf-8"
    )
    return [
        "compare",
        str(tmp_path / "one"),
        str(tmp_path / "other"),
        "--texts",
        str(tmp_path / "texts.txt"),
    ]


def test_it_prints_the_profile_and_writes_what_it_lists(asked, tmp_path, capsys):
    assert main([*asked, "--out", str(tmp_path / "out")]) == 0
    printed, told = capsys.readouterr()
    assert printed.startswith("one and other differ in layers ") and "step/s" in told
    table = read_tsv(tmp_path / "out/change.tsv")
    layers = table[
        (table["measure"] == "js") & (table["variant"] == "nats") & (table["head"] == 0)
    ]
    assert all(f"{value:.4g} " in printed for value in layers["value"])
    files = [line for line in printed.splitlines() if line.startswith(str(tmp_path))]
    assert files == [
        str(tmp_path / "out" / name)
        for name in ("change.tsv", "texts.tsv", "words.tsv", "change.png", "index.html")
    ]
    assert (tmp_path / "out/change.png").read_bytes().startswith(b"\x89PNG")


def test_seeds_and_measures_are_chosen(asked, capsys):
    assert main([asked[0], asked[1], asked[1], *asked[2:], "--measures", "js,cosine"]) == 0
    printed = capsys.readouterr()[0].splitlines()
    assert printed[0].startswith("one and 1 more and other differ in ")
    [title] = [line for line in printed if line.startswith("Each measure by layer")]
    assert printed[printed.index(title) + 1].split() == ["layer", "js", "cosine"]


def test_a_column_that_the_file_lacks(asked, tmp_path, capsys):
    (tmp_path / "texts.txt").write_text("text\tlabel\na b\t0\n")
    assert main([*asked, "--columns", "sentence"]) == 1
    assert "has no column 'sentence', only text, label" in capsys.readouterr()[1]


def test_texts_come_through_a_pipe(asked, tmp_path, capsys):
    main([*asked, "--measures", "cosine"])
    from_a_file = capsys.readouterr()[0]
    os.mkfifo(tmp_path / "pipe")
    content = (tmp_path / "texts.txt").read_bytes()
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=[content])
    writer.start()
    assert main([*asked[:-1], str(tmp_path / "pipe"), "--measures", "cosine"]) == 0
    writer.join()
    assert capsys.readouterr()[0] == from_a_file


def test_a_mistake_is_a_sentence_and_a_code(asked, capsys):
    assert main([*asked[:1], "/none", *asked[2:]]) == 1
    printed, told = capsys.readouterr()
    assert not printed and told.splitlines()[-1] == (
        "bertshift: /none is neither a folder nor the name of a model on the hub; correct it."
    )


# A shell lets what runs in its background, such as these tests, ignore Ctrl-C.
COMMAND = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from bertshift.api.command import main
sys.exit(main())
"""


def start(arguments, folder, stdout=subprocess.PIPE):
    """Start the command in a process of its own, whose temporary files are below `folder`."""
    folder.mkdir()
    return subprocess.Popen(
        [sys.executable, "-c", COMMAND, *arguments],
        env={**os.environ, "TMPDIR": str(folder)},
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_quietly_and_leaves_no_files(asked, tmp_path, number):
    folder = tmp_path / "temporary"
    process = start(asked, folder)
    while not list(folder.glob("bertshift-*")):
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(number)
    printed, told = process.communicate()
    assert process.returncode == -number and not printed and "Traceback" not in told, told
    assert not list(folder.glob("bertshift-*"))


def test_nobody_reads_what_it_prints(asked, tmp_path):
    """The files are written, as the profile may be all that somebody wants to see of it."""
    out = tmp_path / "out"
    process = start([*asked, "--measures", "rsa", "--out", str(out)], tmp_path / "temporary")
    process.stdout.close()
    told = process.stderr.read()
    assert process.wait() == 128 + signal.SIGPIPE
    assert "Traceback" not in told and "BrokenPipe" not in told
    assert (out / "index.html").exists()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="Linux has this file")
def test_a_full_disk_is_a_sentence(asked, tmp_path):
    with open("/dev/full", "w") as full:
        process = start([*asked, "--measures", "cosine"], tmp_path / "temporary", full)
        _, told = process.communicate()
    assert process.returncode == 1 and "Traceback" not in told
    assert told.splitlines()[-1].startswith("bertshift: a disk is full")
