"""``dither describe``: all columns of a file that nobody may look at, at one privacy loss."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Unpack

import click

from dither.errors import InvalidArgument
from dither.interfaces.cli.options import TextOptions, layout_of, text_options
from dither.interfaces.cli.output import confidence_of, number


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--epsilon", required=True, type=str, help="Total privacy loss of everything, intervals included.")
@click.option("--delta", required=True, type=str, help="Total delta, such as 1e-6: values of few people stay hidden.")
@click.option("--confidence", default="0.95", help='Of each interval; "none" for none.', show_default=True)
@text_options
@click.option("--html", "page", type=click.Path(path_type=Path), help="Save a page with pictures.")
@click.option("--schema", "draft", type=click.Path(path_type=Path), help="Save a drafted schema file (.toml).")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def describe(
    file: Path,
    *,
    epsilon: str,
    delta: str,
    confidence: str,
    page: Path | None,
    draft: Path | None,
    as_json: bool,
    **options: Unpack[TextOptions],
) -> None:
    """Describe a CSV or Parquet FILE privately, without bounds and without a dictionary.

    For each column: its type (how a Parquet file stores it; of a CSV file it is paid for), the shares missing and
    unreadable, quartiles and tails, and values that many people share. Every column gets the same part of the loss;
    where there are too few records for so many columns, nothing is read, and the error says what would be enough.

    \b
    dither describe people.parquet --epsilon 1 --delta 1e-6
    dither describe people.csv --epsilon 1 --delta 1e-6 --html people.html --schema people.toml
    """
    from dither.descriptions.answers import describe as described
    from dither.sources.schema_file import dump_schema

    # What can be refused is refused before anything is spent.
    for path, ending in ((page, ".html"), (draft, ".toml")):
        if path is not None and (path.suffix.lower() != ending or not path.absolute().parent.is_dir()):
            raise InvalidArgument("file", str(path), f"must be a path ending in {ending} in an existing folder")
    result = described(
        file,
        epsilon=number("epsilon", epsilon),
        delta=number("delta", delta),
        confidence=confidence_of(confidence),
        layout=layout_of(options),
    )
    if page is not None:
        page.write_text(result.to_html(), encoding="utf-8")
    if draft is not None:
        draft.write_text(dump_schema(result.schema(str(file.absolute()), name=file.stem)), encoding="utf-8")
    click.echo(json.dumps(result.to_dict()) if as_json else str(result))
