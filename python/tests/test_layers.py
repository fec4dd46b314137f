# SPDX-License-Identifier: Apache-2.0
"""The layer check finds the violations in made-up trees, and none in the project itself."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def check() -> ModuleType:
    spec = importlib.util.spec_from_file_location("check_layers", ROOT / "tools" / "check_layers.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def tree(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return root


def test_the_project_itself_has_no_violation(check: ModuleType) -> None:
    assert check.violations(ROOT) == []


@pytest.mark.parametrize(
    ("name", "line", "says"),
    [
        ("core/books/books.hpp", '#include "rashpa/memory/buffer.hpp"', "core may use no other folder"),
        ("memory/buffer.cpp", "  # include <rashpa/link/link.hpp>", "memory may use core"),
        ("kernel/csr/csr.cpp", '#include "rashpa/unit/unit.hpp"', "kernel may use core, memory"),
        ("scheduler/scheduler.hpp", '#include "rashpa/link/roce/receiver.hpp"', "the contract of link only"),
        ("link/link.hpp", '#include "rashpa/link/roce/options.hpp"', "knows no implementation"),
        ("transfer/source.cpp", '#include "../core/books.hpp"', "write the path from src"),
        ("receiver/receiver.cpp", '#include "bindings/bindings.hpp"', "does not know its bindings"),
        ("extras/x.hpp", "", "folder extras is not in the list of layers"),
        ("core/time/x.cpp", '#include "rashpa/core/books/books.hpp"', "time may use system"),
        ("link/roce/sockets/x.cpp", '#include "rashpa/link/verbs/device.hpp"', "roce may use"),
        ("kernel/contract/x.hpp", '#include "rashpa/kernel/csr/csr.hpp"', "contract may use no other room"),
        ("kernel/veto/x.cpp", '#include "rashpa/kernel/csr/csr.hpp"', "veto may use contract, device, peaks"),
        ("kernel/veto/x.cu", '#include "rashpa/kernel/testing/opencl_testing.hpp"', "veto may use"),
        ("sink/journal/x.hpp", '#include "rashpa/sink/stores/peak_lists.hpp"', "journal may use no other room"),
        ("sink/extras/x.hpp", "", "room extras is not in the list of rooms of sink"),
    ],
)
def test_an_include_against_the_flow_is_found(
    check: ModuleType, tmp_path: Path, name: str, line: str, says: str
) -> None:
    tree(tmp_path, {f"src/rashpa/{name}": line + "\n"})
    (found,) = check.violations(tmp_path)
    assert found.startswith(f"src/rashpa/{name}: ")
    assert says in found


def test_includes_along_the_flow_pass(check: ModuleType, tmp_path: Path) -> None:
    tree(
        tmp_path,
        {
            "src/rashpa/memory/buffer.hpp": '#include <vector>\n#include "rashpa/core/error.hpp"\n',
            "src/rashpa/scheduler/scheduler.cpp": '#include "rashpa/link/link.hpp"\n#include "rashpa/unit/unit.hpp"\n',
            "src/rashpa/receiver/receiver.cpp": '#include "rashpa/link/roce/receiver.hpp"\n',
        },
    )
    assert check.violations(tmp_path) == []


def test_includes_between_rooms_that_point_down_pass(check: ModuleType, tmp_path: Path) -> None:
    tree(
        tmp_path,
        {
            "src/rashpa/kernel/sparsify/x.hpp": '#include "rashpa/kernel/csr/csr.hpp"\n#include "rashpa/kernel/rings/rings.hpp"\n',
            "src/rashpa/kernel/rings/rings.cpp": '#include "rashpa/kernel/photons/photons.hpp"\n',
            "src/rashpa/kernel/rings/rings_test.cpp": '#include "rashpa/kernel/testing/opencl_testing.hpp"\n',
            "src/rashpa/kernel/csr/testing/x.hpp": '#include "rashpa/kernel/jungfrau/testing/synthetic.hpp"\n',
            "src/rashpa/sink/stores/x.cpp": '#include "rashpa/sink/image_store.hpp"\n#include "rashpa/sink/hdf5/hdf5_io.hpp"\n',
        },
    )
    assert check.violations(tmp_path) == []


@pytest.mark.parametrize(
    "folder",
    [
        "src/rashpa/core",
        "src/rashpa/kernel/csr",
        "src/bindings",
        "src/rashpa/link/roce/sockets",
        "python/rashpa/control/plan",
        "python/rashpa/data/stored/combined",
    ],
)
def test_a_folder_with_too_many_files_is_found(check: ModuleType, tmp_path: Path, folder: str) -> None:
    tree(tmp_path, {f"{folder}/file_{number}.hpp": "" for number in range(check.MOST_FILES)})
    assert check.violations(tmp_path) == []
    tree(tmp_path, {f"{folder}/CMakeLists.txt": ""})
    assert check.violations(tmp_path) == [
        f"{folder}: holds 26 files, more than 25; give those that belong together a room"
    ]


def test_files_that_a_build_puts_into_a_folder_do_not_count(check: ModuleType, tmp_path: Path) -> None:
    tree(tmp_path, {f"python/rashpa/data/file_{number}.py": "" for number in range(check.MOST_FILES)})
    tree(tmp_path, {"python/rashpa/data/_native.so": ""})
    tree(tmp_path, {f"python/rashpa/data/__pycache__/file_{number}.pyc": "" for number in range(30)})
    assert check.violations(tmp_path) == []


def test_a_spinning_wait_of_one_kind_of_processor_is_found(check: ModuleType, tmp_path: Path) -> None:
    spin = "void f() { __builtin_ia32_pause(); }\n"
    tree(tmp_path, {"src/rashpa/core/system/pause.hpp": spin, "tests/net/x.cpp": spin})
    (found,) = check.violations(tmp_path)
    assert found.startswith("tests/net/x.cpp: spins")


@pytest.mark.parametrize(
    ("name", "line", "says"),
    [
        ("control/run/manager.py", "from rashpa.node.door import server", "control may use data"),
        ("control/run/manager.py", "import rashpa._native", "imports the native module"),
        ("cli/bench/packet.py", "from rashpa import _native", "imports the native module"),
        ("cli/bench/packet.py", "def f():\n    from ... import _native", "imports the native module"),
        ("data/stored/reader.py", "from ...control.telegrams.telegram import Status", "data may use no other package"),
        ("node/door/server.py", "import rashpa.cli.main", "node may use"),
        ("data/files/x.py", "from rashpa.data.stored.reader import Run", "files may use base, wire"),
        ("control/plan/x.py", "from rashpa.control.run import manager", "plan may use runfile, telegrams"),
        ("cli/other/x.py", "", "room other is not in the list of rooms of cli"),
        ("__init__.py", "from .node import server", "root imports control, data"),
        ("kernel.py", "from .control import telegram", "root imports data"),
        ("other.py", "from .data import reader", "root imports none of its parts"),
        ("extras/x.py", "", "package extras is not in the list of layers"),
    ],
)
def test_an_import_that_points_up_is_found(check: ModuleType, tmp_path: Path, name: str, line: str, says: str) -> None:
    tree(tmp_path, {f"python/rashpa/{name}": line + "\n"})
    (found,) = check.violations(tmp_path)
    assert found.startswith(f"python/rashpa/{name}:")
    assert says in found


def test_what_a_function_imports_may_lie_above(check: ModuleType, tmp_path: Path) -> None:
    lazy = "def f():\n    from rashpa.data.stored.reader import Run\n"
    typed = "if TYPE_CHECKING:\n    from rashpa.data.stored.reader import Run\n"
    tree(tmp_path, {"python/rashpa/data/files/x.py": lazy, "python/rashpa/data/files/y.py": typed})
    assert check.violations(tmp_path) == []


@pytest.mark.parametrize(
    ("lines", "circle"),
    [
        ({"x": "from rashpa.data.base.y import f", "y": "import rashpa.data.base.x"}, "x y x"),
        ({"x": "import json, rashpa.data.base.y", "y": "from rashpa.data.base import x, z", "z": ""}, "x y x"),
        (
            {
                "x": "class C:\n    from rashpa.data.base import y",
                "y": "try:\n    from rashpa.data.base.z import f\nexcept ImportError:\n    f = None",
                "z": "from rashpa.data.base.x import C",
            },
            "x y z x",
        ),
        ({"x": "from rashpa.data.base import y", "y": "def f():\n    from rashpa.data.base import x"}, ""),
        ({"x": "from rashpa.data.base import y", "y": "if TYPE_CHECKING:\n    from rashpa.data.base import x"}, ""),
        ({"x": "from rashpa.data.base import y, z", "y": "from rashpa.data.base import z", "z": ""}, ""),
    ],
)
def test_modules_of_one_room_that_import_one_another_are_found(
    check: ModuleType, tmp_path: Path, lines: dict[str, str], circle: str
) -> None:
    tree(tmp_path, {f"python/rashpa/data/base/{name}.py": text + "\n" for name, text in lines.items()})
    way = " → ".join(f"rashpa.data.base.{name}" for name in circle.split())
    expected = [f"python/rashpa/data/base/x.py: imports itself by {way}"] if circle else []
    assert check.violations(tmp_path) == expected


def test_imports_that_point_down_pass(check: ModuleType, tmp_path: Path) -> None:
    tree(
        tmp_path,
        {
            "python/rashpa/cli/run/run.py": "from rashpa.control.plan import run_plan\nfrom ..data.packet import decode\nimport json\n",
            "python/rashpa/node/engine/engine.py": "from rashpa import _native, __version__\nfrom ..control import telegram\n",
            "python/rashpa/data/arrays.py": "from .. import _native\nimport numpy as np\n",
            "python/rashpa/kernel.py": "from rashpa.data import arrays\n",
        },
    )
    assert check.violations(tmp_path) == []


def test_a_folder_that_hides_what_is_in_it_is_found(check: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "python" / "rashpa" / "data" / "utils").mkdir(parents=True)
    assert check.violations(tmp_path) == ["python/rashpa/data/utils: name the folder after what is in it"]


def test_the_command_fails_on_a_violation(tmp_path: Path) -> None:
    tree(tmp_path, {"src/rashpa/core/a.hpp": '#include "rashpa/sink/sink.hpp"\n'})
    command = [sys.executable, str(ROOT / "tools" / "check_layers.py"), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "layers: 1 violations" in done.stdout
