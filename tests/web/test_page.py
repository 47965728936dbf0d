"""The page in a real browser: what owners and analysts do there, from the first token to the last epsilon.

Every visit ends with the check that the browser had nothing to complain about and that no other host was asked.
"""

import json
import os
import re
import subprocess
import sys

import pytest

from page_server import SCHEMA

DOT = "[aria-label=Answer] circle.dot"
WHISKERS = (
    "[...document.querySelectorAll('[aria-label=Answer] line.whisker')].filter(one => !one.closest('.beyond'))"
    ".flatMap(one => ['x1', 'x2'].map(end => parseFloat(one.getAttribute(end))))"
)
BARS = (
    "[...document.querySelectorAll('[aria-label=Answer] rect.column')]"
    ".map(one => parseFloat(one.getAttribute('width')))"
)


def test_from_registration_to_a_drawn_answer(visit, pictures):
    """An owner registers and hands out a token; an analyst sees the price, pays, and gets a dot between whiskers."""
    tab, curator = visit.tab, visit.curator
    curator.source("story")
    visit.sign_in()
    tab.click_text("Register", "#nav a")
    tab.click_text("Write a schema file")
    tab.fill("input[name=name]", "story")
    tab.fill("textarea[name=schema]", SCHEMA.format(name="story", epsilon=2.0))
    tab.picture(pictures / "register.png")
    tab.click_text("Register", "form button")
    tab.see("Columns")
    tab.see("0 to 1,000")
    tab.picture(pictures / "schema.png")

    tab.click_text("Tokens", "#nav a")
    tab.fill("input[name=name]", "ada")
    tab.click_text("Make a token", "form button")
    tab.see("shown this once")
    token = tab.run("document.querySelector('.secret').innerText")
    tab.picture(pictures / "token.png")
    tab.click_text("Sign out")

    visit.sign_in(token)
    tab.click_text("story", ".dataset h2")
    tab.see("ε 0.2", ".loss")
    tab.see("10% of what is left")
    tab.see("Expected error")
    assert curator.spent("story") == 0.0
    tab.picture(pictures / "quote.png")
    visit.pay()
    tab.picture(pictures / "answer.png")

    (entry,) = curator.history("story")
    (release,) = entry["releases"]
    assert (entry["analyst"], curator.spent("story")) == ("ada", 0.2)
    low, high = release["interval"]
    # Two digits of half the interval's width are shown; its ends are rounded outward.
    assert _numbers(tab.run("document.querySelector('.headline').innerText")) == [
        one if one == 95 else pytest.approx(one, abs=(high - low) / 10) for one in (release["value"], 95, low, high)
    ]
    place = float(tab.run(f"document.querySelector('{DOT}').getAttribute('cx')").rstrip("%"))
    low, high = tab.run(f"(all => [Math.min(...all), Math.max(...all)])({WHISKERS})")
    share = (release["value"] - release["interval"][0]) / (release["interval"][1] - release["interval"][0])
    assert place == pytest.approx(low + share * (high - low), abs=0.01)
    tab.see("ε 1.8 left")


def test_groups_stand_below_each_other_and_histograms_have_bars(visit, pictures):
    """One row for each group on a common axis; bars as long as the released counts, with whiskers."""
    tab, name = visit.tab, visit.curator.dataset("groups")
    visit.sign_in(visit.curator.analyst("grace"))
    visit.open(name)
    tab.click("input[name=by][value=job]")
    visit.pay()
    assert tab.run("document.querySelectorAll('[aria-label=Answer] circle.dot').length") == 2
    tab.see("clerk", "[aria-label=Answer]")
    tab.picture(pictures / "groups.png")
    tab.click("input[name=by][value=job]")
    tab.choose("select[name=kind]", "histogram")
    tab.choose("select[name=column]", "pay")
    tab.fill("input[name=edges]", "0, 250, 500, 750, 1000")
    visit.pay()
    widths = tab.run(BARS)
    values = visit.curator.history(name)[-1]["releases"][0]["value"]
    assert len(widths) == 4
    assert widths[1] / widths[2] == pytest.approx(values[1] / values[2], rel=1e-6)
    assert tab.run(f"{WHISKERS}.length") == 4 * 2
    tab.picture(pictures / "histogram.png")


