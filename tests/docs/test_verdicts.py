"""The page of reproductions is what its script writes."""

import verdicts


def test_the_page_is_rewritten_from_a_run():
    """Old rows go, cells are escaped, counts are those of the run, and what is around the tables stays."""
    common = {"where": "Table 1", "paper says": "|x| <= 1", "rule": "r", "ours": "1", "why": ""}
    rows = [
        common | {"paper": "v17", "verdict": "agrees"},
        common | {"paper": "errata", "where": "Lemma 2", "verdict": "disagrees", "why": "no"},
    ]
    page = (
        "before\n\n## Verdicts\n\n9 rows: 7 agree, 1 agree after a correction, 1 disagree (0 of them errata), "
        "0 are not testable here.\n\n"
        "### OLD\n\n| old |\n\n## Time\n\nafter\n"
    )
    made = verdicts.rewritten(page, rows)
    assert "old" not in made.lower().replace("before", "")
    counted = "2 rows: 1 agree, 0 agree after a correction, 1 disagree (1 of them errata), 0 are not testable here."
    assert counted in made
    assert "| Table 1 | \\|x\\| <= 1 | r | 1 | **agrees** |" in made
    assert "### Errata" in made
    assert made.endswith("\n\n## Time\n\nafter\n")


def test_the_page_as_it_stands_holds_all_rows():
    """Its counts are those of its tables."""
    page = verdicts.PAGE.read_text(encoding="utf-8")
    lines = [line for line in page.splitlines() if line.startswith("| ") and "| **" in line]
    assert f"{len(lines)} rows: " in page
    assert sum("| **disagrees**" in line for line in lines) == int(page.split(" disagree (")[0].rsplit(" ", 1)[1])
