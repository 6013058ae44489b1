"""Credentials in text: one table of patterns, and masks for what they find.

Values are masked, mentions are kept: `api_key = os.environ["KEY"]` says nothing that could leak.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Final


@dataclass(frozen=True, slots=True)
class Secret:
    """Where a credential stands in a text, and of which kind it is."""

    name: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Masked:
    """A text without its credentials, and the kinds that were masked, sorted."""

    value: str
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """One kind of credential.

    A match begins with one of the literals in `starts`, in a text that holds one of the characters
    in `needs`; looking for these first is what makes clean text cheap. The lead is masked with the
    value unless `lead_stays`. A `guessed` value has no shape of its own and must look random.
    """

    name: str
    starts: tuple[str, ...]
    needs: str = ""
    lead: str
    value: str
    positive: str
    negative: str
    lead_stays: bool = False
    guessed: bool = False


_WORD_STARTS: Final = tuple(
    form
    for word in ("pass", "pwd", "secret", "token", "credential", "key")
    for form in (word, word.capitalize(), word.upper())
)
_KEYS: Final = "|".join(
    rf"(?<={word}key)|(?<={word}[_\- ]key)"
    for word in ("api", "access", "auth", "account", "private", "secret", "signing", "encryption")
)
_KEYWORD: Final = (
    r"(?i:pass(?:word|wd|phrase|(?<![a-z]pass))|pwd|secret|token|credential|key(?:" + _KEYS + r"))"
    r"(?i:[_\-]?(?:s|value|prod|dev|test|staging|live|b64|base64|[0-9]{1,2}))?"
)
# The quote that ends the name, a type annotation, the sign: `"key": `, `key: str = `, `key=>`.
_ASSIGN: Final = r"(?:\\?[\"'])?\]?\s{0,4}(?::\s?\w{1,16}\s?(?==))?(?:=>|:=|[=!]?=|:)\s{0,4}"
# Every form ends at a character that no form starts after, which keeps hostile input linear.
_LITERAL: Final = (
    r'(?:"(?:[^"\\\s]++|\\\S)++(?=")'
    r"|'(?:[^'\\\s]++|\\\S)++(?=')"
    r"|\\[\"'][^\"'\\\s]++(?=\\[\"'])"  # JSON inside a JSON string
    r"|[A-Za-z0-9_\-+/.~!@#$%^*]{6,}+={0,2}(?![(\[A-Za-z0-9]))"
)
_PEM_NAME: Final = r"[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"

# Examples are joined at run time, or scanners of source code would report this very file.
PATTERNS: Final = (
    Pattern(
        name="private_key",
        starts=("-----BEGIN ",),
        needs="-",
        lead=r"-----BEGIN " + _PEM_NAME,
        value=r"(?:(?:[^-]++|-(?!----))*+-----END "
        + _PEM_NAME
        + r"|(?:(?:\s|\\[nr])*+[A-Za-z0-9+/=]{16,}+)+)",
        positive="-----BEGIN RSA " + "PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7bq9\n-----END RSA PRIVATE KEY-----",
        negative="-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
    ),
    Pattern(
        name="github_token",
        starts=("ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
        needs="_",
        lead=r"gh[pousr]_",
        value=r"[A-Za-z0-9]{20,}+",
        positive="ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5",
        negative="set ghp_your_token_here in the environment",
    ),
    Pattern(
        name="github_pat",
        starts=("github_pat_",),
        needs="_",
        lead=r"github_pat_",
        value=r"[A-Za-z0-9]{20,}+(?:_[A-Za-z0-9]++)?",
        positive="github_pat_" + "11ABCDEFG0aB3dE5gH7jK9_mN1pQ3sT5vW7yZ9bC1dE3fG5",
        negative="a github_pat_ is fine-grained",
    ),
    Pattern(
        name="gitlab_token",
        starts=("glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glsoat-", "gloas-", "glagent-"),
        needs="-",
        lead=r"gl(?:pat|dt|rt|cbt|ptt|soat|oas|agent)-",
        value=r"[A-Za-z0-9_\-.]{20,}+",
        positive="glpat-" + "xY3_aB5dE7gH9jK1mN3p",
        negative="prefix glpat-<token>",
    ),
    Pattern(
        name="aws_access_key",
        starts=("AKIA", "ASIA", "ABIA", "ACCA"),
        lead=r"A(?:KIA|SIA|BIA|CCA)(?<![A-Za-z0-9+/]....)",
        value=r"[A-Z0-9]{16}(?![A-Za-z0-9])",
        positive="AKIA" + "IOSFODNN7EXAMPLE",
        negative="ids start with AKIA or ASIA",
    ),
    Pattern(
        name="aws_secret_key",
        starts=("secret", "Secret", "SECRET"),
        needs="=:",
        lead=r"(?i:secret_?(?:access_?)?key)" + _ASSIGN + r"(?:\\?[\"'])?",
        value=r"[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])",
        positive="aws_secret_access_key = " + "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        negative="aws_secret_access_key = config.aws.secret",
        lead_stays=True,
    ),
    Pattern(
        name="anthropic_key",
        starts=("sk-",),
        needs="-",
        lead=r"sk-ant-",
        value=r"[A-Za-z0-9_\-]{20,}+",
        positive="sk-ant-" + "api03-aB3dE5gH7jK9mN1pQ3sT5vW7",
        negative="keys start with sk-ant-",
    ),
    Pattern(
        name="openai_key",
        starts=("sk-",),
        needs="-",
        lead=r"sk-(?:proj|svcacct|admin|or-v1)-",
        value=r"(?=[A-Za-z_\-]{0,64}[0-9])[A-Za-z0-9_\-]{20,}+",
        positive="sk-proj-" + "aB3dE5gH7jK9mN1pQ3sT5_vW7-yZ9",
        negative="sk-proj-your-key-goes-in-here",
    ),
    Pattern(
        name="sk_key",
        starts=("sk-",),
        needs="-",
        lead=r"sk-(?<![A-Za-z0-9]...)",
        value=r"(?=[A-Za-z]{0,64}[0-9])[A-Za-z0-9]{20,}+",
        positive="sk-" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9",
        negative="class sk-folding-cube, task-20240102030405060708090",
    ),
    Pattern(
        name="slack_token",
        starts=("xox", "xapp-"),
        needs="-",
        lead=r"x(?:ox[abeoprs]|app)-",
        value=r"(?=[A-Za-z\-]{0,64}[0-9])[A-Za-z0-9\-]{10,}+",
        positive="xoxb-" + "123456789012-aB3dE5gH7jK9",
        negative="bot tokens start with xoxb-",
    ),
    Pattern(
        name="slack_webhook",
        starts=("hooks.slack.com/",),
        needs=".",
        lead=r"hooks\.slack\.com/(?:services|workflows|triggers)/",
        value=r"[A-Za-z0-9]{6,}+/[A-Za-z0-9/]{10,}+",
        positive="https://hooks.slack.com/services/" + "T0123ABCD/B0123ABCD/aB3dE5gH7jK9mN1p",
        negative="post to https://hooks.slack.com/services/<your hook>",
        lead_stays=True,
    ),
    Pattern(
        name="stripe_key",
        starts=("sk_live_", "sk_test_", "rk_live_", "rk_test_", "whsec_"),
        needs="_",
        lead=r"(?:sk_(?:live|test)_|rk_(?:live|test)_|whsec_)",
        value=r"[A-Za-z0-9]{16,}+",
        positive="sk_live_" + "aB3dE5gH7jK9mN1pQ3sT5vW7",
        negative="use sk_test_ keys in tests",
    ),
    Pattern(
        name="google_key",
        starts=("AIza",),
        lead=r"AIza",
        value=r"[A-Za-z0-9_\-]{35,}+",
        positive="AIza" + "SyA1bC3dE5fG7hI9jK1lM3nO5pQ7rS9tU1v",
        negative="keys start with AIza",
    ),
    Pattern(
        name="google_oauth",
        starts=("ya29.", "GOCSPX-"),
        needs=".-",
        lead=r"(?:ya29\.|GOCSPX-)",
        value=r"[A-Za-z0-9_\-]{20,}+",
        positive="ya29." + "a0AfH6SMBx7_aB3dE5gH7jK9",
        negative="access tokens start with ya29.",
    ),
    Pattern(
        name="npm_token",
        starts=("npm_",),
        needs="_",
        lead=r"npm_",
        value=r"[A-Za-z0-9]{30,}+",
        positive="npm_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5",
        negative="npm_config_registry is a variable",
    ),
    Pattern(
        name="pypi_token",
        starts=("pypi-A",),
        needs="-",
        lead=r"pypi-A",
        value=r"[A-Za-z0-9_\-]{40,}+",
        positive="pypi-" + "AgEIcHlwaS5vcmcCJDU2YjM3ZTk1LTQ2ZDItNDVhNy1iMTk5",
        negative="pypi-AgE starts each token",
    ),
    Pattern(
        name="huggingface_token",
        starts=("hf_",),
        needs="_",
        lead=r"hf_",
        value=r"[A-Za-z0-9]{30,}+",
        positive="hf_" + "aBcDeFgHiJkLmNoPqRsTuVwXyZaBcDeFgH",
        negative="hf_hub_download(repo_id)",
    ),
    Pattern(
        name="jwt",
        starts=("eyJ",),
        needs=".",
        lead=r"eyJ(?<![A-Za-z0-9_\-]...)",
        value=r"[A-Za-z0-9_\-]{5,}+\.[A-Za-z0-9_\-]{5,}+\.[A-Za-z0-9_\-]*+(?:\.[A-Za-z0-9_\-]++){0,2}",
        positive="eyJ" + "hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmN",
        negative="a JWT starts with eyJ and has two dots",
    ),
    Pattern(
        name="bearer_token",
        starts=("Bearer ", "bearer ", "BEARER "),
        lead=r"(?i:bearer) {1,4}",
        value=r"[A-Za-z0-9._~+/\-]{16,}+={0,2}",
        positive="Authorization: Bearer " + "mF9B5f41JqMaB3dE5gH7",
        negative="Bearer authentication-middleware and Bearer <your-token>",
        lead_stays=True,
        guessed=True,
    ),
    Pattern(
        name="basic_auth",
        starts=("Authorization", "authorization", "AUTHORIZATION"),
        needs="=:",
        lead=r"(?i:authorization)(?:\\?[\"'])?\s{0,2}[:=]\s{0,2}(?:\\?[\"'])?[Bb]asic ",
        value=r"(?=[A-Za-z][a-z]{0,64}[A-Z0-9])[A-Za-z0-9+/]{8,}+={0,2}",
        positive="Authorization: Basic " + "dXNlcjpwYXNzd29yZA==",
        negative="Authorization: Basic credentials",
        lead_stays=True,
    ),
    Pattern(
        name="url_password",
        starts=("://",),
        needs="@",
        lead=r"://[^\s:@/?#\"'`<>]*+:",
        value=r"[^\s/?\"'`<>]+(?=@)",
        positive="postgres://app:" + "hunter2@db.example.org/app",
        negative="postgres://app:${DB_PASSWORD}@db, http://host:80/a@b",
        lead_stays=True,
    ),
    Pattern(
        name="flag",
        starts=("--",),
        needs="-",
        lead=r"--(?i:[a-z]{0,12}-?(?:password|passwd|token|secret|key))[ \t]{1,4}",
        value=_LITERAL,
        positive="login --password " + "hunter2Xy9 --host db",
        negative="login --password prompt_for_it, --token $TOKEN_2",
        lead_stays=True,
        guessed=True,
    ),
    Pattern(
        name="assignment",
        starts=_WORD_STARTS,
        needs="=:",
        lead=_KEYWORD + _ASSIGN,
        value=_LITERAL,
        positive='DB_PASSWORD="' + 'c0rrect-h0rse"',
        negative='password = os.environ["X1"]; apiKey: import.meta.env.X2; token: str',
        lead_stays=True,
        guessed=True,
    ),
)

_BY_NAME: Final = {pattern.name: pattern for pattern in PATTERNS}
# (character that must be there, literals to look for), so that one test rules out many literals.
_STARTS: Final = tuple(
    (needs, tuple(dict.fromkeys(start for p in PATTERNS if p.needs == needs for start in p.starts)))
    for needs in dict.fromkeys(pattern.needs for pattern in PATTERNS)
)

_KEY_BODY: Final = re.compile(r"[A-Za-z0-9+/=]{16}")
_MENTION: Final = re.compile(
    r"[<\[{(]|\$[A-Z_{(]|\$[a-z_]+$|%\w+%$|%[(s]"  # a variable or a template
    r"|(?:\.{1,2}|~)?/(?:[\w.\-]+/)+|\w+://|[\w.+\-]+@[\w\-]+\.[a-z]{2,6}$"  # a path, a URL, an address
    r"|.*?(?:\$\{|\{\{|\.\.\.|…|\*\*\*|xxxx|XXXX|\[masked:"
    r"|(?i:(?<![a-z])(?:your|changeme|placeholder|redacted|masked|dummy)(?![a-z])))",
    re.DOTALL,
)
_ATTRIBUTE: Final = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
_WORDS: Final = re.compile(r"(?:[A-Za-z]++|[vV]?[0-9]{1,4})(?:[_\-./:](?:[A-Za-z]++|[vV]?[0-9]{1,4}))*")
_STRONG: Final = re.compile(r"[0-9!@#$%^&*]")
_LETTER: Final = re.compile(r"[A-Za-z]")

_LOOKS_MAX: Final = 4
_QUOTES: Final = "\\\"'"
_GUESS_CHARS_MIN: Final = 6
_GUESS_SAMPLE_CHARS: Final = 256
_GUESS_BITS_MIN: Final = 2.2  # `s3cr3t` has 2.25 bits a character, `aaaaaaa1` 0.5


@cache
def _combined() -> re.Pattern[str]:
    """Return all patterns as one; compiled at first use, for that takes longer than a server may to start."""
    return re.compile("|".join(f"{p.lead}(?P<{p.name}>{p.value})" for p in PATTERNS))


def find_secrets(text: str) -> tuple[Secret, ...]:
    """Return the credentials of a text in order; they never overlap."""
    candidates = _candidates(text)
    return tuple(_confirm(text, candidates)) if candidates else ()


def mask(text: str) -> Masked:
    """Return the text with each credential replaced by `[masked:name]`; masking again changes nothing."""
    names: set[str] = set()
    # A mask is a boundary where the value was none: behind it, a second look may find one more.
    for _ in range(_LOOKS_MAX):
        secrets = find_secrets(text)
        if not secrets:
            break
        names.update(secret.name for secret in secrets)
        text = _without(text, secrets)
    return Masked(text, tuple(sorted(names)))


def _without(text: str, secrets: tuple[Secret, ...]) -> str:
    pieces: list[str] = []
    done = 0
    for secret in secrets:
        pieces += (text[done : secret.start], f"[masked:{secret.name}]")
        done = secret.end
    pieces.append(text[done:])
    return "".join(pieces)


def _candidates(text: str) -> list[int]:
    """Return, in order, where a pattern may begin."""
    found: list[int] = []
    for needs, starts in _STARTS:
        if needs and needs[0] not in text and needs[-1] not in text:
            continue
        for start in starts:
            at = text.find(start)
            while at >= 0:
                found.append(at)
                at = text.find(start, at + len(start))
    found.sort()
    return found


def _confirm(text: str, candidates: list[int]) -> Iterator[Secret]:
    done = 0
    for at in candidates:
        match = _combined().match(text, at) if at >= done else None
        secret = _read(match) if match else None
        if secret:
            done = secret.end
            yield secret


def _read(match: re.Match[str]) -> Secret | None:
    """Return the credential of a match, or None when it only mentions one."""
    text, pattern = match.string, _pattern_of(match)
    start = match.start(pattern.name) if pattern.lead_stays else match.start()
    end = match.end(pattern.name)
    quoted = False
    if pattern.guessed:
        bare_start = end - len(text[start:end].lstrip(_QUOTES))
        quoted, start = bare_start > start, bare_start
        # A value with a shape of its own deserves its own name.
        exact = _combined().match(text, start)
        if exact and not _pattern_of(exact).lead_stays:
            pattern, end = _pattern_of(exact), max(end, exact.end())
    if not _is_value(pattern, text[start:end], quoted=quoted):
        return None
    return Secret(pattern.name, start, end)


def _pattern_of(match: re.Match[str]) -> Pattern:
    return _BY_NAME[match.lastgroup or ""]


def _is_value(pattern: Pattern, value: str, *, quoted: bool) -> bool:
    """Tell a credential from a mention of one."""
    if pattern.name == "private_key":
        return _KEY_BODY.search(value) is not None
    if not pattern.lead_stays:
        return True
    if _MENTION.match(value):
        return False
    if not pattern.guessed:
        return True
    return (quoted or not _ATTRIBUTE.fullmatch(value)) and _looks_random(value)


def _looks_random(value: str) -> bool:
    if len(value) < _GUESS_CHARS_MIN or _WORDS.fullmatch(value):
        return False
    if not (_LETTER.search(value) and _STRONG.search(value)):
        return False
    sample = value[:_GUESS_SAMPLE_CHARS]
    size = len(sample)
    bits = -sum(n / size * math.log2(n / size) for n in Counter(sample).values())
    return bits >= _GUESS_BITS_MIN
