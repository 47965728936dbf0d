"""What the page shows beyond questions of tables: graphs, programs, what a schema declares, the chain of entries."""

import json
import re

import pytest

from page_server import SCHEMA

pytestmark = pytest.mark.slow

GRAPH = '[dataset]\nsource = "{name}.csv"\n[graph]\nvertices = 60\n[budget]\nepsilon = 5\ndelta = 1e-6\n'


def test_graphs_are_quoted(visit, pictures):
    """The expected error of a graph's statistic stands beside its price before it is paid for."""
    tab, curator = visit.tab, visit.curator
    ring = "".join(f"{one},{(one + 1) % 60}\n" for one in range(60))
    (curator.home / "data" / "ring.csv").write_text("source,target\n" + ring)
    curator.call("POST", "/v1/datasets", {"name": "ring", "schema": GRAPH.format(name="ring")})
    visit.sign_in()
    visit.open("ring")
    tab.choose("select[name=kind]", "triangles")
    tab.see("Expected error, at most")
    tab.see("Upper bound")
    tab.picture(pictures / "graph-quote.png")
    tab.choose("select[name=kind]", "edges")  # (nothing that would have to be compiled first)
    visit.pay()
    assert curator.history("ring")[0]["releases"][0]["query"] == "edges"


def test_graphs_are_asked_in_sql(visit):
    """What was built stands in the text; several functions of one statement are quoted and paid for together."""
    tab, curator = visit.tab, visit.curator
    ring = "".join(f"{one},{(one + 1) % 60}\n" for one in range(60))
    (curator.home / "data" / "written.csv").write_text("source,target\n" + ring)
    curator.call("POST", "/v1/datasets", {"name": "written", "schema": GRAPH.format(name="written")})
    visit.sign_in()
    visit.open("written")
    tab.choose("select[name=kind]", "edges")
    tab.see("SELECT edges()", ".written")
    tab.click("input[name=mode][value=sql]")
    assert tab.run("document.querySelector('textarea[name=sql]').value") == "SELECT edges()\nFROM written"
    tab.fill("textarea[name=sql]", "SELECT edges(), edges(max_degree => 2) AS few FROM written")
    tab.see("Expected error, at most")
    visit.pay()
    answered = [one for spent in curator.history("written") for one in spent["releases"]]
    assert [one["query"].split()[0] for one in answered] == ["edges", "edges"]


def test_what_a_schema_declares_makes_an_estimate(visit, pictures):
    """With a prior in the schema the first quote is an estimate, for the mechanism that then answers."""
    tab, curator = visit.tab, visit.curator
    curator.source("declared")
    schema = SCHEMA.format(name="declared", epsilon=5) + '\n[priors.pay]\nkind = "normal"\nmean = 500\nsd = 160\n'
    curator.call("POST", "/v1/datasets", {"name": "declared", "schema": schema})
    visit.sign_in()
    visit.open("declared")
    tab.see("Estimate", ".basis")
    tab.see("values as the schema declares")
    tab.picture(pictures / "declared-prior.png")
    quoted = tab.run("document.querySelector('.mechanism').textContent")
    visit.pay()
    assert curator.history("declared")[0]["releases"][0]["mechanism"].replace("_", " ") == quoted


def test_a_program_is_run(visit, pictures):
    """Code in the page becomes a job, quoted with its blocks and seconds, and its answer is drawn."""
    tab, name = visit.tab, visit.curator.dataset("coded")
    visit.sign_in(visit.curator.analyst("kim"))
    visit.open(name)
    assert tab.run("document.querySelector('input[name=mode][value=program]')") is None
    tab.click_text("Sign out")
    visit.sign_in(visit.curator.analyst("lin", kinds=["median", "program"]))
    visit.open(name)
    tab.click("input[name=mode][value=program]")
    tab.fill("input[name=blocks]", "4")
    tab.fill("input[name=slot]", "0.3")
    tab.see("4 blocks")
    tab.picture(pictures / "program.png")
    visit.pay()
    tab.see("program middle", "[aria-label=Answer]")
    assert visit.curator.history(name)[0]["question"]["questions"][0]["query"]["name"] == "program"


def test_the_chain_of_entries(visit, pictures, tmp_path):
    """Owners see every entry with its hash and the head, let the server verify it, and save it whole."""
    tab, name = visit.tab, visit.curator.dataset("chained")
    visit.sign_in()
    visit.open(name)
    visit.pay()
    visit.open(name, "spending")
    tab.see("Audit trail")
    for kind in ("register", "charge", "release"):
        tab.see(kind, "main")
    payload = visit.curator.call("GET", "/v1/ledger?dataset=chained")
    tab.see(payload["entries"][-1]["hash"][:12])
    tab.see("Head of the chain")
    tab.click("button[name=verify]")
    tab.see("fit together")
    tab.picture(pictures / "audit-trail.png")
    tab.save_downloads(tmp_path)
    tab.click_text("Save JSON", "section button")
    saved = json.loads(tab.downloaded(tmp_path / "chained-ledger.json"))
    assert [one["hash"] for one in saved["entries"]] == [one["hash"] for one in payload["entries"]]


def test_a_budget_in_delta(visit, pictures):
    """Tokens are given budgets and caps in epsilon and in delta."""
    tab, curator = visit.tab, visit.curator
    name = "spread"
    curator.source(name)
    schema = re.sub(r"epsilon = .*", "epsilon = 5\ndelta = 1e-5", SCHEMA.format(name=name, epsilon=5))
    curator.call("POST", "/v1/datasets", {"name": name, "schema": schema})
    visit.sign_in()
    visit.go("tokens", "Tokens")
    tab.fill("input[name=name]", "mo")
    tab.click_text("Limits", "summary")
    tab.fill("input[name=delta_cap]", "1e-6")
    place = sorted(one["name"] for one in curator.call("GET", "/v1/datasets")["datasets"]).index(name)
    for word, value in (("epsilon", "2"), ("delta", "1e-6")):
        tab.run(
            f"(one => {{ one.value = '{value}'; one.dispatchEvent(new Event('input')) }})"
            f"([...document.querySelectorAll('input[name=own-{word}]')][{place}])"
        )
    tab.picture(pictures / "token-limits.png")
    tab.click_text("Make a token", "form button")
    tab.see("shown this once")
    own = curator.call("GET", f"/v1/datasets/{name}/budget")["analysts"]["mo"]
    assert own["total"] == {"epsilon": 2.0, "delta": pytest.approx(1e-6)}
    tab.see("at most δ")
