"""The page for everybody: by keyboard alone, on a phone, in light and in dark, read aloud."""

import re

import pytest

pytestmark = pytest.mark.slow

VIEWS = ("", "schema", "history", "spending")
PLACES = (("register", "Register"), ("tokens", "Tokens"), ("", "Datasets"))
LEAST_CONTRAST = 4.5
"""WCAG 2.2, 1.4.3: of text against what is behind it."""
LEAST_TARGET = 24
"""WCAG 2.2, 2.5.8: the least side of what can be pressed, in CSS pixels."""


def test_a_question_is_asked_by_keyboard_alone(visit, pictures):
    """From the token to the answer with Tab, arrows, Space and Enter; the focus can be seen at every step."""
    tab, name = visit.tab, visit.curator.dataset("keys")
    tab.go(visit.curator.address)
    tab.see("Access token")
    tab.key("Tab")
    assert tab.run("document.activeElement.className") == "skip"
    tab.key("Enter")
    assert tab.run("document.activeElement.id") == "main"
    tab.tab_to("input[name=token]")
    tab.type(visit.curator.analyst("helen", datasets=[name]))
    tab.key("Enter")
    tab.see("Datasets", "h1")
    assert tab.run("document.activeElement.id") == "main"
    tab.tab_to("a.dataset")
    tab.key("Enter")
    tab.see("Your question")
    tab.tab_to("select[name=kind]")
    tab.key("ArrowDown")
    tab.see("avg(pay)", ".written")
    tab.tab_to("input[name=by][value=job]")
    tab.key("Space")
    tab.see("GROUP BY job", ".written")
    tab.tab_to("input[name=epsilon]")
    tab.run("document.activeElement.select()")
    tab.type("0.5")
    tab.key("Enter")
    tab.until("document.querySelector('button[name=ask]').innerText === 'Spend ε 0.5 and ask'")
    tab.tab_to("button[name=ask]")
    tab.picture(pictures / "keyboard.png")
    tab.key("Enter")
    tab.see("Save CSV", "[aria-label=Answer]")
    assert tab.run("document.activeElement.getAttribute('aria-label')") == "Answer"
    assert tab.run("document.getElementById('status').innerText").startswith("Answer: clerk ")


@pytest.mark.parametrize("visit", [{"width": 375, "height": 720}], indirect=True)
def test_the_page_fits_a_phone(visit, pictures):
    """Nothing sticks out at 375 pixels, and what can be pressed is large enough for a finger."""
    tab, curator = visit.tab, visit.curator
    name = curator.dataset("phone")
    curator.call("POST", f"/v1/datasets/{name}/releases", {"sql": f"SELECT median(pay) FROM {name}", "epsilon": 0.5})
    visit.sign_in()
    tab.see("Datasets", "h1")
    for view in VIEWS:
        visit.open(name, view)
        if not view:
            tab.see("ε 0.9", ".loss")
        _fits(tab)
        tab.picture(pictures / f"phone-{view or 'ask'}.png")
    visit.open(name)
    tab.click("input[name=by][value=job]")
    visit.pay()
    _fits(tab)
    tab.picture(pictures / "phone-answer.png")
    for place, title in PLACES:
        visit.go(place, title)
        _fits(tab)
        tab.picture(pictures / f"phone-{title.lower()}.png")


def _fits(tab):
    assert tab.run("document.documentElement.scrollWidth") <= 375
    small = tab.run(
        "[...document.querySelectorAll('button, select, input, .tabs a, #nav a, summary')]"
        ".filter(one => one.checkVisibility())"
        ".map(one => [one, (one.closest('.check') ?? one).getBoundingClientRect()])"
        f".filter(([, box]) => Math.min(box.width, box.height) < {LEAST_TARGET}).map(([one]) => one.outerHTML)"
    )
    assert small == []
    boxes = tab.run(
        "[...document.querySelectorAll('input[type=checkbox], input[type=radio]')].filter(one => one.checkVisibility())"
        ".map(one => one.getBoundingClientRect().width)"
    )
    assert all(width >= LEAST_TARGET for width in boxes)


@pytest.mark.parametrize("visit", [{"dark": False}, {"dark": True}], ids=["light", "dark"], indirect=True)
def test_text_can_be_read_in_light_and_in_dark(visit, pictures, request):
    """Every text of every view stands out from what is behind it."""
    tab, curator = visit.tab, visit.curator
    shade = request.node.callspec.id
    name = curator.dataset(f"shade-{shade}")
    curator.call("POST", f"/v1/datasets/{name}/releases", {"query": {"kind": "median", "column": "pay"}, "epsilon": 1})
    visit.sign_in()
    assert (_luminance(tab.run("getComputedStyle(document.documentElement).backgroundColor")) < 0.1) == (
        shade == "dark"
    )
    for view in VIEWS:
        visit.open(name, view)
        if not view:
            visit.pay()
            tab.fill("input[name=epsilon]", "0")
            tab.see("epsilon", ".problem")
        tab.picture(pictures / f"{shade}-{view or 'ask'}.png")
        for text, front, back in tab.run(TEXTS):
            light, dark = sorted((_luminance(front), _luminance(back)), reverse=True)
            assert (light + 0.05) / (dark + 0.05) >= LEAST_CONTRAST, (view, text, front, back)


TEXTS = """(() => {
  const behind = (one) => {
    for (; one; one = one.parentElement) {
      const colour = getComputedStyle(one).backgroundColor;
      if (colour !== "rgba(0, 0, 0, 0)") return colour;
    }
    return "rgb(255, 255, 255)";
  };
  const found = new Map();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const parent = walker.currentNode.parentElement;
    const text = walker.currentNode.textContent.trim();
    if (!text || !parent.checkVisibility() || parent.closest(":disabled, noscript, .unseen, option")) continue;
    const drawn = parent.namespaceURI.endsWith("svg");
    const front = drawn ? getComputedStyle(parent).fill : getComputedStyle(parent).color;
    found.set(front + behind(parent), [text, front, behind(parent)]);
  }
  return [...found.values()];
})()"""


def _luminance(colour: str) -> float:
    """Relative luminance, as WCAG defines it."""
    red, green, blue = (int(one) / 255 for one in re.findall(r"\d+", colour)[:3])
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in (red, green, blue)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_everything_has_a_name_for_screen_readers(visit):
    """No control without a label, no picture without words, one heading of the first level, live regions for news."""
    tab, curator = visit.tab, visit.curator
    name = curator.dataset("named")
    curator.call("POST", f"/v1/datasets/{name}/releases", {"query": {"kind": "median", "column": "pay"}, "epsilon": 1})
    visit.sign_in()
    tab.see("Datasets", "h1")
    visits = [lambda place=place, title=title: visit.go(place, title) for place, title in PLACES]
    visits += [lambda view=view: visit.open(name, view) for view in VIEWS]
    for go in visits:
        go()
        nodes = tab.send("Accessibility.getFullAXTree")["nodes"]
        wanted = {"button", "link", "textbox", "checkbox", "radio", "combobox", "slider", "meter", "image"}
        nameless = [
            one["role"]["value"]
            for one in nodes
            if not one.get("ignored") and one["role"]["value"] in wanted and not one.get("name", {}).get("value")
        ]
        assert nameless == [], tab.run("location.hash")
        assert tab.run("document.querySelectorAll('h1').length") == 1
        assert tab.run("document.getElementById('status').getAttribute('aria-live')") == "polite"
