import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pmm_mcp.places import config

EVERY_FORM: Final = r"""
; a comment
# another, with \
[core]
	bare = false # not
	ignoreCase
	editor = "a \"b\"; c" ; d
[remote "origin"] url = git@github.com:owner/name.git
	fetch = +refs/heads/*:refs/remotes/origin/*
	PushURL = a  b c<>
[remote "od]d \"x\" \\y"]
	url = one \
two
	url = "three # four"
	url =
[Branch.Old]
	merge = tab\there\nline
[empty]
"""


def as_git_reads(path: Path) -> list[tuple[str, str]]:
    done = subprocess.run(
        ["git", "config", "--file", str(path), "-z", "--list"], check=True, capture_output=True, timeout=30
    )
    pairs = [item.partition("\n")[::2] for item in os.fsdecode(done.stdout).split("\0") if item]
    return [(name, value) for name, value in pairs]


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_a_configuration_is_read_as_git_reads_it(tmp_path: Path, line_end: str) -> None:
    path = tmp_path / "config"
    path.write_bytes(EVERY_FORM.replace("\n", line_end).encode())

    ours = [(name, "" if name == "core.ignorecase" else value) for name, value in config.entries(EVERY_FORM)]

    assert ours == as_git_reads(path)
    assert list(config.entries(path.read_bytes().decode())) == list(config.entries(EVERY_FORM))


def test_the_first_of_several_urls_and_the_last_of_several_settings_count() -> None:
    text = '[core]\nbare = true\n[remote "origin"]\nurl =\nurl = a\nurl = b\n[core]\nbare = false\n'

    assert config.first(text, "remote.origin.url") == "a"
    assert config.last(text, "core.bare") == "false"
    assert config.first(text, "remote.other.url") == config.last(text, "core.worktree") == ""


@given(st.text(st.sampled_from('[]"\\=#; \t\n\rabc.é'), max_size=80))
def test_any_text_is_read_to_its_end(text: str) -> None:
    for name, value in config.entries(text):
        assert "." in name
        assert isinstance(value, str)
