"""Plans and downloads against a hub on this machine."""

from __future__ import annotations

import itertools
import shutil
import tempfile
import threading
from collections import namedtuple
from collections.abc import Iterator
from pathlib import Path

from mlx_specdec.downloads import rate as download_rate
from mlx_specdec.downloads.download import (
    DownloadPlan,
    Progress,
    _start_worker,
    download,
    download_plan,
)
from mlx_specdec.downloads.hub import listing
from mlx_specdec.errors import (
    DiskFullError,
    DownloadError,
    DownloadStalledError,
    GatedModelError,
    HubUnreachableError,
    IncompleteModelError,
    ModelNotFoundError,
    SpecdecError,
    UnsupportedModelError,
)
from mlx_specdec.locate import hub_cache_folder, locate
from mlx_specdec.model_spec import ModelSpec
from tests.fakehub import FakeHub, Fault, hub_for, model_files, size_of

import pytest

TARGET = ModelSpec(alias="big", repo="org/big", weight_bytes=120_000)
DRAFT = ModelSpec(alias="small", repo="org/small", weight_bytes=20_000)
SHARD = "model-00002-of-00002.safetensors"
_LEAPS = itertools.count(start=1000.0, step=1000.0)
_Usage = namedtuple("_Usage", "total used free")


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeHub]:
    with hub_for(monkeypatch, tmp_path) as hub:
        hub.repos["org/big"] = model_files(seed=1)
        hub.repos["org/small"] = model_files(size=20_000, shards=1, seed=2)
        yield hub


def fetch(plan: DownloadPlan, seen: list[Progress] | None = None, tries: int = 2) -> None:
    download(plan, ([] if seen is None else seen).append, tries=tries, pause_seconds=0.0)


def test_a_pair_is_fetched_draft_first_and_only_the_needed_files(hub: FakeHub) -> None:
    plan = download_plan([TARGET, DRAFT])
    assert [model.sizes_from for model in plan.models] == ["hub", "hub"]
    seen: list[Progress] = []
    found = download(plan, seen.append, pause_seconds=0.0)
    assert [item.origin for item in found] == ["Hugging Face cache"] * 2
    assert all(item.complete for item in found)
    assert seen[0].spec is DRAFT
    assert seen[-1].bytes_done == seen[-1].bytes_total == plan.fetch_bytes
    names = {path.name for path in found[0].path.iterdir()}
    assert names == set(hub.repos["org/big"]) - {"README.md", "model.gguf"}
    for name in names:
        assert (found[0].path / name).read_bytes() == hub.repos["org/big"][name]
    assert not list(hub_cache_folder("org/big").rglob("*.incomplete"))


def test_what_we_fetched_is_found_by_the_hub_library_itself(hub: FakeHub) -> None:
    from huggingface_hub import scan_cache_dir, try_to_load_from_cache

    fetch(download_plan([DRAFT]))
    path = try_to_load_from_cache("org/small", "model.safetensors")
    assert isinstance(path, str)
    assert Path(path).read_bytes() == hub.repos["org/small"]["model.safetensors"]
    assert not scan_cache_dir(hub_cache_folder("org/small").parent).warnings


@pytest.mark.parametrize("status", [500, 503])
def test_j2_a_server_error_says_that_the_hub_could_not_be_reached(
    hub: FakeHub, status: int
) -> None:
    plan = download_plan([TARGET])
    hub.faults["/resolve/"] = Fault(status=status)
    with pytest.raises(HubUnreachableError, match=rf"could not be reached.*{status}"):
        fetch(plan)


def test_j2_a_server_error_before_the_question_falls_back_to_the_registry(hub: FakeHub) -> None:
    hub.faults["/api/models/"] = Fault(status=503)
    plan = download_plan([TARGET])
    assert (plan.models[0].sizes_from, plan.fetch_bytes) == ("registry", 120_000)
    with pytest.raises(HubUnreachableError, match="could not be reached"):
        fetch(plan)
    with pytest.raises(HubUnreachableError, match=r"org/big.*not on this disk.*reached"):
        download_plan([ModelSpec(alias="org/big", repo="org/big")])


