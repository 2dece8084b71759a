"""Formats beside each other: the table, the one sentence, and the command to convert."""

from __future__ import annotations

from mlx_specdec.forecast.format_table import FormatPrices, format_lines, format_verdict
from mlx_specdec.forecast.weight_formats import AFFINE_4, FORMATS, WeightFormat, convert_command
from tests.forecasts import (
    FLAT_ROWS,
    FLOAT32,
    LINEAR,
    SLOW_ROWS,
    format_row,
    here,
    pair_of,
)

MXFP4 = WeightFormat("mxfp4", 4, 32)
NVFP4 = WeightFormat("nvfp4", 4, 16)

M2 = here(
    tuple((count, 0.09 * cost) for count, cost in enumerate(SLOW_ROWS, 1)),
    0.005,
    machine="M2",
    chip="m2",
    backend="metal",
)
STORED = format_row(AFFINE_4, 0.09, SLOW_ROWS)


def test_another_format_that_would_pay_is_named_with_its_command() -> None:
    words, command = format_verdict(M2, [STORED, format_row(MXFP4, 0.088, FLAT_ROWS)])
    assert words.startswith("mxfp4 would be 1.")
    assert "drafting pays with it (1.72x, 0.97x as stored)" in words
    assert "was not measured" in words
    assert command == (
        "mlx_lm.convert --hf-path Qwen/Qwen3-14B --mlx-path Qwen3-14B-mxfp4 -q --q-mode mxfp4"
    )


def test_none_better_says_stay() -> None:
    slow = format_row(MXFP4, 0.09, SLOW_ROWS)
    words, command = format_verdict(M2, [STORED, slow])
    assert words == (
        "Stay with affine 4-bit, groups of 64: no other format is clearly faster here, and "
        "drafting pays with none of them."
    )
    assert command == ""
    good = format_row(AFFINE_4, 0.06, FLAT_ROWS)
    assert "and drafting pays with it (1." in format_verdict(M2, [good, slow])[0]


def test_a_slow_format_with_which_drafting_pays_is_not_denied() -> None:
    words, command = format_verdict(M2, [STORED, format_row(MXFP4, 0.16, FLAT_ROWS)])
    assert words.endswith(
        "no other format is clearly faster here, though drafting pays with mxfp4."
    )
    assert command == ""


def test_a_format_that_is_only_quicker_does_not_promise_a_gain() -> None:
    words, command = format_verdict(M2, [STORED, format_row(NVFP4, 0.05, SLOW_ROWS)])
    assert "its passes are shorter; drafting pays with neither" in words
    assert command.endswith("--mlx-path Qwen3-14B-nvfp4 -q --q-mode nvfp4")


def test_a_format_that_this_backend_lacks_says_so() -> None:
    missing = FormatPrices(NVFP4, None, "[quantized_matmul] nvfp4 is not supported")
    lines = format_lines(pair_of("qwen3-14b").target, [STORED, missing])
    assert "not here: [quantized_matmul] nvfp4" in lines[-1]
    assert format_verdict(M2, [STORED, missing])[0].startswith("Stay with")


def test_where_none_is_usable_none_is_recommended() -> None:
    slow = here(tuple((rows, 30.0 * rows) for rows in range(1, 10)), 0.5)
    rows = [format_row(AFFINE_4, 30.0, SLOW_ROWS), format_row(MXFP4, 10.0, SLOW_ROWS)]
    assert format_verdict(slow, rows) == (
        "No format helps here: the quickest, mxfp4, takes 10 s a token.",
        "",
    )


def test_held_as_float32_no_format_is_recommended() -> None:
    forecast = here(LINEAR, 0.1, pair=pair_of("qwen3-1.7b"), weights=FLOAT32)
    words, command = format_verdict(forecast, [STORED, format_row(MXFP4, 0.01, FLAT_ROWS)])
    assert "held as float32 whatever the format on the disk" in words
    assert command == ""


def test_the_table_has_a_row_a_format_and_fits_80_columns() -> None:
    rows = [format_row(weights, 12.5, SLOW_ROWS) for weights in FORMATS]
    lines = format_lines(pair_of("qwen2.5-72b").target, rows)
    assert len(lines) == 2 + len(FORMATS)
    assert all(len(line) <= 80 for line in lines), lines
    assert " 1.74 2.44 3.11" in lines[2]


def test_commands_for_each_format() -> None:
    target = pair_of("qwen2.5-7b").target
    assert convert_command(target, WeightFormat("affine", 8, 64)) == (
        "mlx_lm.convert --hf-path Qwen/Qwen2.5-7B-Instruct "
        "--mlx-path Qwen2.5-7B-Instruct-affine-8bit-g64 -q --q-mode affine "
        "--q-bits 8 --q-group-size 64"
    )


def test_the_command_has_the_flags_of_the_installed_mlx_lm() -> None:
    from mlx_specdec.backend import mx  # noqa: F401 - before mlx_lm

    from mlx_lm.convert import configure_parser

    parser = configure_parser()
    for weights in FORMATS:
        words = convert_command(pair_of("qwen3-14b").target, weights).split()
        assert words[0] == "mlx_lm.convert"
        args = parser.parse_args(words[1:])
        assert args.quantize
        assert args.q_mode == weights.mode
        if weights.mode == "affine":
            assert (args.q_bits, args.q_group_size) == (weights.bits, weights.group_size)
