"""Text files of other layouts: semicolons, decimal commas, lines before the header, encodings of one byte."""

import gzip
import itertools

import pytest

import dither as dt
from dither.sources.engines.duckdb import csv_names
from dither.sources.files import file_rows, read_file_column, read_file_entries
from dither.sources.formats import NumberFormat
from dither.sources.lines import USUAL, TextLayout, records

ROWS = [("Zoë", "1,5"), ("a;b", "2,25"), ('say "x"', ""), ("", "-3"), ("|", "1.000,5"), ("x,y", "7")]
"""A name and a number with a decimal comma in each."""


def written_to(folder, *, delimiter=";", before=(), encoding="utf-8", suffix=".csv", end="\n"):
    """A text file of these rows, all fields in quotes that need them."""

    def field(text):
        quoted = '"' + text.replace('"', '""') + '"'
        return quoted if any(one in text for one in (delimiter, '"')) else text

    lines = [*before, delimiter.join(("name", "value")), *(delimiter.join(map(field, row)) for row in ROWS)]
    data = (end.join(lines) + end).encode(encoding)
    file = folder / f"rows{suffix}"
    file.write_bytes(gzip.compress(data) if suffix.endswith(".gz") else data)
    return file


CASES = [
    ({"delimiter": ";"}, USUAL),
    ({"delimiter": "|"}, USUAL),
    ({"delimiter": "\t"}, USUAL),
    ({"delimiter": "\t", "suffix": ".tsv"}, USUAL),
    ({"delimiter": ";", "suffix": ".csv.gz", "end": "\r\n"}, USUAL),
    ({"delimiter": ",", "before": ("Report; of; 2020", "")}, TextLayout(skip_lines=2)),
    ({"delimiter": ";", "encoding": "latin-1"}, TextLayout(encoding="latin-1")),
    ({"delimiter": ";", "encoding": "cp1252", "before": ("Größe",)}, TextLayout(";", 1, "cp1252")),
]


@pytest.mark.parametrize(("how", "layout"), CASES)
def test_both_readers_of_text_files_see_the_same_rows(how, layout, tmp_path):
    """The one-line reader and the engine, against the rows that were written."""
    file = written_to(tmp_path, **how)
    names = [one or None for one, _ in ROWS]
    numbers = [NumberFormat.of("1.234,56").number(one) for _, one in ROWS]
    assert csv_names(file, layout) == ["name", "value"]
    assert file_rows(file, layout=layout) == len(ROWS)
    assert read_file_entries(file, "name", layout=layout) == names
    column = read_file_column(file, "VALUE", layout=layout, written=NumberFormat.of("1.234,56"))
    assert column.filled(float("nan")).tolist() == pytest.approx(numbers, nan_ok=True)
    columns = {
        "name": dt.Category(sorted({one for one in names if one})),
        "value": dt.Real(-10, 2_000, step=0.25, nulls="drop", format="1.234,56"),
    }
    with dt.open(file, columns=columns, budget=dt.Budget(1e6), **layout.options) as session:
        assert dt.inspect.value(dt.Sum("value"), session) == sum(one for one in numbers if one == one)
        counted = dt.inspect.value(dt.Count(), session, by="name")
        assert counted == {(one,): names.count(one) for one in columns["name"].values}


def test_what_separates_fields_is_never_decided_by_a_record(tmp_path):
    """Only the line that names the columns is looked at, whatever the records hold."""
    for header, found in (("a,b;c", ","), ("a;b|c", ";"), ("a", ","), ("a\tb", "\t"), ("a|b", "|")):
        for rest in itertools.product(("1;2;3", "1,2,3", "1|2", ""), repeat=2):
            file = tmp_path / "x.csv"
            file.write_text("\n".join([header, *rest]) + "\n")
            assert USUAL.delimiter_of(file) == found
    assert TextLayout(delimiter="|").delimiter_of(file) == "|"


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "iso8859-15", "koi8-r", "mac-roman", "ascii"])
def test_in_encodings_of_one_byte_a_line_stays_a_line(encoding, tmp_path):
    """All bytes in all places: as many records as line feeds."""
    file = tmp_path / "x.csv"
    lines = [bytes([one]) * 3 + b"," + bytes([one]) for one in range(256) if one not in (0x0A, 0x0D)]
    file.write_bytes(b"a,b\n" + b"\n".join(lines) + b"\n")
    assert len(list(records(file, TextLayout(encoding=encoding)))) == len(lines)


@pytest.mark.parametrize(
    "wrong",
    [
        *({"encoding": one} for one in ("utf-16", "utf-7", "shift_jis", "raw_unicode_escape", "cp037", "x", 1)),
        *({"delimiter": one} for one in ("", "ab", "a", '"', "\n", 1)),
        *({"skip_lines": one} for one in (-1, True, 1.5, 10**9)),
    ],
    ids=str,
)
def test_layouts_that_would_let_one_line_decide_about_others_are_refused(wrong):
    """Encodings in which a line feed may be part of a character, and separators that are none."""
    with pytest.raises(dt.InvalidArgument, match=next(iter(wrong))):
        TextLayout(**wrong)


def test_a_schema_file_says_how_its_text_file_is_laid_out(tmp_path):
    """Read, written again and part of what tells questions apart; of other sources it is refused."""
    from dither.session.forms import schema_digest
    from dither.sources.schema_file import dump_schema, load_schema

    written_to(tmp_path, before=("x",), encoding="cp1252")
    text = (
        'version = 2\n[dataset]\nsource = "rows.csv"\ndelimiter = ";"\nskip_lines = 1\nencoding = "cp1252"\n'
        '[budget]\nepsilon = 100\n[columns.value]\ntype = "real"\nbounds = [0, 10]\nformat = "1.234,56"\n'
    )
    (tmp_path / "rows.toml").write_text(text)
    schema = load_schema(tmp_path / "rows.toml")
    assert schema.layout == TextLayout(";", 1, "cp1252")
    (tmp_path / "again.toml").write_text(dump_schema(schema))
    assert load_schema(tmp_path / "again.toml") == schema
    usual = load_schema_without_layout(tmp_path, text)
    assert schema_digest(schema, {"value"}) != schema_digest(usual, {"value"})
    with dt.open(tmp_path / "rows.toml") as session:
        assert dt.inspect.value(dt.CountPresent("value"), session) == 5
    (tmp_path / "bad.toml").write_text(text.replace('";"', '"ab"'))
    with pytest.raises(dt.InvalidArgument, match="a semicolon"):
        load_schema(tmp_path / "bad.toml")
    with pytest.raises(dt.InvalidArgument, match="is for text files"):
        dt.open({"v": [1.0]}, columns={"v": dt.Real(0, 1)}, budget=dt.Budget(1.0), delimiter=";")


def load_schema_without_layout(folder, text):
    """The same schema without its layout."""
    from dither.sources.schema_file import load_schema

    kept = [line for line in text.split("\n") if not line.startswith(("delimiter", "skip_lines", "encoding"))]
    (folder / "usual.toml").write_text("\n".join(kept))
    return load_schema(folder / "usual.toml")
