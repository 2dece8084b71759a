"""What the hub says of a repository: its needed files and sizes; its refusals in our words.

Addresses, folders, tokens and the offline switch are huggingface_hub's own, so that HF_ENDPOINT,
HF_HOME, HF_HUB_CACHE, HF_TOKEN and HF_HUB_OFFLINE mean what they mean everywhere.
"""

from __future__ import annotations

import errno
from dataclasses import dataclass
from fnmatch import fnmatch
from http import HTTPStatus

from ..errors import (
    DiskFullError,
    DownloadError,
    GatedModelError,
    HubUnreachableError,
    ModelNotFoundError,
    SpecdecError,
    UnsupportedModelError,
)

from huggingface_hub import HfApi, constants
from huggingface_hub.errors import (
    EntryNotFoundError,
    FileMetadataError,
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)
from huggingface_hub.errors import HTTPError as NetworkError  # type: ignore[attr-defined]

__all__ = ["HUB_ERRORS", "HubFile", "Listing", "in_our_words", "is_offline", "listing", "page_of"]

# Every error that a call to the hub, or writing what it sends, is known to raise.
HUB_ERRORS: tuple[type[Exception], ...] = (NetworkError, OSError, HFValidationError)

# What mlx-lm reads; sub-folders hold copies in other formats, but for chat templates.
_NEEDED = (
    "*.json",
    "*.jsonl",
    "*.jinja",
    "*.txt",
    "*.model",
    "*.tiktoken",
    "*.py",
    "model*.safetensors",
)


@dataclass(frozen=True, slots=True)
class HubFile:
    """One file of a repository: its size in bytes and the name of its blob in the cache."""

    name: str
    size: int
    etag: str


@dataclass(frozen=True, slots=True)
class Listing:
    """The files of a repository at one commit that a model needs, small ones first."""

    repo: str
    commit: str
    files: tuple[HubFile, ...]

    @property
    def total_bytes(self) -> int:
        return sum(file.size for file in self.files)


def is_offline() -> bool:
    """Whether the person has switched the hub off (HF_HUB_OFFLINE)."""
    return bool(constants.HF_HUB_OFFLINE)


def page_of(repo: str, endpoint: str | None = None) -> str:
    """The address of a repository's page."""
    return f"{endpoint or constants.ENDPOINT}/{repo}"


def is_needed(name: str) -> bool:
    """Whether a file of a repository is needed to run the model."""
    if "/" in name:
        return name.endswith(".jinja")
    return any(fnmatch(name, pattern) for pattern in _NEEDED)


def listing(repo: str, endpoint: str | None = None, timeout: float = 10.0) -> Listing:
    """Ask the hub for a repository's needed files.

    Args:
        endpoint: the hub's address; None for huggingface_hub's own.
        timeout: seconds without an answer.

    Raises:
        GatedModelError, ModelNotFoundError, HubUnreachableError, UnsupportedModelError.
    """
    try:
        info = HfApi(endpoint=endpoint).model_info(repo, files_metadata=True, timeout=timeout)
    except HUB_ERRORS as error:
        raise in_our_words(error, repo, endpoint) from error
    files = []
    for sibling in info.siblings or ():
        if is_needed(sibling.rfilename):
            etag = sibling.lfs.sha256 if sibling.lfs is not None else sibling.blob_id
            if not etag or sibling.size is None or not info.sha:
                raise DownloadError(
                    f"The hub gives no size or checksum for {repo}/{sibling.rfilename}.",
                    "Is HF_ENDPOINT set to a mirror? Try without it.",
                )
            files.append(HubFile(sibling.rfilename, sibling.size, etag))
    if not any(file.name.endswith(".safetensors") for file in files):
        raise UnsupportedModelError(
            f"{repo} holds no safetensors weights that MLX can load.",
            "Take a repository with model.safetensors, such as one of mlx-community's.",
        )
    files.sort(key=lambda file: (file.name.endswith(".safetensors"), file.name))
    return Listing(repo, str(info.sha), tuple(files))


def in_our_words(error: Exception, repo: str, endpoint: str | None = None) -> SpecdecError:
    """The hub's or the system's error as one of ours: one line, and what to do about it."""
    if isinstance(error, OfflineModeIsEnabled):
        return ModelNotFoundError(
            f"{repo} is not on this disk, and offline mode is on.",
            f"Unset HF_HUB_OFFLINE and run `mlx-specdec pull {repo}`.",
        )
    if isinstance(error, HFValidationError):
        return ModelNotFoundError(f"{repo!r} is not a repository's name.", "Write it as org/name.")
    if isinstance(error, HfHubHTTPError):
        return _refusal(error, repo, page_of(repo, endpoint))
    if isinstance(error, NetworkError):
        what = type(error).__name__
        return HubUnreachableError(
            f"The hub could not be reached for {repo} ({what}).",
            "Check the network (and HF_ENDPOINT, HTTPS_PROXY), then run the same command again; "
            "what was downloaded is kept.",
        )
    if isinstance(error, FileMetadataError):
        return HubUnreachableError(f"The hub's answer for {repo} is not usable: {error}.", "")
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFullError(
            f"The disk is full: {repo} could not be written.",
            "Free some space, then run the same command again; what was downloaded is kept.",
        )
    return DownloadError(
        f"{repo} could not be written: {error}.", "Check the folder's permissions (HF_HOME)."
    )


def _refusal(error: HfHubHTTPError, repo: str, page: str) -> SpecdecError:
    """An answer of the hub that is not what was asked for."""
    status = error.response.status_code
    if isinstance(error, GatedRepoError):
        return GatedModelError(
            f"{repo} asks you to accept its licence first.",
            f"Do that on {page}, then log in with `hf auth login` or set HF_TOKEN.",
        )
    is_unknown = isinstance(error, RepositoryNotFoundError)
    if status == HTTPStatus.FORBIDDEN or (status == HTTPStatus.UNAUTHORIZED and not is_unknown):
        return GatedModelError(
            f"The hub does not let you read {repo}.",
            f"See {page}; then log in with `hf auth login` or check HF_TOKEN.",
        )
    if is_unknown or status == HTTPStatus.NOT_FOUND:
        what = "file" if isinstance(error, EntryNotFoundError) else "model"
        if isinstance(error, RevisionNotFoundError):
            what = "version"
        return ModelNotFoundError(
            f"The hub knows no public {what} of the name {repo}.",
            f"Check the spelling on {page}; if it is private or gated, run `hf auth login` "
            "or set HF_TOKEN.",
        )
    return HubUnreachableError(
        f"The hub could not be reached for {repo}: it answered {status}.",
        "Try again in a while; what was downloaded is kept.",
    )
