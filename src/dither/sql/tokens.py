"""A text of SQL as a row of words, each with its place."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sqlglot import TokenType
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import SqlglotError

from dither.errors import InvalidArgument, InvalidText
from dither.sources.predicates import LONGEST

DEEPEST = 40
"""Brackets inside brackets, at most."""
_MISSING = re.compile(r"Missing .* from \d+:(\d+)\Z", re.DOTALL)
_NAME = re.compile(r"[^\W\d]\w*\Z")
_HALF = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class Word:
    """One word: what it says, whether it was quoted, and where it stands."""

    text: str
    type: TokenType
    start: int
    end: int

    @property
    def upper(self) -> str:
        """The word for comparison with keywords; nothing for quoted ones."""
        return "" if self.type in (TokenType.IDENTIFIER, TokenType.STRING) else self.text.upper()

    @property
    def is_quoted(self) -> bool:
        """True for a name in double quotes."""
        return self.type is TokenType.IDENTIFIER

    @property
    def is_name(self) -> bool:
        """True if it can name something."""
        return self.is_quoted or (self.type is not TokenType.STRING and _NAME.match(self.text) is not None)


class Words:
    """The words of a text, read from left to right."""

    def __init__(self, text: str, argument: str) -> None:
        if not isinstance(text, str) or not text.strip():
            raise InvalidArgument(argument, text, "must be a text such as SELECT median(total_pay) FROM payroll")
        if len(text) > LONGEST:
            raise InvalidArgument(argument, len(text), f"must be a text of at most {LONGEST:,} characters")
        if half := _HALF.search(text):
            raise InvalidText(argument, text, "half of a surrogate pair is no character", half.start(), half.end())
        self.text, self.argument = text, argument
        self._words = self._split()
        self._at = 0
        self._check_depth()

    def _split(self) -> list[Word]:
        try:
            return [Word(item.text, item.token_type, item.start, item.end + 1) for item in DuckDB().tokenize(self.text)]
        except SqlglotError as error:
            match = _MISSING.search(str(error.__cause__ or ""))
            start = int(match[1]) if match else max(self.text.rfind("/*"), 0)
            reason = "a quote that is never closed" if match else "this is not SQL that can be read"
            problem = InvalidText(self.argument, self.text, reason, start, start + 1 if match else None)
        raise problem

    def _check_depth(self) -> None:
        depth = 0
        for word in self._words:
            if word.type in (TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE):
                depth += 1
            elif word.type in (TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE):
                depth -= 1
            if depth > DEEPEST:
                raise self.problem(word, f"write at most {DEEPEST} brackets inside each other")

    @property
    def here(self) -> Word:
        """The next word; an empty one at the end."""
        if self._at < len(self._words):
            return self._words[self._at]
        end = len(self.text.rstrip())
        return Word("", TokenType.SEMICOLON, end, end)

    @property
    def following(self) -> Word:
        """The word after the next one."""
        self._at += 1
        word = self.here
        self._at -= 1
        return word

    @property
    def is_done(self) -> bool:
        """True if no word is left."""
        return self._at >= len(self._words)

    def take(self) -> Word:
        """The next word, and go on."""
        word = self.here
        self._at += 1
        return word

    @property
    def place(self) -> int:
        """How many words were taken, for ``back_to``."""
        return self._at

    def back_to(self, place: int) -> None:
        """Read again from a place on."""
        self._at = place

    @property
    def last_end(self) -> int:
        """Where the last word that was taken ends."""
        return self._words[self._at - 1].end

    def took(self, *keywords: str) -> bool:
        """Go on if the next words are these."""
        ahead = [word.upper for word in self._words[self._at : self._at + len(keywords)]]
        if ahead != list(keywords):
            return False
        self._at += len(keywords)
        return True

    def problem(self, word: Word, reason: str) -> InvalidText:
        """An error that points at a word."""
        return self.problem_at(word.start, word.end, reason)

    def problem_at(self, start: int, end: int, reason: str) -> InvalidText:
        """An error that points at a part of the text."""
        return InvalidText(self.argument, self.text, reason, start, end)

    def blanked(self, start: int, end: int) -> str:
        """The text with everything but one part blanked out: places stay what they are."""
        before = re.sub(r"[^\n]", " ", self.text[:start])
        return before + self.text[start:end]