def test_sql_with_conditions_is_written_for_the_reader_and_can_be_edited(visit, pictures):
    """Controls become SQL that can be taken over and changed; each query of it gets a figure."""
    tab, name = visit.tab, visit.curator.dataset("written")
    visit.sign_in()
    visit.open(name)
    tab.click_text("Add a condition")
    tab.choose("select[name=where-column]", "job")
    tab.choose("select[name=where-value]", "nurse")
    tab.see("WHERE job = 'nurse'", ".written")
    tab.click("input[name=mode][value=sql]")
    assert "median(pay)" in tab.run("document.querySelector('textarea[name=sql]').value")
    tab.fill("textarea[name=sql]", f"SELECT job, avg(pay), count(*) FROM {name} GROUP BY job")
    visit.pay()
    assert tab.run("document.querySelectorAll('[aria-label=Answer] figure').length") == 2
    tab.picture(pictures / "sql.png")


def test_the_menu_is_the_servers_list_of_queries(visit, pictures):
    """In its order, with its labels; statistics of several columns are asked with boxes for the columns."""
    tab, curator = visit.tab, visit.curator
    name = curator.dataset("several")
    visit.sign_in(curator.analyst("emmy"))
    visit.open(name)
    tab.see("Expected error")
    offered = tab.run("[...document.querySelectorAll('select[name=kind] option')].map(one => [one.value, one.text])")
    kinds = curator.call("GET", f"/v1/datasets/{name}")["kinds"]
    listed = curator.call("GET", "/v1/queries")["queries"]
    expected = [
        [one["name"], one["label"]] for one in listed if one["name"] in kinds and "boolean" not in one["columns"]
    ]
    assert [one for one in offered if one in expected] == [one for one in expected if one[0] != "program"]
    assert {"covariance", "regression", "kmeans", "mode", "scale", "smallest_sum"} <= {value for value, _ in offered}
    tab.choose("select[name=kind]", "iqr")
    tab.fill("input[name=low]", "0.1")
    tab.see("SELECT iqr(pay, low => 0.1)", ".written")
    tab.choose("select[name=kind]", "covariance")
    tab.see("SELECT covariance(pay, age)", ".written")
    tab.click("input[name=columns][value=age]")
    tab.see("SELECT covariance(age)", ".written")
    tab.click("input[name=columns][value=pay]")
    visit.pay()
    tab.see("pay, age", "[aria-label=Answer]")
    tab.picture(pictures / "covariance.png")
    assert curator.history(name)[-1]["question"]["questions"][0]["query"]["name"] == "covariance"


def test_conditions_and_groups_are_offered_where_they_are_answered(visit, pictures):
    """A trimmed mean is asked of all records, and the form says what to ask of some; chosen groups come back."""
    tab, curator = visit.tab, visit.curator
    name = curator.dataset("whole")
    visit.sign_in(curator.analyst("grace"))
    visit.open(name)
    tab.see("Expected error")
    tab.choose("select[name=kind]", "mean")
    tab.click("input[name=by]")
    tab.see("GROUP BY", ".written")
    tab.choose("select[name=kind]", "trimmed_mean")
    assert tab.run("document.querySelector('.side [aria-live]').getAttribute('aria-busy')") == "true"
    tab.see("ask median(c), quantile(c, 0.1) or mean(c)")
    tab.until("document.querySelector('input[name=by]').offsetParent === null", "no groups")
    tab.until("document.querySelector('[data-argument=where]').offsetParent === null", "no conditions")
    tab.until("!document.querySelector('.written').innerText.includes('GROUP BY')", "a question about all records")
    visit.pay()
    assert tab.run("document.querySelector('.side [aria-live]').getAttribute('aria-busy')") is None
    tab.picture(pictures / "whole.png")
    tab.choose("select[name=kind]", "mean")
    tab.see("GROUP BY", ".written")


