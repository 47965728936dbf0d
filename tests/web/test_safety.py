"""The page cannot be made to run, load or send what is not its own; and its files are what they seem."""

import json
import re
from importlib.resources import files

import pytest

from dither.interfaces.web.page import POLICY, page_files

EVIL = "<img src=x onerror=alert(1)>"


def test_names_never_become_markup(visit):
    """Names that are markup stand on the page as they were written."""
    tab, curator = visit.tab, visit.curator
    curator.source("evil")
    (curator.home / "data" / "evil.csv").write_text(f'"{EVIL}",job\n' + "1,2\n" * 2000)
    schema = (
        '[dataset]\nsource = "evil.csv"\nrows = 2000\n[budget]\nepsilon = 10\n'
        f'[columns."{EVIL}"]\ntype = "real"\nbounds = [0, 10]\n'
        f'[columns.job]\ntype = "category"\nvalues = ["{EVIL}", "<script>alert(1)</script>"]\n'
    )
    curator.call("POST", "/v1/datasets", {"name": "evil", "schema": schema})
    visit.sign_in()
    for view in ("schema", "spending", "history", ""):
        visit.open("evil", view)
        assert tab.run("document.querySelectorAll('main img, main script').length") == 0
    tab.see(EVIL, ".written")
    tab.click("input[name=by][value=job]")
    visit.pay()
    tab.see(EVIL, "[aria-label=Answer] figcaption")
    tab.see("<script>alert(1)</script>", "[aria-label=Answer]")
    assert tab.run("document.querySelectorAll('main img, main script').length") == 0
    tab.run("location.hash = '#/datasets/' + encodeURIComponent('<img src=x onerror=alert(1)>')")
    tab.see("is not registered", ".problem")
    assert tab.run("document.querySelectorAll('main img').length") == 0


def test_the_browser_refuses_what_is_not_the_pages_own(visit):
    """No text becomes markup or script, and nothing can be sent elsewhere, even from inside the page."""
    tab = visit.tab
    visit.sign_in()
    tab.see("Datasets", "h1")
    for attempt in (
        "document.body.innerHTML = '<b>x</b>'",
        "eval('1')",
        "document.head.appendChild(Object.assign(document.createElement('script'), {text: 'window.owned = 1'}))",
        "fetch('http://127.0.0.1:9/')",
    ):
        with pytest.raises(AssertionError):
            tab.run(attempt)
    assert tab.run("window.owned") is None
    tab.until("true")
    assert tab.complaints, "the browser says so"
    assert not [one for one in tab.requests if ":9/" in one]
    tab.complaints.clear()


