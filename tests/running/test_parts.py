"""Parts of a long job: kept when it is stopped, never taken for those of another configuration."""

import weakref

import pytest
import torch

from bertshift.running.parts import LastCallCache, Part, made


def parts(calls, **recipe):
    def make(name):
        calls.append(name)
        return {"counts": torch.arange(3), "value": 0.1 + len(name), "ids": [name]}

    names = ("a", "bb", "ccc")
    return {
        name: Part(name, {"name": name, **recipe}, lambda name=name: make(name)) for name in names
    }


def test_what_was_finished_is_not_done_again(tmp_path, capsys):
    calls = []
    first = parts(calls)

    def killed():
        # What a kill would leave: each part was written before the next was begun.
        assert sorted(file.name for file in tmp_path.iterdir()) == ["a.pt", "bb.pt"]
        raise KeyboardInterrupt

    first["ccc"] = Part("ccc", {"name": "ccc"}, killed)
    with pytest.raises(KeyboardInterrupt):
        made(first, tmp_path, "job")
    assert calls == ["a", "bb"]
    capsys.readouterr()
    found = made(parts(calls), tmp_path, "job")
    assert calls == ["a", "bb", "ccc"] and list(found) == ["a", "bb", "ccc"]
    assert found["a"]["counts"].tolist() == [0, 1, 2] and found["a"]["value"] == 1.1
    said = capsys.readouterr().err
    assert "job: 2 of 3 parts found done" in said and "job: part 3 of 3: ccc" in said
    assert "part 1 of 3" not in said


def test_parts_of_another_recipe_half_written_or_damaged_are_made_again(tmp_path):
    calls = []
    made(parts(calls, code="x"), tmp_path, "job")
    made(parts(calls, code="y"), tmp_path, "job")
    assert calls == ["a", "bb", "ccc"] * 2
    (tmp_path / "bb.pt").write_bytes((tmp_path / "bb.pt").read_bytes()[:100])
    (tmp_path / "a.pt").rename(tmp_path / "a.pt.part")
    flipped = bytearray((tmp_path / "ccc.pt").read_bytes())
    flipped[flipped.index(torch.arange(3).numpy().tobytes()) + 8] ^= 1
    (tmp_path / "ccc.pt").write_bytes(flipped)
    made(parts(calls, code="y"), tmp_path, "job")
    assert calls[6:] == ["a", "bb", "ccc"]


def test_the_result_before_is_freed_before_the_next_is_made():
    class States:
        pass

    alive = weakref.WeakSet()

    def load(number):
        assert not alive
        states = States()
        alive.add(states)
        return states

    latest = LastCallCache(load)
    assert latest(1) is latest(1)
    latest(2)
    assert len(alive) == 1
