"""PromptsScreen: the built-in prompts by kind, or a prompt of one's own."""

from __future__ import annotations

from mlx_specdec.prompts import PROMPTS, Prompt, prompt_named
from tui.screens.chooser import ChooserScreen

__all__ = ["PromptsScreen"]


class PromptsScreen(ChooserScreen[Prompt]):
    """Gives the prompt to race on.

    Args:
        current: the prompt in use.
        is_toy: those in the words that the built-in pair was taught come first.
    """

    def __init__(self, current: Prompt, is_toy: bool) -> None:
        suited = sorted(PROMPTS, key=lambda prompt: prompt.for_toy != is_toy)
        rows = [(f"{prompt.id:<11}{_words(prompt)}", prompt) for prompt in suited]
        marked = next((i for i, (_, prompt) in enumerate(rows) if prompt.id == current.id), 0)
        title = "What shall both lanes answer?"
        if is_toy:
            title += " The toy knows word meanings, stories and Python."
        super().__init__(title, rows, "a prompt of your own, or an id such as code-1", marked)

    def typed(self, words: str) -> Prompt:
        return prompt_named(words) or Prompt("", "own", words)


def _words(prompt: Prompt) -> str:
    return " ".join(prompt.text.split())[:200]