def test_headers_of_the_page(curator):
    """The policy is strict, files have their types, and there is nothing besides them."""
    import httpx

    home = httpx.get(curator.address)
    assert home.headers["content-security-policy"] == POLICY
    assert "unsafe" not in POLICY
    assert "*" not in POLICY
    assert home.headers["x-content-type-options"] == "nosniff"
    script = httpx.get(curator.address + "static/app.js")
    assert script.headers["content-type"].startswith("text/javascript")
    again = httpx.get(curator.address + "static/app.js", headers={"If-None-Match": script.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    for path in ("static/", "static/page.py", "static/../page.py", "static/%2e%2e/page.py", "static/nothing.js"):
        assert httpx.get(curator.address + path).status_code == 404


def test_files_of_the_page_are_plain():
    """No address of another host, no inline script or style, no way to turn text into markup."""
    texts = {name: one.content.decode() for name, one in page_files().items()}
    assert {"index.html", "page.css", "app.js", "icon.svg"} <= set(texts)
    for name, text in texts.items():
        addresses = set(re.findall(r"https?://[^\s\"'<>)]+", text))
        assert addresses <= {"http://www.w3.org/2000/svg"}, name
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", text), (
            name
        )
        assert len(text.splitlines()) <= 500, name
    assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=", texts["index.html"])
    imported = {one for text in texts.values() for one in re.findall(r'from "\./([\w.]+)"', text)}
    assert imported <= set(texts)


def test_files_belong_to_the_package():
    """They are read as resources of the package, not from a folder beside the server."""
    assert (files("dither.interfaces.web") / "static" / "index.html").is_file()


@pytest.fixture
def module(visit):
    """Calls a function of one of the page's modules with plain values; elements come back as their text."""
    visit.tab.go(visit.curator.address)

    def call(file: str, function: str, *arguments):
        given = ", ".join(json.dumps(one) for one in arguments)
        return visit.tab.run(
            f"import('/static/{file}').then(one => one.{function}({given})).then(one => {{"
            " if (!Array.isArray(one) && !(one instanceof Node)) return one;"
            " const box = document.createElement('div'); box.append(...[one].flat(Infinity).filter(Boolean));"
            " document.querySelector('main').replaceChildren(box); return box.innerText })"
        )

    return call


@pytest.mark.parametrize(
    ("kind", "name"), [("estimate", "Estimate"), ("upper bound", "Upper bound"), ("exact", "Exact")]
)
def test_quotes_say_what_their_error_is(module, kind, name):
    """Whether it is an estimate under a prior, an upper bound for all data, or exact."""
    quote = {
        "query": "median of pay",
        "epsilon": 0.1,
        "delta": 0,
        "expected_error": 12.5,
        "bound": 40.0,
        "kind": kind,
        "confidence": 0.95,
        "mechanism": "inverse",
        "noise": "none",
        "assumptions": ["groups are alike"],
        "groups": 4,
    }
    payload = {"epsilon": 0.1, "delta": 0, "quotes": [quote]}
    text = module("quote.js", "quoteParts", payload, {"answer_seconds": 2}, {"epsilon": 1, "delta": 0})
    for part in (
        "ε 0.1",
        "10% of what is left",
        "± 12.5 in each of 4 groups",
        "± 40",
        name,
        "Assumed: groups are alike",
    ):
        assert part in text


def test_quotes_show_the_typical_error_before_the_worst(module):
    """What to expect of ordinary data comes first, the bound for all data after it."""
    quote = {
        "query": "median of pay",
        "epsilon": 0.1,
        "delta": 0,
        "expected_error": 500.0,
        "bound": 950.0,
        "groups": 1,
        "kind": "upper bound",
        "confidence": 0.95,
        "mechanism": "inverse",
        "noise": "none",
        "assumptions": [],
        "typical_error": [1.25, 7.5],
    }
    payload = {"epsilon": 0.1, "delta": 0, "quotes": [quote]}
    text = module("quote.js", "quoteParts", payload, {"answer_seconds": 2}, {"epsilon": 1, "delta": 0})
    assert text.index("± 1.25 to ± 7.5") < text.index("± 500")
    assert text.index("Typical error") < text.index("Expected error, at most")
    assert module("quote.js", "glance", payload) == "ε 0.1 · about ± 1.25 to ± 7.5"


def test_every_kind_of_answer_has_a_picture(module, visit):
    """Quantiles, a line, points and bars, by what the server's list of queries says; each has a role and a label."""
    tab = visit.tab
    common = {
        "epsilon": 1,
        "delta": 0,
        "confidence": 0.95,
        "neighbours": "change-one",
        "mechanism": "inverse",
        "noise": "laplace",
    }
    releases = [
        {"query": "quantiles of pay", "value": [1, 2, 4], "interval": [[0, 2], [1, 3], [3, 5]]},
        {"query": "regression of y (medians of fits)", "value": [5, 3], "interval": [[4, 6], [2, 4]]},
        {"query": "line (least squares of y on x)", "value": [5, 3], "interval": [[4, 6], [2, 4]]},
        {"query": "kmeans of x, y", "value": [[1, 20], [7, 80]], "interval": [[[0, 19], [2, 21]], [[6, 79], [8, 81]]]},
        {"query": "histogram of job", "value": [3, 10], "interval": [[1, 5], [8, 12]]},
    ]
    labels = [["0.25", "0.5", "0.75"], ["intercept", "x"], ["intercept", "x"], ["centre 1", "centre 2"], ["a", "b"]]
    tab.run("import('/static/questions.js').then(one => one.loadQueries())")
    sent = [{**common, **one, "labels": names} for one, names in zip(releases, labels, strict=True)]
    dataset = {"columns": {"x": {"type": "real", "bounds": [0, 10]}}}
    text = module("drawing.js", "answersFigure", sent, dataset)
    assert "centre 2 · y" in text
    drawn = tab.run(
        "[...document.querySelectorAll('figure')].map(one => [one.querySelector('figcaption').innerText,"
        " one.querySelectorAll('svg.plot').length, one.querySelectorAll('rect.column').length])"
    )
    assert [(plots, bars) for _, plots, bars in drawn] == [(1, 0), (1, 0), (1, 0), (1, 0), (0, 2)]
    said = tab.run(
        "[...document.querySelectorAll('svg.plot, svg.strip')].map(one =>"
        " [one.getAttribute('role'), one.getAttribute('aria-label')])"
    )
    assert len(said) == 4 + sum(map(len, labels)) + 2  # a row for each coordinate of a centre
    assert all(role == "img" and label for role, label in said)
    assert "The fitted line: y is 5 plus 3 for each unit of x" in {label for _, label in said}
    text = tab.run("[...document.querySelectorAll('main svg *')].map(one => one.outerHTML).join()")
    assert "NaN" not in text
    assert "undefined" not in text


def test_answers_say_how_their_intervals_hold_and_what_their_numbers_are(module, visit):
    """Components have a weight and a deviation; intervals hold one by one or all at once; a refusal has none."""
    common = {"epsilon": 1, "delta": 0, "confidence": 0.95, "neighbours": "change-one", "mechanism": "x", "noise": "x"}
    visit.tab.run("import('/static/questions.js').then(one => one.loadQueries())")
    mixture = {
        "query": "gaussian_mixture of x, y (means, then weight and standard deviation)",
        "value": [[1, -2, 0.6, 3], [7, 8, 0.4, 1]],
        "interval": [[[0, -3], [2, -1]], [[6, 7], [8, 9]]],
        "labels": ["component 1", "component 2"],
    }
    text = module("drawing.js", "answersFigure", [{**common, **mixture}])
    for part in (
        "component 1 · y",
        "component 1 · weight",
        "component 2 · standard deviation",
        "-3 to -1",
        "of 4 some",
    ):
        assert part in text
    together = module("drawing.js", "answersFigure", [{**common, **mixture, "simultaneous": 0.95}])
    assert "All intervals hold at once in 95% of answers." in together
    assert "by itself" not in together
    refused = {"query": "mode of job", "value": None, "refused": True, "interval": None, "reason": "it did not pass"}
    assert "interval" not in module("drawing.js", "answersFigure", [{**common, **refused}])


def test_a_short_interval_is_not_hidden_behind_its_dot(module, visit):
    """Counts of thousands with intervals of a few: the ends reach above and below the dot, and are drawn over it."""
    common = {
        "epsilon": 1,
        "delta": 0,
        "confidence": 0.95,
        "neighbours": "change-one",
        "mechanism": "worst_case",
        "noise": "laplace",
    }
    sizes = {"a": 100, "b": 5000}
    releases = [
        {**common, "query": "count", "value": size, "interval": [size - 3, size + 3], "group": {"job": name}}
        for name, size in sizes.items()
    ]
    module("drawing.js", "answersFigure", releases)
    rows = visit.tab.run(
        "[...document.querySelectorAll('svg.strip')].map(one => { const box = part => part.getBoundingClientRect();"
        " const dot = box(one.querySelector('.dot')); return [...one.querySelectorAll('.beyond line')].map(line =>"
        " [dot.top - box(line).top, box(line).bottom - dot.bottom,"
        " one.querySelector('.dot').compareDocumentPosition(line) & 4]) })"
    )
    assert len(rows) == 2
    for above, below, over in (end for row in rows for end in row):
        assert min(above, below) >= 2
        assert over


def test_answers_of_every_shape_are_drawn(module, visit):
    """Dates, ends at infinity, refusals, negative counts, a single point: no shape breaks the drawing."""
    common = {
        "epsilon": 1,
        "delta": 0,
        "confidence": 0.95,
        "neighbours": "change-one",
        "mechanism": "inverse",
        "noise": "laplace",
    }
    releases = [
        {"query": "median of day", "value": "2014-05-01", "interval": ["2014-04-01", "2014-06-01"]},
        {"query": "sum of pay", "value": 12.5, "interval": ["-Infinity", "Infinity"]},
        {"query": "median of pay", "value": None, "refused": True, "interval": None, "reason": "the test did not pass"},
        {"query": "count", "value": 5, "interval": [5, 5]},
        {"query": "histogram of job", "value": [-3, 10], "interval": [[-5, -1], [8, 12]], "labels": ["a", "b"]},
        {"query": "mean of pay", "value": 1e-7, "interval": None},
        {"query": "mode of job", "value": "clerk", "interval": None},
        {
            "query": "kmeans of x, y",
            "value": [[1.5, 20], [7, 80]],
            "labels": ["centre 1", "centre 2"],
            "interval": [[[1, 19], [2, 21]], [[6, 79], [8, 81]]],
        },
    ]
    text = module("drawing.js", "answersFigure", [{**common, **one} for one in releases])
    for part in (
        "2014-05-01",
        "between -∞ and ∞",
        "Refused",
        "the test did not pass",
        "-3",
        "1.00e-7",
        "clerk",
        "centre 2 · 1",
    ):
        assert part in text
    drawn = visit.tab.run("[...document.querySelectorAll('main svg *')].map(one => one.outerHTML).join()")
    assert "NaN" not in drawn
    assert "undefined" not in drawn


def test_csv_cannot_carry_formulas(module):
    """What a spreadsheet would run stays a text; commas and quotes stay in their cells."""
    rows = [{"name": '=HYPERLINK("x")', "value": -3, "more": "a,b"}, {"name": "@x", "value": 1.5, "more": None}]
    assert module("format.js", "csv", rows) == ("name,value,more\n" + '"\'=HYPERLINK(""x"")",-3,"a,b"\n' + "'@x,1.5,\n")


def test_csv_formulas_behind_white_space_stay_texts(module):
    """Spreadsheets skip white space and control characters before they look for a formula."""
    before = ("", " ", "  ", "\t", "\u00a0", "\ufeff", "\u200b", "\x00", "\x1f", " \t\u2003")
    texts = [f"{space}{sign}1+2" for space in before for sign in "=+-@"]
    lines = module("format.js", "csv", [{"name": text} for text in texts]).split("\n")[1:-1]
    assert lines == [f"'{text}" for text in texts]
    assert module("format.js", "csv", [{"name": "\r\n=1+2"}]) == 'name\n"\'\r\n=1+2"\n'
