"""The benchmark's prompts: what ships, and files of one's own."""

from __future__ import annotations

from pathlib import Path

from mlx_specdec.bench.workloads import read_prompts, read_prompts_file, workloads
from mlx_specdec.errors import InvalidRequestError

import pytest


def test_every_kind_has_eight_prompts_and_a_pilot_of_its_own() -> None:
    kinds = [workload.kind for workload in workloads()]
    assert kinds == ["code", "explanation", "rewriting", "dialogue", "prose", "arithmetic"]
    for workload in workloads():
        assert len(set(workload.prompts)) >= 8
        assert workload.pilot
        assert workload.pilot not in workload.prompts


def test_a_file_keeps_kinds_in_order_and_its_last_prompt_is_the_pilot() -> None:
    lines = [
        '{"kind": "b", "text": "one"}',
        "",
        '{"kind": "a", "prompt": "two"}',
        '{"kind": "b", "text": "three"}',
        '{"text": "four"}',
    ]
    found = read_prompts(lines)
    assert [(w.kind, w.prompts, w.pilot) for w in found] == [
        ("b", ("one",), "three"),
        ("a", ("two",), None),
        ("own", ("four",), None),
    ]


@pytest.mark.parametrize("line", ["not json", "[1]", '{"kind": "code"}', '{"text": "  "}'])
def test_a_bad_line_is_named(line: str) -> None:
    with pytest.raises(InvalidRequestError, match="Line 2 of mine"):
        read_prompts(['{"text": "good"}', line], "mine")


def test_a_file_without_prompts_and_a_missing_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequestError, match="no prompt"):
        read_prompts([])
    with pytest.raises(InvalidRequestError, match="cannot be read"):
        read_prompts_file(tmp_path / "none.jsonl")
    (tmp_path / "binary.jsonl").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidRequestError, match="cannot be read"):
        read_prompts_file(tmp_path / "binary.jsonl")


def test_fewer_prompts_keep_the_pilot() -> None:
    workload = workloads()[0]
    assert len(workload.first(2).prompts) == 2
    assert workload.first(2).pilot == workload.pilot
