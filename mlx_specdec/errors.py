"""The exception tree: each error has a title, a message and the fix.

::

    SpecdecError                    exit code 1
    ├── UsageError                  exit code 2: the words of the command are off
    │   ├── UnknownModelError       an alias that is not in the registry
    │   ├── UnknownChatError        a kept chat that is not there
    │   └── InvalidRequestError     a setting outside its range, or one we cannot honour
    ├── BackendMissingError         MLX cannot be imported on this machine
    ├── ModelError                  something about one model's files
    │   ├── ModelNotFoundError      not on disk, and offline or not on the hub
    │   ├── IncompleteModelError    a folder or snapshot that lacks files
    │   ├── UnsupportedModelError   an architecture or format that cannot be loaded
    │   ├── DraftLoadError          the draft cannot be loaded (never silently plain)
    │   ├── CacheNotRewindableError a cache layer that cannot take tokens back
    │   └── PairMismatchError       two tokenizers that do not mean the same by an id
    ├── DownloadError               the hub, the network or the disk
    │   ├── HubUnreachableError     no answer, or a server error
    │   ├── GatedModelError         the licence must be accepted, or a token is missing
    │   ├── DiskFullError           not enough free space for what is asked
    │   └── DownloadStalledError    no data for a long time
    ├── DoesNotFitError             the models need more memory than the machine has
    ├── AuditStoppedError           exit code 3: an audit that can say nothing
    └── GenerationError             while generating
        ├── ContextFullError        the prompt leaves no room to answer
        └── NotANumberError         a model returned no number where a score belongs
"""

from __future__ import annotations

__all__ = [
    "AuditStoppedError",
    "BackendMissingError",
    "CacheNotRewindableError",
    "ContextFullError",
    "DiskFullError",
    "DoesNotFitError",
    "DownloadError",
    "DownloadStalledError",
    "DraftLoadError",
    "GatedModelError",
    "GenerationError",
    "HubUnreachableError",
    "IncompleteModelError",
    "InvalidRequestError",
    "ModelError",
    "ModelNotFoundError",
    "NotANumberError",
    "PairMismatchError",
    "SpecdecError",
    "UnknownChatError",
    "UnknownModelError",
    "UnsupportedModelError",
    "UsageError",
]


class SpecdecError(Exception):
    """Base of every error that we raise on purpose.

    ``message`` says what happened in one sentence, ``hint`` what to do about it.
    ``title`` belongs to the class; ``exit_code`` is what the command line returns.
    """

    title = "Something went wrong"
    exit_code = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".rstrip()


class UsageError(SpecdecError):
    title = "That command cannot be run as written"
    exit_code = 2


class UnknownModelError(UsageError):
    title = "Unknown model"


class UnknownChatError(UsageError):
    title = "Unknown chat"


class InvalidRequestError(UsageError):
    title = "That setting cannot be honoured"


class BackendMissingError(SpecdecError):
    title = "MLX is not installed for this machine"


class ModelError(SpecdecError):
    title = "The model cannot be used"


class ModelNotFoundError(ModelError):
    title = "Model not found"


class IncompleteModelError(ModelError):
    title = "The model's files are incomplete"


class UnsupportedModelError(ModelError):
    title = "This kind of model is not supported"


class DraftLoadError(ModelError):
    title = "The draft cannot be loaded"


class CacheNotRewindableError(ModelError):
    title = "This model's cache cannot be rewound"


class PairMismatchError(ModelError):
    title = "These two models do not share a tokenizer"


class DownloadError(SpecdecError):
    title = "The download failed"


class HubUnreachableError(DownloadError):
    title = "The hub could not be reached"


class GatedModelError(DownloadError):
    title = "The model's page asks for permission"


class DiskFullError(DownloadError):
    title = "Not enough free space on the disk"


class DownloadStalledError(DownloadError):
    title = "The download stopped sending data"


class DoesNotFitError(SpecdecError):
    title = "The models do not fit into this machine's memory"


class AuditStoppedError(SpecdecError):
    title = "The audit could not be carried out"
    exit_code = 3


class GenerationError(SpecdecError):
    title = "Generation stopped"


class ContextFullError(GenerationError):
    title = "The context is full"


class NotANumberError(GenerationError):
    title = "The model returned no usable scores"
