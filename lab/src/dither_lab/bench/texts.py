"""The words of rows and results, shared by table, page and docs."""

from __future__ import annotations

from collections.abc import Iterable

from dither_lab.bench.intervals import Figure, short
from dither_lab.bench.result_rows import NOT_MEASURED, PEER_LOWER, ResultRow
from dither_lab.bench.run import Results

SCALES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


def figure_text(figure: Figure | None, unit: str) -> str:
    """A figure with its unit, times in the unit that suits them.

    >>> figure_text(Figure(0.0021, 0.002, 0.003), "s")
    '2.1 ms [2, 3]'
    """
    if figure is None:
        return "–"
    if unit == "s":
        factor, name = next((pair for pair in SCALES if figure.value >= pair[0]), SCALES[-1])
        scaled = Figure(figure.value / factor, figure.low / factor, figure.high / factor)
        head, _, rest = str(scaled).partition(" ")
        return f"{head} {name} {rest}".rstrip()
    head, _, rest = str(figure).partition(" ")
    suffix = "" if unit == "exponent" else f" {unit}" if unit else ""
    return f"{head}{suffix} {rest}".rstrip()


def ratio_text(row: ResultRow) -> str:
    """The ratio of a row."""
    if row.ratio is None:
        return "infinite" if row.verdict == PEER_LOWER else "–"
    return str(row.ratio)


def verdict_text(row: ResultRow) -> str:
    """Verdict, promise and explanation in one."""
    text = row.verdict if row.why is None else f"{row.verdict}: {row.why}"
    if row.asked is not None:
        kept = {"yes": "held", "no": "MISSED", None: "not measured"}.get(row.held, row.held)
        text += f" (asked {row.asked}: {kept})"
    return text


def subject_text(row: ResultRow) -> str:
    """What a row is about."""
    return f"{row.what}, {row.quantity}"


def guarantee_text(row: ResultRow) -> str:
    """Guarantee and neighbours."""
    return row.guarantee if row.neighbours == "-" else f"{row.guarantee}; {row.neighbours}"


def footer(results: Results) -> str:
    """Machine, versions, peers that are missing, and how long it took."""
    facts = results.machine
    machine = (
        f"{facts['cores']} cores, {facts['memory_gib']} GiB, {facts['system']}, Python {facts['python']}, "
        f"load {facts['load']} at the start, {facts['day']}{', quick run' if results.quick else ''}; "
        f"times by {'processor time of all cores' if results.clock == 'processor' else 'the wall clock'}"
    )
    lines = [
        machine,
        "versions: " + ", ".join(f"{name} {version}" for name, version in results.versions.items()),
        "peers: "
        + ", ".join(
            f"{name} {peer['version']}" if peer["reason"] is None else f"{name} NOT MEASURED ({peer['reason']})"
            for name, peer in results.peers.items()
        ),
        "seconds: " + ", ".join(f"{name} {short(value)}" for name, value in results.seconds.items()),
        summary(results.rows),
    ]
    return "\n".join(lines)


def summary(rows: Iterable[ResultRow]) -> str:
    """How many rows of each verdict, and the promises."""
    rows = list(rows)
    counts = {
        verdict: sum(row.verdict == verdict for row in rows) for verdict in dict.fromkeys(r.verdict for r in rows)
    }
    promised = [row for row in rows if row.asked is not None]
    kept = sum(row.held == "yes" for row in promised)
    payload = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    return f"{len(rows)} rows: {payload}; {kept} of {len(promised)} figures asked for held"


def markdown(rows: Iterable[ResultRow]) -> str:
    """The rows as tables for the docs, one for each area."""
    lines: list[str] = []
    area = ""
    for row in rows:
        if row.area != area:
            area = row.area
            headings = "| what | guarantee; neighbours | dither | peer | | ratio | verdict |"
            lines += ["", f"### `dither bench {area}`", "", headings, "|---|---|---|---|---|---|---|"]
        verdict = (
            row.verdict if row.asked is None else f"{row.verdict} (asked {row.asked}: {row.held or 'not measured'})"
        )
        if row.verdict == NOT_MEASURED:
            verdict += f": {row.why}"
        cells = (
            subject_text(row),
            guarantee_text(row),
            figure_text(row.ours, row.unit),
            row.peer,
            figure_text(row.theirs, row.unit),
            ratio_text(row),
            verdict,
        )
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines).strip() + "\n"


def explained(rows: Iterable[ResultRow]) -> str:
    """Why a peer is lower, for the docs: every explanation with the keys of its rows."""
    keys: dict[str, list[str]] = {}
    for row in rows:
        if row.verdict == PEER_LOWER and row.why is not None:
            keys.setdefault(row.why, []).append(row.key)
    return "".join(f"* {text} ({', '.join(f'`{key}`' for key in result)})\n" for text, result in keys.items())
