"""Files of an earlier run of the same name: in the way, or replaced, but only once the new run begins."""

from pathlib import Path

from rashpa.node.engine import EngineError

_ASIDE = ".replaced"


class OutputFiles:
    """The outputs of one configuration. `claim` each prefix, then `keep_new` when the run begins or `restore_old` when it never does;
    after one of them the other does nothing."""

    def __init__(self) -> None:
        self._claimed: list[Path] = []
        self._aside: list[Path] = []

    def claim(self, prefix: Path, existing: str) -> None:
        """Makes the folder and sets older files aside. EngineError when they are in the way (existing = "refuse") or the folder cannot be."""
        try:
            prefix.parent.mkdir(parents=True, exist_ok=True)
            old = _files_of(prefix)
            if old and existing != "replace":
                raise EngineError(
                    "file",
                    f'{old[0]} exists; move it, choose another run.name or run.output, or set run.existing = "replace"',
                )
            self._claimed.append(prefix)
            for path in old:
                self._aside.append(path.rename(path.with_name(path.name + _ASIDE)))
        except OSError as error:
            raise EngineError("file", f"{prefix.parent}: {error.strerror}; choose another run.output") from None

    def keep_new(self) -> None:
        """Deletes what was set aside."""
        for path in self._aside:
            path.unlink(missing_ok=True)
        self._claimed.clear()
        self._aside.clear()

    def restore_old(self) -> None:
        """Deletes what the configuration made, and puts back what was set aside."""
        for prefix in self._claimed:
            for path in _files_of(prefix):
                path.unlink()
        for path in self._aside:
            path.rename(path.with_name(path.name.removesuffix(_ASIDE)))
        self._claimed.clear()
        self._aside.clear()


def _files_of(prefix: Path) -> list[Path]:
    """<prefix>_master.h5 and <prefix>_data_000001.h5 …, by name."""
    found = (
        path for path in prefix.parent.iterdir() if path.name.startswith(f"{prefix.name}_") and path.suffix == ".h5"
    )
    rest = ((path, path.name.removeprefix(f"{prefix.name}_").removesuffix(".h5")) for path in found)
    return sorted(path for path, what in rest if what == "master" or (what.startswith("data_") and what[5:].isdigit()))