def test_a_mistake_in_sql_is_shown_with_its_place(visit, pictures):
    """The server's message keeps its mark, and a press selects the word in the text."""
    tab, name = visit.tab, visit.curator.dataset("mistaken")
    visit.sign_in()
    visit.open(name)
    tab.click("input[name=mode][value=sql]")
    tab.fill("textarea[name=sql]", f"SELECT median(pay)\nFROM {name} JOIN others")
    tab.see("^^^^", ".problem")
    tab.see("nothing was charged", ".problem")
    assert tab.run("document.querySelector('textarea[name=sql]').getAttribute('aria-invalid')") == "true"
    tab.picture(pictures / "mistake.png")
    tab.click_text("Show the place")
    chosen = tab.run("(one => one.value.slice(one.selectionStart, one.selectionEnd))(document.activeElement)")
    assert chosen == "JOIN"


def test_a_wrong_field_is_marked(visit):
    """The control that a message is about says so to screen readers too, until it is mended."""
    tab, name = visit.tab, visit.curator.dataset("marked")
    visit.sign_in()
    visit.open(name)
    tab.fill("input[name=epsilon]", "-1")
    tab.see("epsilon", ".problem")
    assert tab.run("document.querySelector('input[name=epsilon]').getAttribute('aria-invalid')") == "true"
    tab.fill("input[name=epsilon]", "0.1")
    tab.until("!document.querySelector('.problem')", "the message goes away")
    assert visit.curator.spent(name) == 0.0


def test_public_knowledge_turns_the_bound_into_an_estimate(visit, pictures):
    """The quote says which of the two it is; the answer is asked for with the mechanism that was quoted."""
    tab, name = visit.tab, visit.curator.dataset("known")
    visit.sign_in()
    visit.open(name)
    tab.see("Upper bound", ".basis")
    tab.see("Expected error, at most")
    tab.click("details summary")
    tab.choose("select[name=prior]", "normal")
    tab.see("a number is needed")
    tab.fill("input[name=prior-1]", "500")
    tab.fill("input[name=prior-2]", "150")
    tab.see("Estimate", ".basis")
    tab.picture(pictures / "estimate.png")
    visit.pay()
    (entry,) = visit.curator.history(name)
    assert entry["question"]["questions"][0]["mechanism"] == entry["releases"][0]["mechanism"]


def test_a_budget_runs_out(visit, pictures):
    """The last question that fits is answered; the next cannot be sent, and the reason stands below the button."""
    tab, name = visit.tab, visit.curator.dataset("small", epsilon=0.25)
    visit.sign_in(visit.curator.analyst("charles"))
    visit.open(name)
    tab.fill("input[name=epsilon]", "0.2")
    visit.pay()
    tab.see("ε 0.05 left")
    tab.choose("select[name=kind]", "mean")
    tab.see("more than is left")
    button = "document.querySelector('button[name=ask]')"
    tab.until(f"{button}.innerText.startsWith('Spend')")
    assert tab.run(f"{button}.disabled")
    reason = tab.run(f"document.getElementById({button}.getAttribute('aria-describedby')).innerText")
    assert (
        reason == "This would spend ε 0.2, and only ε 0.05 of the dataset’s budget is left. Choose a smaller epsilon."
    )
    tab.picture(pictures / "budget-gone.png")
    tab.fill("input[name=epsilon]", "0.05")
    tab.until(f"{button}.innerText === 'Spend ε 0.05 and ask' && !{button}.disabled")
    assert visit.curator.spent(name) == 0.2


def test_the_same_question_is_free(visit):
    """A question that was answered comes from the store: the button offers it free, and nothing is charged."""
    tab, name = visit.tab, visit.curator.dataset("again")
    visit.sign_in()
    visit.open(name)
    visit.pay()
    tab.see("spent ε 1", "[aria-label=Answer]")
    value = tab.run("document.querySelector('.headline').innerText")
    tab.until("document.querySelector('button[name=ask]').innerText === 'Show the stored answer, free'")
    tab.see("This question was answered before")
    tab.run("document.querySelector('[aria-label=Answer]').remove()")
    tab.click("button[name=ask]")
    tab.see("from the store, free", "[aria-label=Answer]")
    assert tab.run("document.querySelector('.headline').innerText") == value
    assert visit.curator.spent(name) == 1.0
    tab.click("input[name=again]")
    tab.until("document.querySelector('button[name=ask]').innerText === 'Spend ε 1 and ask'")


