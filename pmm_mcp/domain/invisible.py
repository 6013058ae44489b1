"""Characters that cannot be seen: one table for all that shows texts and all that compares them.

A fixed list: asking `unicodedata` would give one text two keys under two Pythons.
"""

import re
from typing import Final

# In order: controls, soft hyphen, grapheme joiner, fillers, marks of direction and layout, blanks that are
# letters, rare variation selectors, annotations and non-characters, halves of pairs, shorthand and musical
# formats, tags with the variation selectors beyond the first plane.
_HIDDEN: Final = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f"
    "\u2028-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\ud800-\udfff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_SHAPING: Final = "\u200c\u200d\ufe0e\ufe0f"
"""What scripts and emoji are written with: no reader sees it, and without it words come out wrong."""
_PRIVATE: Final = "\ue000-\uf8ff\U000f0000-\U0010ffff"

HIDDEN: Final = re.compile(f"[{_HIDDEN}]")
"""What is not shown as it is: it hides, or steers how the rest is seen. Tab and line feed are not of it."""
UNSEEN: Final = re.compile(f"[{_HIDDEN}{_SHAPING}{_PRIVATE}]")
"""What makes no other text for a reader."""
