"""Input that is not UTF-8 must not end the app.

A terminal in the old mouse mode, or one that is reattached, sends bytes above ASCII that are no
UTF-8. Textual's driver decodes strictly and dies of them.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable

__all__ = ["accept_any_bytes"]


def _decoder(encoding: str) -> Callable[..., codecs.IncrementalDecoder]:
    return lambda: codecs.getincrementaldecoder(encoding)(errors="replace")


def accept_any_bytes() -> None:
    """Let the driver replace what it cannot decode; one that is built otherwise stays as it is."""
    from textual.drivers import linux_driver

    if hasattr(linux_driver, "getincrementaldecoder"):
        vars(linux_driver)["getincrementaldecoder"] = _decoder
