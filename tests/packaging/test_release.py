# SPDX-License-Identifier: Apache-2.0
"""Checks that all files that state the version or the requirements of a release agree with CMakeLists.txt and pyproject.toml."""

import ast
import os
import re
import runpy
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import yaml

import rashpa

ROOT = Path(__file__).parents[2]
CONDA = {"matplotlib": "matplotlib-base", "prometheus-client": "prometheus_client"}
"""Names of Python packages that conda has otherwise."""


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def version() -> str:
    return subprocess.run(
        [ROOT / "tools/release/version.sh"], capture_output=True, text=True, check=True
    ).stdout.strip()


@pytest.fixture(scope="module")
def requirements() -> set[str]:
    project = tomllib.loads(text_of("pyproject.toml"))["project"]
    return {re.split(r"[<>=\[ ]", one)[0] for one in project["dependencies"]}


def test_the_version_is_the_same_everywhere(version: str) -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", version)
    assert f"\nversion: {version}\n" in text_of("CITATION.cff")
    assert f'version: "{version}"' in text_of("packaging/conda/recipe.yaml")
    assert f'version("{version}", tag="v{version}")' in text_of("packaging/spack/package.py")
    assert re.search(r"^## (\S+) \(", text_of("CHANGELOG.md"), re.MULTILINE)[1] == version  # type: ignore[index]
    assert (ROOT / "tests/releases" / version / "run.toml").is_file(), "python tools/release/keep_files.py"


def test_the_package_says_its_version_and_all_its_names() -> None:
    assert re.match(r"\d+\.\d+|0\+source", rashpa.__version__)
    assert {"Pipeline", "open", "run", "__version__"} <= set(dir(rashpa))
    with pytest.raises(AttributeError):
        rashpa.no_such_name  # noqa: B018


def test_the_conda_recipe_has_the_requirements_of_a_run(requirements: set[str]) -> None:
    run = text_of("packaging/conda/recipe.yaml").partition("\n  run:\n")[2].partition("\n\n")[0]
    named = set(re.findall(r"^    - (\S+)", run, re.MULTILINE)) - {"python"}
    assert named == {CONDA.get(one, one) for one in requirements}


def test_the_spack_package_has_the_requirements_of_a_run(requirements: set[str]) -> None:
    named = set()
    for call in ast.walk(ast.parse(text_of("packaging/spack/package.py"))):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "depends_on":
            kinds = [ast.literal_eval(one.value) for one in call.keywords if one.arg == "type"]
            if kinds == ["run"]:
                named.add(ast.literal_eval(call.args[0]).removeprefix("py-").partition("@")[0])
    assert named == requirements


def test_the_spack_package_is_loaded_as_spack_does(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, list[Any]] = {"version": [], "license": [], "depends_on": []}
    core = ModuleType("spack.package")
    for name, calls in asked.items():
        setattr(core, name, lambda *words, calls=calls, **options: calls.append((words, options)))
    python = ModuleType("spack_repo.builtin.build_systems.python")
    python.PythonPackage = type("PythonPackage", (), {})  # type: ignore[attr-defined]
    for module in (core, python):
        monkeypatch.setitem(sys.modules, module.__name__.partition(".")[0], ModuleType("parent"))
        monkeypatch.setitem(sys.modules, module.__name__, module)
    package = runpy.run_path(str(ROOT / "packaging/spack/package.py"))["PyRashpa"]
    assert issubclass(package, python.PythonPackage)
    assert package.__doc__ and package.homepage and package.git
    assert [words for words, _ in asked["license"]] == [("Apache-2.0",)]
    assert all(set(options) & {"branch", "tag"} for _, options in asked["version"])
    specs = [words[0] for words, _ in asked["depends_on"]]
    assert len(specs) == len(set(specs))
    assert all(re.fullmatch(r"[a-z][a-z0-9-]*(@[\d.:]+)?", spec) for spec in specs)
    for _, options in asked["depends_on"]:
        assert set(np.atleast_1d(options.get("type", "build"))) <= {"build", "link", "run", "test"}


