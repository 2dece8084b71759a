"""The three kinds of text as documents: word meanings, code, prose."""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from . import packages

KINDS = ("words", "code", "prose")
HELD_OUT_ONE_IN = 45
FIRST_SPEECH_YEAR = 1900
SKIPPED_FOLDERS = {
    "test",
    "tests",
    "idle_test",
    "site-packages",
    "encodings",
    "pydoc_data",
    "__pycache__",
    "turtledemo",
}
SKIPPED_FILES = re.compile(r"_sysconfigdata.*|__phello__.*|.*_tables?\.py|html/entities\.py")


@dataclass(frozen=True)
class Document:
    """A named text of one kind; `style` is a hint for the phrasing of questions about it."""

    kind: str
    name: str
    text: str
    style: str = ""


@dataclass(frozen=True)
class Entry:
    """A word with its part of speech and the glosses of its first senses."""

    word: str
    part: str
    glosses: tuple[str, ...]
    count: int


def is_held_out(kind: str, name: str) -> bool:
    """Whether a document is kept for measuring: about one in 45, by a hash of its name."""
    digest = hashlib.sha256(f"held-out {kind}: {name}".encode()).digest()
    return int.from_bytes(digest[:4], "big") % HELD_OUT_ONE_IN == 0


def read_code(library: Path) -> list[Document]:
    """Python's standard library without its tests and generated tables."""
    documents = []
    for path in sorted(library.rglob("*.py")):
        name = path.relative_to(library).as_posix()
        if SKIPPED_FOLDERS & set(path.relative_to(library).parts[:-1]) or SKIPPED_FILES.fullmatch(
            name
        ):
            continue
        text = path.read_text(encoding="utf-8", errors="ignore").expandtabs(4)
        text = re.sub(r"[ \t]+\n", "\n", text)
        if len(text) > 300:
            documents.append(Document("code", name, re.sub(r"\n{3,}", "\n\n", text)))
    return documents


def read_speeches(package: Path) -> list[Document]:
    """State of the Union speeches from `FIRST_SPEECH_YEAR` on."""
    documents = []
    for path in sorted(package.rglob("data/*.txt")):
        if int(path.name[:4]) >= FIRST_SPEECH_YEAR:
            text = path.read_text(encoding="utf-8", errors="ignore")
            lines = [" ".join(line.split()) for line in text.splitlines()]
            documents.append(
                Document("prose", path.stem, "\n\n".join(filter(None, lines)), "speech")
            )
    return documents


def read_novels(package: Path) -> list[Document]:
    """Jane Austen's six novels, one document a chapter."""
    documents = []
    blob = next(package.rglob("data/Rdata.rdb")).read_bytes()
    for lines in _character_vectors(blob):
        text = "\n".join(lines)
        title = next(filter(None, (line.strip() for line in lines)))
        for index, chapter in enumerate(re.split(r"\n(?:CHAPTER|Chapter) [^\n]*\n", text)[1:]):
            paragraphs = [" ".join(part.split()) for part in re.split(r"\n\s*\n", chapter)]
            paragraphs = [
                part.replace("--", " -- ").replace("_", "") for part in paragraphs if len(part) > 20
            ]
            body = re.sub(r" +", " ", "\n\n".join(paragraphs))
            documents.append(Document("prose", f"{title} {index}", body, "novel"))
    return documents


def _character_vectors(blob: bytes) -> Iterator[list[str]]:
    """The character vectors in an R lazy-load database (length, zlib stream, serialised vector)."""
    while blob:
        stream = zlib.decompressobj()
        data = stream.decompress(blob[4:])
        blob = stream.unused_data
        start = 14 + 4 + int.from_bytes(data[14:18], "big")
        if data[start + 3] != 16:
            continue
        num_lines = int.from_bytes(data[start + 4 : start + 8], "big")
        offset, lines = start + 8, []
        for _ in range(num_lines):
            length = int.from_bytes(data[offset + 4 : offset + 8], "big")
            lines.append(data[offset + 8 : offset + 8 + length].decode("utf-8", "ignore"))
            offset += 8 + length
        yield lines


def read_entries(package: Path, limit: int = 45_000) -> list[Entry]:
    """WordNet's words with the glosses of their first two senses, the most frequent words first."""
    folder = next(package.rglob("data.noun")).parent
    best: dict[str, Entry] = {}
    for part, name in (("noun", "noun"), ("verb", "verb"), ("adjective", "adj"), ("adverb", "adv")):
        glosses = _glosses(folder / f"data.{name}")
        for line in (folder / f"index.{name}").read_text().splitlines():
            if line.startswith(" "):
                continue
            fields = line.split()
            num_senses = int(fields[2])
            count = int(fields[-num_senses - 1])
            senses = [glosses[offset] for offset in fields[-num_senses:] if offset in glosses]
            word = fields[0].replace("_", " ")
            if senses and re.fullmatch(r"[a-z][a-z-]{2,14}( [a-z]{2,12})?", word):
                entry = Entry(word, part, tuple(dict.fromkeys(senses))[:2], count)
                if word not in best or best[word].count < count:
                    best[word] = entry
    ordered = sorted(
        best.values(), key=lambda entry: (-entry.count, " " in entry.word, _shuffle_key(entry.word))
    )
    return ordered[:limit]


def _shuffle_key(word: str) -> bytes:
    return hashlib.sha256(word.encode()).digest()


def _glosses(path: Path) -> dict[str, str]:
    """Offset to gloss, without examples; glosses of proper names are left out."""
    glosses = {}
    for line in path.read_text().splitlines():
        if line.startswith(" ") or "|" not in line:
            continue
        fields, gloss = line.split("|", 1)
        if " @i " in fields:
            continue
        gloss = re.split(r';\s*"|"', gloss.strip())[0].strip(" ;,:")
        if 8 <= len(gloss) <= 140 and gloss.isascii():
            glosses[line[:8]] = gloss
    return glosses


def read_documents(downloads: Path) -> tuple[list[Document], list[Entry]]:
    """All documents of code and prose, and all word entries."""
    documents = read_code(packages.standard_library())
    documents += read_novels(packages.fetch(packages.AUSTEN, downloads))
    documents += read_speeches(packages.fetch(packages.SPEECHES, downloads))
    return documents, read_entries(packages.fetch(packages.WORDNET, downloads))


def digest(documents: list[Document], kind: str) -> dict[str, str | int]:
    """How many documents and characters of a kind, and a SHA-256 over their names and texts."""
    chosen = [(item.name, item.text) for item in documents if item.kind == kind]
    content = json.dumps(chosen, ensure_ascii=True).encode()
    characters = sum(len(text) for _, text in chosen)
    return {
        "documents": len(chosen),
        "characters": characters,
        "sha256": hashlib.sha256(content).hexdigest(),
    }
