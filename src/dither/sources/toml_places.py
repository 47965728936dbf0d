"""Where keys and values stand in a TOML text, for errors that point at the line; the standard reader does not say."""

from __future__ import annotations

import re

Path = tuple[str | int, ...]
"""Names of tables and keys, and positions in lists, from the top down."""
Span = tuple[int, int]

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_BARE_VALUE = re.compile(r"[^,\]}\n#]*")
_STRINGS = (
    re.compile(r'"""(?:[^\\]|\\.)*?"""(?:"{0,2})', re.DOTALL),
    re.compile(r"'''.*?'''(?:'{0,2})", re.DOTALL),
    re.compile(r'"(?:[^"\\\n]|\\.)*"'),
    re.compile(r"'[^'\n]*'"),
)
_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)")
_ESCAPED = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r", '"': '"', "\\": "\\"}


class Places:
    """The spans of all keys and values of a text that the standard reader has accepted."""

    def __init__(self, text: str) -> None:
        self.keys: dict[Path, Span] = {}
        self.values: dict[Path, Span] = {}
        self._text, self._at = text, 0
        self._scan()

    def of(self, path: Path, *, value: bool = False) -> Span:
        """The span of a key (or of its value), or of the nearest table around it, or of the first line."""
        if value and path in self.values:
            return self.values[path]
        while path:
            if path in self.keys:
                return self.keys[path]
            if path in self.values:
                return self.values[path]
            path = path[:-1]
        return (0, max(self._text.find("\n"), 0)) if "\n" in self._text else (0, len(self._text))

    # --- the scan: the text is valid TOML, so every branch can trust what follows -----------------------

    def _scan(self) -> None:
        table: Path = ()
        entries: dict[Path, int] = {}
        while self._skip() < len(self._text):
            start = self._at
            if self._text[start] != "[":
                self._entry(table)
                continue
            listed = self._text.startswith("[[", start)
            self._at += 2 if listed else 1
            table = self._path()
            self._skip()
            self._at += 2 if listed else 1
            if listed:
                entries[table] = entries.get(table, -1) + 1
            self.keys.setdefault(table, (start, self._at))
            if listed:
                table = (*table, entries[table])
                self.keys[table] = (start, self._at)

    def _entry(self, table: Path) -> None:
        self._skip()
        start = self._at
        path = (*table, *self._path())
        # A dotted key names its tables too.
        for length in range(len(table) + 1, len(path) + 1):
            self.keys.setdefault(path[:length], (start, self._at))
        self.keys[path] = (start, self._at)
        self._skip()
        self._at += 1
        self._value(path)

    def _path(self) -> Path:
        parts = [self._key()]
        while self._text.startswith(".", self._after_blank()):
            self._skip()
            self._at += 1
            parts.append(self._key())
        return tuple(parts)

    def _after_blank(self) -> int:
        match = _BLANK.match(self._text, self._at)
        return match.end() if match else self._at

    def _key(self) -> str:
        self._skip()
        match = _BARE_KEY.match(self._text, self._at)
        if match is not None:
            self._at = match.end()
            return match[0]
        start = self._at
        self._string()
        quoted = self._text[start + 1 : self._at - 1]
        return quoted if self._text[start] == "'" else _ESCAPE.sub(_unescaped, quoted)

    def _value(self, path: Path) -> None:
        self._skip()
        start, mark = self._at, self._text[self._at : self._at + 1]
        if mark == "{":
            self._at += 1
            while self._text[self._skip()] != "}":
                self._entry(path)
                self._comma()
            self._at += 1
        elif mark == "[":
            self._at += 1
            index = 0
            while self._text[self._skip()] != "]":
                self._value((*path, index))
                self._comma()
                index += 1
            self._at += 1
        elif mark and mark in "\"'":
            self._string()
        else:
            match = _BARE_VALUE.match(self._text, self._at)
            text = match[0].rstrip() if match else ""
            self._at += len(text)
        self.values[path] = (start, self._at)

    def _comma(self) -> None:
        if self._text[self._skip()] == ",":
            self._at += 1

    def _string(self) -> None:
        for form in _STRINGS:
            match = form.match(self._text, self._at)
            if match is not None:
                self._at = match.end()
                return

    def _skip(self) -> int:
        """Over blanks and comments; the new position."""
        self._at = self._after_blank()
        return self._at


def _unescaped(match: re.Match[str]) -> str:
    code = match[1]
    return chr(int(code[1:], 16)) if code[0] in "uU" and len(code) > 1 else _ESCAPED.get(code, code)