def test_a_refusal_is_cleared_when_the_question_changes(visit):
    """What the server said of one statistic does not stand beside the next."""
    tab, name = visit.tab, visit.curator.dataset("cleared")
    visit.sign_in()
    visit.open(name)
    tab.choose("select[name=kind]", "kmeans")
    tab.fill("input[name=k]", "2")
    tab.see("delta", ".problem")  # it needs one
    tab.run(
        "window.seen = []; new MutationObserver(() => window.seen.push(!!document.querySelector('.problem')))"
        ".observe(document.querySelector('.side'), {childList: true, subtree: true})"
    )
    tab.choose("select[name=kind]", "median")
    tab.until("window.seen.length > 0")
    assert tab.run("window.seen[0]") is False
    tab.see("Expected error", ".side")
    assert tab.run("document.querySelector('.problem')") is None


@pytest.mark.slow
def test_the_python_on_the_page_gives_the_answer_on_the_page(visit):
    """What is offered to be copied runs as it stands, and asks the question that was asked; the SQL does too."""
    tab, name = visit.tab, visit.curator.dataset("copied")
    token = visit.curator.analyst("noether")
    visit.sign_in(token)
    visit.open(name)
    tab.choose("select[name=kind]", "quantile")
    tab.click_text("Add a condition")
    tab.choose("select[name=where-column]", "job")
    tab.choose("select[name=where-value]", "nurse")
    tab.choose("select[name=confidence]", "0.95 at once")
    code = tab.run("document.querySelector('[aria-label=\\'The same in Python\\']').innerText")
    assert "confidence=dt.Simultaneous(0.95)" in code
    tab.choose("select[name=confidence]", "0.9")
    visit.pay()
    value = tab.run("document.querySelector('.headline').innerText").split()[0]
    code = tab.run("document.querySelector('[aria-label=\\'The same in Python\\']').innerText")
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "DITHER_TOKEN": token},
        capture_output=True,
        text=True,
        check=True,
    )
    assert f"= {float(value.replace(',', '')):.6g}"[:6] in done.stdout
    assert visit.curator.spent(name) == 1.0  # stored: it was the same question
    statement = tab.run("document.querySelector('[aria-label=\\'The same in SQL\\']').innerText")
    asked = {"sql": statement, "epsilon": 1.0, "confidence": 0.9}
    assert visit.curator.call("POST", f"/v1/datasets/{name}/quote", asked, token)["stored"]


def test_an_answer_lost_on_its_way_is_paid_for_once(visit):
    """The connection breaks after the charge: pressing again fetches the same answer."""
    tab, name = visit.tab, visit.curator.dataset("lost")
    visit.sign_in()
    visit.open(name)
    tab.until("document.querySelector('button[name=ask]')?.innerText.startsWith('Spend')")
    tab.click("input[name=again]")  # a fresh answer each time: only the request's name protects the budget
    tab.lose_answer("*/releases")
    tab.click("button[name=ask]")
    tab.lost()
    tab.see("No connection", ".problem")
    visit.pay()
    assert len(visit.curator.history(name)) == 1
    assert visit.curator.spent(name) == 1.0


def test_long_answers_show_the_public_schedule(visit, pictures):
    """An answer that takes seconds is waited for as a job, with the time that everybody may know."""
    tab, name = visit.tab, visit.curator.dataset("slow", answer_seconds=4)
    visit.sign_in(visit.curator.analyst("ida"))
    visit.open(name)
    tab.see("4 s after asking")
    tab.until("document.querySelector('button[name=ask]')?.innerText.startsWith('Spend')")
    tab.click("button[name=ask]")
    tab.see("Waiting for the public schedule")
    tab.see("The answer is due in")
    tab.picture(pictures / "schedule.png")
    tab.see("Save CSV", "[aria-label=Answer]")
    assert any("/v1/jobs/" in one for one in tab.requests)


def test_a_wrong_token_is_refused_and_forgotten(visit, pictures):
    """The token is not kept, and the field has the focus."""
    tab = visit.tab
    visit.sign_in("dither_wrong")
    tab.see("This token is not accepted", ".problem")
    assert tab.run("sessionStorage.length") == 0
    assert tab.run("document.activeElement.name") == "token"
    tab.picture(pictures / "wrong-token.png")