def test_the_conda_recipe_has_the_keys_of_its_format() -> None:
    recipe = yaml.safe_load(text_of("packaging/conda/recipe.yaml"))
    assert set(recipe) == {"context", "package", "source", "build", "requirements", "tests", "about"}
    assert set(recipe["requirements"]) <= {
        "build",
        "host",
        "run",
        "run_constraints",
        "run_exports",
        "ignore_run_exports",
    }
    compilers = {one for one in recipe["requirements"]["build"] if one.startswith("${{")}
    assert compilers == {'${{ compiler("cxx") }}', '${{ stdlib("c") }}'}
    scripts = tomllib.loads(text_of("pyproject.toml"))["project"]["scripts"]
    assert recipe["build"]["python"]["entry_points"] == [f"{name} = {target}" for name, target in scripts.items()]
    assert (ROOT / "packaging/conda" / recipe["source"]["path"]).resolve() == ROOT
    assert (ROOT / recipe["about"]["license_file"]).is_file()
    # conda-smithy's lint: compiled packages are made for the Pythons of a channel, and leave out older ones
    least = re.fullmatch(r">=(.+)", tomllib.loads(text_of("pyproject.toml"))["project"]["requires-python"])
    assert least and f'match(python, "<{least[1]}")' in recipe["build"]["skip"]
    for part in ("host", "run"):
        assert [one for one in recipe["requirements"][part] if one.startswith("python")] == ["python"]


def test_the_container_file_installs_a_package_of_the_release_on_its_distribution() -> None:
    steps = [
        line.split(maxsplit=1) for line in text_of("packaging/Containerfile").splitlines() if re.match("[A-Z]+ ", line)
    ]
    assert [word for word, _ in steps] == ["ARG", "FROM", "COPY", "RUN", "ENTRYPOINT", "CMD"]
    suite, minor, _ = text_of("packaging/distributions.txt").splitlines()[0].split()
    assert steps[0][1] == f"BASE=docker.io/library/debian:{suite}-slim"
    assert steps[2][1].split() == [f"rashpa_@VERSION@~py{minor.replace('.', '')}_amd64.deb", "/tmp/rashpa.deb"]


def test_fragments_are_of_kinds_that_a_changelog_has() -> None:
    kinds = {one["directory"] for one in tomllib.loads(text_of("pyproject.toml"))["tool"]["towncrier"]["type"]}
    others = {"README.md", "template.jinja"}
    wrong = [
        path.name
        for path in (ROOT / "changes").iterdir()
        if path.name not in others and not re.fullmatch(rf"\d+\.(?:[\w-]+\.)?(?:{'|'.join(kinds)})\.md", path.name)
    ]
    assert wrong == []


