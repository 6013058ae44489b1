"""Style is a test: ugliness starts as one more line, and this says no on that day."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pmm_mcp

ROOT = Path(__file__).parents[1]
SOURCES = tuple(sorted((ROOT / "pmm_mcp").rglob("*.py")))

FILE_LINES_MAX = 450
FUNCTION_LINES_MAX = 70
INIT_LINES_MAX = 40
NAMES_THAT_SAY_NOTHING = {"utils", "util", "helpers", "helper", "manager", "managers", "common", "misc"}

# A path that exists on one machine only.
ONE_MACHINE = re.compile(r"(?<![\w.~/])/(?:root|home/[a-z]|work|Users/[a-z]|tmp/[a-z])")
PROSE_AND_CODE = (
    "pmm_mcp/**/*.py",
    "examples/**/*.py",
    "docs/**/*.md",
    ".ci/*",
    "*.md",
    "Makefile",
    "pyproject.toml",
)


@cache
def lines_of(path: Path) -> tuple[str, ...]:
    return tuple(path.read_text(encoding="utf-8").splitlines())


def where(path: Path, line: int | None = None) -> str:
    name = path.relative_to(ROOT).as_posix()
    return name if line is None else f"{name}:{line}"


def functions_of(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), filename=where(path))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def test_a_file_holds_one_concept() -> None:
    assert [where(path) for path in SOURCES if len(lines_of(path)) > FILE_LINES_MAX] == []


def test_a_function_fits_on_a_screen() -> None:
    long = [
        f"{where(path, node.lineno)} {node.name}"
        for path in SOURCES
        for node in functions_of(path)
        if (node.end_lineno or node.lineno) - node.lineno + 1 > FUNCTION_LINES_MAX
    ]
    assert long == []


def test_a_name_says_what_is_inside() -> None:
    empty = [
        where(path)
        for path in SOURCES
        if NAMES_THAT_SAY_NOTHING.intersection((*path.relative_to(ROOT).parent.parts, path.stem))
    ]
    assert empty == []


def test_a_package_file_is_a_short_list() -> None:
    packages = [path for path in SOURCES if path.name == "__init__.py"]
    assert [where(path) for path in packages if len(lines_of(path)) > INIT_LINES_MAX] == []


def test_no_path_belongs_to_one_machine() -> None:
    found = [
        where(path, number)
        for pattern in PROSE_AND_CODE
        for path in sorted(ROOT.glob(pattern))
        for number, line in enumerate(lines_of(path), start=1)
        if ONE_MACHINE.search(line)
    ]
    assert found == []


def test_version_and_changelog_agree() -> None:
    headings = re.findall(r"^## (\S+)", (ROOT / "docs" / "changelog.md").read_text(encoding="utf-8"), re.M)
    assert headings[0] == pmm_mcp.__version__


def test_the_package_says_that_it_is_typed() -> None:
    assert (ROOT / "pmm_mcp" / "py.typed").exists()