def test_a_revoked_token_ends_the_visit(visit):
    """From the next request on."""
    tab, curator = visit.tab, visit.curator
    token = curator.analyst("eve")
    visit.sign_in(token)
    tab.see("Datasets", "h1")
    made = next(one for one in curator.call("GET", "/v1/tokens")["tokens"] if one["name"] == "eve")
    curator.call("DELETE", f"/v1/tokens/{made['id']}")
    tab.run("location.hash = '#/datasets/anything'")
    tab.see("This token is not accepted", ".problem")


def test_owners_see_spending_and_revoke_tokens(visit, pictures):
    """A step for each charge, who spent what, the trail, and a token that ends."""
    tab, curator = visit.tab, visit.curator
    name, token = curator.dataset("spending"), curator.analyst("mary", budgets={"spending": {"epsilon": 1.0}})
    for kind in ("median", "mean", "sum"):
        question = {"query": {"kind": kind, "column": "pay"}, "epsilon": 0.25}
        curator.call("POST", f"/v1/datasets/{name}/releases", question, token)
    visit.sign_in()
    visit.open(name, "spending")
    tab.see("3 charges from")
    tab.see("ε 0.25 of ε 1", "main")
    tab.see("mean of pay", "main")
    steps = tab.run("document.querySelector('.spend-line').getAttribute('d').split('V').length - 1")
    assert steps == 3
    tab.picture(pictures / "spending.png")
    tab.click_text("Tokens", "#nav a")
    row = "[...document.querySelectorAll('tr')].find(one => one.innerText.startsWith('mary'))"
    tab.see("Tokens", "h1")
    tab.run(f"({row}).querySelector('button').click()")
    tab.click_text("Revoke mary’s")
    tab.until(f"({row}).innerText.includes('revoked')")
    made = next(one for one in curator.call("GET", "/v1/tokens")["tokens"] if one["name"] == "mary")
    assert made["revoked"]


def test_retirement_takes_two_presses(visit):
    """What cannot be undone is asked twice."""
    tab, name = visit.tab, visit.curator.dataset("old")
    visit.sign_in()
    visit.open(name, "spending")
    tab.click_text("Retire this dataset…")
    assert not visit.curator.call("GET", f"/v1/datasets/{name}")["retired"]
    tab.click_text("Retire it for good")
    tab.see("This dataset is retired")
    assert visit.curator.call("GET", f"/v1/datasets/{name}")["retired"]
    visit.open(name)
    tab.see("No new questions")


def test_history_is_saved_as_csv_and_json(visit, tmp_path):
    """Files made in the browser hold what the server told."""
    tab, curator, name = visit.tab, visit.curator, visit.curator.dataset("saved")
    question = {"query": {"kind": "median", "column": "pay"}, "epsilon": 0.5, "by": ["job"]}
    curator.call("POST", f"/v1/datasets/{name}/releases", question)
    tab.save_downloads(tmp_path)
    visit.sign_in()
    visit.open(name, "history")
    tab.click_text("Save CSV")
    tab.click_text("Save JSON")
    lines = tab.downloaded(tmp_path / f"{name}-history.csv").splitlines()
    assert lines[0].startswith("number,at,analyst,query,job,label,value,lower,upper")
    assert [line.split(",")[4] for line in lines[1:]] == ["clerk", "nurse"]
    assert json.loads(tab.downloaded(tmp_path / f"{name}-history.json")) == curator.history(name)


def test_empty_places_tell_what_to_do_next(visit):
    """No view is ever blank."""
    tab, name = visit.tab, visit.curator.dataset("empty")
    visit.sign_in(visit.curator.analyst("nobody", datasets=[]))
    tab.see("Nothing to ask yet")
    tab.click_text("Sign out")
    visit.sign_in()
    visit.open(name, "history")
    tab.see("Nothing was asked yet")
    tab.click_text("Ask the first question")
    tab.see("Your question")
    visit.open(name, "spending")
    tab.see("Nothing was spent yet")


def _numbers(text: str) -> list[float]:
    return [float(one.replace(",", "")) for one in re.findall(r"[\d,]+(?:\.\d+)?", text)]