def test_security_names_options_that_there_are() -> None:
    commands = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs/reference").glob("commands*/*.md"))
    named = set(re.findall(r"`(--[a-z-]+)`", text_of("SECURITY.md")))
    assert len(named) >= 3
    assert sorted(one for one in named if not re.search(rf"{one}\b", commands)) == []


Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def release(tmp_path: Path) -> Run:
    """Return a function that runs commands in a tree with a built release and with empty build steps."""
    place = tmp_path / "tools/release"
    place.mkdir(parents=True)
    for script in ("make_release.sh", "check_tree.sh"):
        (place / script).write_text(text_of(f"tools/release/{script}"))
    steps = {
        "version.sh": "echo 1.0",
        "release_tools.sh": "",
        "try_sdist.sh": "",
        "make_deb.sh": "touch $3/rashpa_1.0~py311_any.deb",
        "try_deb.sh": "exit ${TRIED:-0}",
        "try_container.sh": "",
        "python": "",
    }
    for name, does in steps.items():
        (place / name).write_text(f"#!/bin/sh\n{does}\n")
        (place / name).chmod(0o755)
    (tmp_path / "packaging").mkdir()
    (tmp_path / "packaging/distributions.txt").write_text("bookworm 3.11 http://localhost\n")
    (tmp_path / "packaging/Containerfile").write_text("")
    (tmp_path / "CHANGELOG.md").write_text("## 1.0 (today)\n")
    (tmp_path / ".gitignore").write_text("build\n")
    for made in (
        "build/wheel/dist/rashpa-1.0-cp311-cp311-any.whl",
        "build/docs/site/index.html",
        "build/deb/3.11/usr/lib/rashpa/lib/python3.11/site-packages/a",
    ):
        (tmp_path / made).parent.mkdir(parents=True)
        (tmp_path / made).touch()
    (tmp_path / "build/wheel/tried").write_text("rashpa-1.0-cp311-cp311-any.whl\n")

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        git = {
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_AUTHOR_NAME": "a",
            "GIT_COMMITTER_NAME": "a",
            "EMAIL": "a@localhost",
        }
        return subprocess.run(
            ["env", *words], cwd=tmp_path, env={**os.environ, **git}, capture_output=True, text=True, check=False
        )

    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "All"]):
        assert run("git", *words).returncode == 0
    return run


CHECK = ("bash", "tools/release/check_tree.sh")
MAKE = ("bash", "tools/release/make_release.sh", "tools/release/python")


@pytest.mark.parametrize(
    ("tried", "way", "tags"), [(77, "", ""), (77, "UNTRIED=1", "v1.0"), (0, "", "v1.0"), (0, "DRAFT=1", "")]
)
def test_a_release_with_files_that_were_not_tried_has_no_tag(release: Run, tried: int, way: str, tags: str) -> None:
    assert release(*way.split(), *CHECK).returncode == 0
    done = release(f"TRIED={tried}", *way.split(), *MAKE)
    assert (done.returncode == 0) == (tried == 0 or way == "UNTRIED=1"), done.stderr
    assert release("git", "tag").stdout.split() == tags.split()
    if done.returncode:
        assert "no tag, since files were not tried; install the packages of packages-release.txt as root" in done.stderr


def test_a_wheel_that_no_python_has_tried_leaves_the_release_without_a_tag(release: Run, tmp_path: Path) -> None:
    (tmp_path / "build/wheel/dist/rashpa-1.0-cp312-abi3-any.whl").touch()
    assert release(*CHECK).returncode == 0
    done = release(*MAKE)
    assert done.returncode == 1
    assert "rashpa-1.0-cp311-cp311-any.whl: rashpa demo in an empty environment" in done.stdout
    assert "rashpa-1.0-cp312-abi3-any.whl: NOT TRIED" in done.stdout
    assert release("git", "tag").stdout == ""


@pytest.mark.parametrize("change", ["commit", "edit"])
def test_a_tree_that_changes_meanwhile_has_no_tag(release: Run, tmp_path: Path, change: str) -> None:
    assert release(*CHECK).returncode == 0
    step = "echo a >> CHANGELOG.md" + (" && git commit -qam Later" if change == "commit" else "")
    try_container = tmp_path / "tools/release/try_container.sh"
    (tmp_path / "build/later.sh").write_text(step + "\n")
    try_container.write_text("#!/bin/sh\nsh build/later.sh\n")
    assert release("git", "commit", "-qam", "A step").returncode == 0
    early = release(*MAKE)
    assert "the tree is not the one with which make release began" in early.stderr, "of another commit than the check"
    assert release(*CHECK).returncode == 0
    late = release(*MAKE)
    assert late.returncode == 1
    assert "the tree is not the one with which make release began" in late.stderr
    assert release("git", "tag").stdout == ""


def test_a_tree_of_which_there_can_be_no_release_is_refused_before_anything_is_built(
    release: Run, tmp_path: Path
) -> None:
    assert "no commit is chosen; begin with make release" in release(*MAKE).stderr
    changelog = tmp_path / "CHANGELOG.md"
    changelog.write_text("## 0.9 (before)\n")
    assert "the tree has changes that no commit has" in release(*CHECK).stderr
    assert release("DRAFT=1", *CHECK).returncode == 0
    assert release("git", "commit", "-qam", "An older changelog").returncode == 0
    assert "CHANGELOG.md has no 1.0; make changelog" in release(*CHECK).stderr
    changelog.write_text("## 1.0 (today)\n")
    assert release("git", "commit", "-qam", "The changelog").returncode == 0
    assert release("git", "tag", "v1.0").returncode == 0
    assert "v1.0 has its tag; raise the version" in release(*CHECK).stderr
    makefile = text_of("Makefile")
    recipe = makefile[makefile.index("\nrelease:") :].split("\n\n")[0]
    assert recipe.index("check_tree.sh") < recipe.index("test-wheel") < recipe.index("make_release.sh")


def test_the_licences_name_sources_that_are_compiled_into_the_native_module(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "tools/release/notices.py"), str(tmp_path)]
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stderr
    headings = re.findall(r"={100}\n(.+)\n={100}", said.stdout)
    assert any(re.fullmatch(r"nanobind [0-9.]+ \(compiled in\)", one) for one in headings)
    assert "robin_map (compiled in with nanobind)" in headings
    assert "Wenzel Jakob" in said.stdout and "Thibaut Goetghebuer-Planchon" in said.stdout