def test_j2_a_timeout_says_that_the_hub_could_not_be_reached(hub: FakeHub) -> None:
    hub.faults["/api/models/"] = Fault(stall_after=0)
    with pytest.raises(HubUnreachableError, match="could not be reached"):
        listing("org/big", timeout=0.05)


def test_j2_no_server_at_all(hub: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(HubUnreachableError, match="could not be reached"):
        listing("org/big")


def test_a_passing_server_error_is_tried_again(hub: FakeHub) -> None:
    plan = download_plan([DRAFT])
    hub.faults["/tokenizer.json"] = Fault(status=503, times=1)
    fetch(plan)
    assert len(hub.gets("/tokenizer.json")) == 2


def test_j3_too_little_space_for_both_is_refused_before_anything_is_fetched(
    hub: FakeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: _Usage(10**9, 0, 1_000_000))
    plan = download_plan([TARGET, DRAFT])
    hub.requests.clear()
    with pytest.raises(DiskFullError, match=r"small and big need 0\.1 MB.*1\.0 MB free"):
        fetch(plan)
    assert not hub.requests
    assert not hub_cache_folder("org/big").exists()


def test_j4_offline_with_both_cached_makes_no_call(
    hub: FakeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetch(download_plan([TARGET, DRAFT]))
    hub.requests.clear()
    for offline in (True, False):
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", offline)
        plan = download_plan([TARGET, DRAFT])
        assert plan.complete
        assert plan.fetch_bytes == 0
        assert len(download(plan)) == 2
    assert not hub.requests


def test_j4_offline_with_only_the_draft_missing_names_the_draft(
    hub: FakeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetch(download_plan([TARGET]))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    hub.requests.clear()
    with pytest.raises(ModelNotFoundError) as caught:
        download_plan([TARGET, DRAFT])
    assert "The draft small is not on this disk" in caught.value.message
    assert "mlx-specdec pull small" in caught.value.hint
    assert not hub.requests


def test_j4_no_network_with_only_the_draft_missing_names_the_draft(hub: FakeHub) -> None:
    fetch(download_plan([TARGET]))
    hub.faults["/api/models/"] = Fault(status=503)
    unknown = ModelSpec(alias="small", repo="org/small")
    with pytest.raises(HubUnreachableError, match="The draft small is not on this disk"):
        download_plan([TARGET, unknown])


def _half() -> Path | None:
    """The half file, once all that the hub sends of it before it stalls is written."""
    halves = hub_cache_folder("org/big").rglob("*.incomplete")
    return next((path for path in halves if size_of(path) == 30_000), None)


def _jumping_clock() -> float:
    """Stands still until the hub has stopped sending, then leaps at each look."""
    return next(_LEAPS) if _half() is not None else 0.0


def _interrupting_clock() -> float:
    """Ctrl-C at a moment when the child waits for data."""
    if _half() is not None:
        raise KeyboardInterrupt
    return 0.0


def test_j5_a_download_that_stops_sending_is_noticed_and_goes_on_later(hub: FakeHub) -> None:
    hub.faults[SHARD] = Fault(stall_after=30_000)
    with pytest.raises(DownloadStalledError, match="No data for 60 s"):
        download(download_plan([TARGET]), clock=_jumping_clock)
    hub.faults.clear()
    assert _half() is not None
    fetch(download_plan([TARGET]))
    assert hub.gets(SHARD) == ["", "bytes=30000-"]


def test_j5_a_stalled_download_can_be_stopped(hub: FakeHub) -> None:
    hub.faults[SHARD] = Fault(stall_after=30_000)
    cancel = threading.Event()

    def stop_once_stalled() -> None:
        hub.stalled.wait(10)
        cancel.set()

    threading.Thread(target=stop_once_stalled, daemon=True).start()
    with pytest.raises(DownloadError, match="stopped"):
        download(download_plan([TARGET]), cancel=cancel)


def test_j6_progress_moves_without_a_terminal_and_nothing_else_is_drawn(
    hub: FakeHub, capfd: pytest.CaptureFixture[str]
) -> None:
    seen: list[Progress] = []
    fetch(download_plan([TARGET]), seen)
    amounts = [progress.bytes_done for progress in seen]
    assert amounts == sorted(amounts)
    assert len(set(amounts)) >= 3
    out, err = capfd.readouterr()
    assert (out, err) == ("", "")


def test_j7_resume_counts_what_is_there(hub: FakeHub) -> None:
    hub.faults[SHARD] = Fault(drop_after=30_000)
    with pytest.raises(HubUnreachableError):
        fetch(download_plan([TARGET]), tries=1)
    hub.faults.clear()
    plan = download_plan([TARGET])
    assert plan.models[0].on_disk_bytes > 90_000
    seen: list[Progress] = []
    fetch(plan, seen)
    assert seen[0].share > 0.5
    assert seen[-1].share == 1.0
    assert hub.gets("model-00001") == [""]


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (401, "", ModelNotFoundError),
        (401, "RepoNotFound", ModelNotFoundError),
        (404, "RepoNotFound", ModelNotFoundError),
        (401, "GatedRepo", GatedModelError),
        (403, "GatedRepo", GatedModelError),
        (403, "", GatedModelError),
    ],
)
def test_j8_gated_or_mistyped_is_one_line_with_the_page(
    hub: FakeHub, status: int, code: str, kind: type[SpecdecError]
) -> None:
    hub.faults["/api/models/"] = Fault(status=status, code=code)
    if (status, code) == (401, ""):
        kind = GatedModelError  # over plain http the library does not guess
    with pytest.raises(kind) as caught:
        download_plan([TARGET])
    assert f"{hub.endpoint}/org/big" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_j8_a_licence_that_is_asked_for_at_the_file(hub: FakeHub) -> None:
    plan = download_plan([TARGET])
    hub.faults["/resolve/"] = Fault(status=403, code="GatedRepo")
    with pytest.raises(GatedModelError, match="accept its licence") as caught:
        fetch(plan)
    assert f"{hub.endpoint}/org/big" in caught.value.hint


def test_a_redirected_file_arrives_and_the_token_stays_at_home(
    hub: FakeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    hub.faults["model.safetensors"] = Fault(redirect=True)
    fetch(download_plan([DRAFT]))
    assert locate(DRAFT) is not None
    assert {token for host, token in hub.tokens if host == "127.0.0.1"} == {"Bearer hf_secret"}
    assert {token for host, token in hub.tokens if host == "localhost"} == {""}


def test_a_drop_in_the_middle_goes_on_where_it_was(hub: FakeHub) -> None:
    hub.faults[SHARD] = Fault(drop_after=25_000, times=1)
    fetch(download_plan([TARGET]))
    assert hub.gets(SHARD) == ["", "bytes=25000-"]
    assert locate(TARGET) is not None


def test_a_kill_in_the_middle_leaves_nothing_broken(hub: FakeHub) -> None:
    hub.faults[SHARD] = Fault(stall_after=30_000)
    with pytest.raises(KeyboardInterrupt):
        download(download_plan([TARGET]), clock=_interrupting_clock)
    half = locate(TARGET)
    assert half is not None
    assert not half.complete
    assert half.missing == (SHARD,)
    assert not (hub_cache_folder("org/big") / "refs" / "main").exists()
    hub.faults.clear()
    fetch(download_plan([TARGET]))
    whole = locate(TARGET)
    assert whole is not None
    assert whole.complete
    assert hub.gets(SHARD)[-1] == "bytes=30000-"


def test_a_file_of_the_wrong_size_is_not_taken(hub: FakeHub) -> None:
    plan = download_plan([TARGET])
    hub.faults[SHARD] = Fault(cut_to=10_000)
    with pytest.raises(DownloadError, match=r"sent 10,000 bytes of .*00002"):
        fetch(plan)
    assert not (hub_cache_folder("org/big") / "refs" / "main").exists()


def test_a_damaged_file_is_thrown_away_and_fetched_anew(hub: FakeHub) -> None:
    hub.corrupt.add(SHARD)
    with pytest.raises(DownloadError, match="checksum is wrong"):
        fetch(download_plan([TARGET]))
    hub.corrupt.clear()
    fetch(download_plan([TARGET]))
    assert hub.gets(SHARD) == ["", ""]


def test_a_blob_that_was_cut_short_is_fetched_anew(hub: FakeHub) -> None:
    fetch(download_plan([TARGET]))
    found = locate(TARGET)
    assert found is not None
    blob = (found.path / SHARD).resolve()
    blob.write_bytes(blob.read_bytes()[:1000])
    assert locate(TARGET) != found
    fetch(download_plan([TARGET]))
    assert blob.read_bytes() == hub.repos["org/big"][SHARD]


def test_a_repository_without_weights_for_mlx_is_refused(hub: FakeHub) -> None:
    hub.repos["org/gguf"] = {"config.json": b"{}", "model.gguf": b"x"}
    with pytest.raises(UnsupportedModelError, match="no safetensors"):
        download_plan([ModelSpec(alias="org/gguf", repo="org/gguf")])


def test_a_repository_that_lacks_its_tokenizer_is_named(hub: FakeHub) -> None:
    del hub.repos["org/small"]["tokenizer.json"]
    with pytest.raises(IncompleteModelError, match=r"lacks tokenizer\.json"):
        fetch(download_plan([DRAFT]))


def test_a_folder_that_lacks_files_is_not_ours_to_finish(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(IncompleteModelError, match=r"lacks tokenizer\.json, model\.safetensors"):
        download_plan([ModelSpec(alias="x", path=tmp_path)])


def test_a_name_that_is_none(hub: FakeHub) -> None:
    with pytest.raises(ModelNotFoundError, match="not a repository's name"):
        listing("no--good/../name")


def test_the_child_ends_when_its_parent_is_gone(hub: FakeHub, tmp_path: Path) -> None:
    hub.faults[SHARD] = Fault(stall_after=30_000)
    request = {"repos": ["org/big"], "endpoint": hub.endpoint, "cache": str(tmp_path / "hub")}
    with tempfile.TemporaryFile() as complaints:
        child = _start_worker(request, complaints)
        assert hub.stalled.wait(10)
        assert child.stdin is not None
        child.stdin.close()
        assert child.wait(10) == 1
        assert child.stdout is not None
        child.stdout.close()


def test_two_downloads_of_the_same_file_do_not_mix(hub: FakeHub, tmp_path: Path) -> None:
    hub.faults[SHARD] = Fault(stall_after=30_000, times=1)
    request = {"repos": ["org/big"], "endpoint": hub.endpoint, "cache": str(tmp_path / "hub")}
    with tempfile.TemporaryFile() as complaints:
        child = _start_worker(request, complaints)
        try:
            assert hub.stalled.wait(10)
            with pytest.raises(DownloadError, match="downloading org/big already"):
                fetch(download_plan([TARGET]))
        finally:
            child.kill()
            child.communicate()


def test_a_child_that_breaks_is_told_with_its_last_words(
    hub: FakeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mlx_specdec.downloads.download.WORKER", "mlx_specdec.no_such_module")
    with pytest.raises(DownloadError, match=r"ended unexpectedly: .*no_such_module"):
        fetch(download_plan([DRAFT]))


def test_the_rate_of_a_download_is_kept_for_the_next_question(
    hub: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(download_rate, "LEAST_BYTES", 1000)
    plan, ticks = download_plan([DRAFT]), itertools.count(start=0.0, step=0.5)
    download(plan, pause_seconds=0.0, stall_seconds=1e9, clock=lambda: next(ticks))
    rate = download_rate.read_download_rate()
    seconds = plan.fetch_bytes / (rate or 1)
    assert seconds == pytest.approx(max(1, round(seconds * 2) / 2))
    download(download_plan([DRAFT]))  # nothing to fetch says nothing
    assert rate == download_rate.read_download_rate()
