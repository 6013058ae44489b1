"""Secrets: values are found, mentions are not, and hostile text costs no more than its length."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pmm_mcp.domain.secrets import PATTERNS, Pattern, find_secrets, mask

MIB = 1_048_576

MENTIONS = (
    "apiKey: import.meta.env.VITE_KEY1",
    'password = os.environ["DB_PASSWORD_1"]',
    "password=get_password1()",
    "def login(token: str, password: str | None = None) -> None",
    "token: <your-token-1>",
    "Bearer <your-token>",
    "Authorization: Bearer $TOKEN_1",
    "api_key = settings.openai_key_2",
    "password: ${DB_PASSWORD1}",
    "token={{ secrets.TOKEN1 }}",
    "max_tokens: 4096, token_count=123456789",
    "secret_file: /run/secrets/db1.txt",
    "token_uri = https://oauth2.example.org/v2/token",
    "password: [masked:assignment]",
    "passwords should be changed every 90 days",
    "the key=value2 pair",
    "commit da39a3ee5e6b4b0d3255bfef95601890afd80709",
    "550e8400-e29b-41d4-a716-446655440000",
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "mail me@example.org or see https://example.org:8080/a?b=c@d",
    "git@github.com:owner/repo.git",
    "ssh://git@github.com/owner/repo",
    "task-0a1b2c3d4e5f6a7b8c9d0e1f2a3b",
    "ENCRYPTION_KEY is read by config.py",
    "password policy: at least 12 characters",
)

LEAKS = (
    ("DATABASE_URL=postgres://u:p@h/db", "p", "url_password"),
    ("redis://:s3cr3t@cache:6379", "s3cr3t", "url_password"),
    ("https://me:p@ss@host/x", "p@ss", "url_password"),
    ("export GITHUB=ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5", "aB3dE5gH", "github_token"),
    ("token: ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5", "aB3dE5gH", "github_token"),
    ('"accessKeyId": "AKIA' + 'IOSFODNN7EXAMPLE"', "IOSFODNN7", "aws_access_key"),
    ('"password": "hunter2!"', "hunter2!", "assignment"),
    ("password: hunter2", "hunter2", "assignment"),
    ('"pwd": "s3cr3t"', "s3cr3t", "assignment"),
    ("PASSWORD=Tr0ub4dor&3", "Tr0ub4dor", "assignment"),
    ('const apiKey: string = "f3a9c1d2e4b5"', "f3a9c1d2e4b5", "assignment"),
    (r'{"body": "{\"client_secret\": \"9fQ2xZ7mK1\"}"}', "9fQ2xZ7mK1", "assignment"),
    (r'secret = "ab1\"cd2ef3"', "cd2ef3", "assignment"),
    ("os.environ['API_KEY'] = 'k9Jx7Qm2Lp4'", "k9Jx7Qm2Lp4", "assignment"),
    ("AccountKey=" + "Zm9vYmFyMTIzNDU2Nzg5MA==;", "Zm9vYmFy", "assignment"),
    ("curl -H 'Authorization: Bearer " + "mF9B5f41JqMaB3dE5gH7'", "mF9B5f41", "bearer_token"),
    ("my-cli --api-key k9Jx7Qm2Lp4 run", "k9Jx7Qm2Lp4", "flag"),
    (
        "-----BEGIN OPENSSH " + "PRIVATE KEY-----\\nb3BlbnNzaC1rZXktdjEAAAAA\\nAAAABG5vbmUAAAAE\\n (cut",
        "b3BlbnNz",
        "private_key",
    ),
    ("İİ password=hunter2Xy", "hunter2Xy", "assignment"),
)

HOSTILE = (
    "a", "eyJ", "eyJaaaaaa.", "password=", 'password="', "password=\"'", 'password="\\', "password=$a", "://a:",
    "://a:b@", "sk-", "sk-1", "Bearer ", "-", "-----BEGIN PRIVATE KEY-----", "ghp_", "AKIA", 'token: \\"',
    "--token ", "--aaaaaaaaaaaa-", "a.", "{", "secretaccesskey:", " ", "xoxb-", "github_pat_",
)  # fmt: skip

# Pieces of patterns, to be put together in every way.
FRAGMENTS = st.sampled_from(
    [
        *(piece for p in PATTERNS for piece in (p.positive, p.negative, p.positive[:12], p.positive[-12:])),
        *(
            "://",
            ":",
            "@",
            "=",
            '"',
            "'",
            "\\",
            " ",
            "\n",
            "-",
            "--",
            "_",
            ".",
            "/",
            "a1",
            "Ab3dEf7h",
            "[",
            "]",
        ),
    ]
)


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.name)
def test_a_pattern_finds_its_example_and_spares_its_mention(pattern: Pattern) -> None:
    for text in (pattern.positive, f"see {pattern.positive}\nand more"):
        assert [secret.name for secret in find_secrets(text)] == [pattern.name]
    assert find_secrets(pattern.negative) == ()
    assert any(start in pattern.positive for start in pattern.starts)
    assert not pattern.needs or set(pattern.needs) & set(pattern.positive)


@pytest.mark.parametrize("text", MENTIONS)
def test_a_mention_survives(text: str) -> None:
    assert mask(text).value == text


@pytest.mark.parametrize(("text", "value", "name"), LEAKS)
def test_a_value_is_masked_and_named(text: str, value: str, name: str) -> None:
    masked = mask(text)
    assert masked.names == (name,)
    assert masked.value.count(f"[masked:{name}]") == 1
    assert value not in masked.value.replace(f"[masked:{name}]", "").removeprefix(
        "DATABASE_URL=postgres://u:"
    )


def test_only_the_password_of_a_url_is_masked() -> None:
    masked = mask("postgres://app:hunter2@db.example.org:5432/app")
    assert masked.value == "postgres://app:[masked:url_password]@db.example.org:5432/app"


def test_a_secret_right_behind_a_masked_one_is_masked_too() -> None:
    by_name = {pattern.name: pattern.positive for pattern in PATTERNS}
    masked = mask(
        by_name["private_key"] + by_name["jwt"] + " " + by_name["private_key"] + by_name["aws_secret_key"]
    )
    assert masked.names == ("aws_secret_key", "jwt", "private_key")


def test_every_secret_of_a_text_is_masked() -> None:
    text = "\n".join(pattern.positive for pattern in PATTERNS)
    assert mask(text).names == tuple(sorted(pattern.name for pattern in PATTERNS))


@pytest.mark.parametrize("piece", HOSTILE)
def test_a_mebibyte_of_hostile_text_is_searched_to_its_end(piece: str) -> None:
    text = (piece * (MIB // len(piece) + 1))[:MIB]
    masked = mask(text)
    assert find_secrets(masked.value) == ()


@given(st.lists(FRAGMENTS | st.text(max_size=8), max_size=12).map("".join))
def test_masked_text_holds_no_secret(text: str) -> None:
    secrets = find_secrets(text)
    assert all(a.end <= b.start for a, b in pairwise(secrets))
    assert all(secret.start < secret.end for secret in secrets)
    masked = mask(text)
    assert find_secrets(masked.value) == ()
    assert (masked.names == ()) == (masked.value == text)
