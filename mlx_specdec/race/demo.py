"""The demo without a screen: the same prompt with and without drafting, raced several times.

A lane is one way of decoding. Both begin with empty caches in every race, so that the reading of
the prompt counts, and take turns on the device, so that neither has the quieter minute.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..engine import Engine
from ..request import COPY
from ..settings import Settings
from .demo_result import DemoResult, Lane, demo_result
from .difference import Difference, first_difference
from .race import race_recording
from .recording import RecordingHeader

__all__ = ["DemoResult", "Difference", "Lane", "first_difference", "run_demo"]


def run_demo(
    engine: Engine,
    prompt_tokens: Sequence[int],
    settings: Settings,
    runs: int = 3,
    on_run: Callable[[int], None] = lambda run: None,
    header: RecordingHeader | None = None,
) -> DemoResult:
    """Warm both lanes up, then race them ``runs`` times.

    Args:
        settings: as for any answer; ``seed`` is kept the same for every race when it is given.
        on_run: told the number of each race before it begins; the first one warms up as well.
        header: of the recordings; None makes one of the models' names.

    Raises:
        SpecdecError: what went wrong in a race.
    """
    if header is None:
        pair = engine.pair
        drafted = COPY if pair.copies else pair.draft.name if pair.draft is not None else ""
        header = RecordingHeader(pair.target.name, drafted)
    races = []
    for run in range(1, runs + 1):
        on_run(run)
        races.append(race_recording(engine, prompt_tokens, settings, header, warm_up=run == 1))
    return demo_result(races)
