// Pieces that several views share.

import { announce, fill, h } from "./dom.js";
import { meter } from "./drawing.js";
import { lossText, percent, small } from "./format.js";

const HEADINGS = {
  "budget-exceeded": "The budget does not cover this",
  unauthenticated: "This token is not accepted",
  forbidden: "Your token does not allow this",
  "invalid-argument": "One of the fields cannot be used",
  "invalid-text": "The text cannot be read",
  "not-applicable": "This does not apply here",
  "not-proved": "No proof of privacy covers this",
  retired: "This dataset answers no new questions",
  "too-many-requests": "Too many requests",
  "unknown-dataset": "There is no such dataset",
  "source-failed": "The data cannot be reached",
  busy: "The server is busy",
  unreachable: "No connection",
};

/** What some refusals mean, where the server's own words are for programs. */
const PLAIN = {
  unauthenticated:
    "The server does not know this token, or it has expired or was revoked. Paste it whole: it begins with “dither_”. The owner of the data can make you a new one.",
};

/** The server's message, with the mark under the place where it has one. */
export function problemBox(problem) {
  const lines = (PLAIN[problem.code] ?? problem.message).split("\n");
  const mark = lines.findIndex((line) => /^\s*\^+\s*$/.test(line));
  const said = (some) => (some.length ? h("p", {}, some.join(" ")) : null);
  const body =
    mark < 1
      ? said(lines)
      : [
          said(lines.slice(0, mark - 1)),
          h("pre", { tabindex: 0, "aria-label": "The place" }, lines.slice(mark - 1, mark + 1).join("\n")),
          said(lines.slice(mark + 1)),
        ];
  return h(
    "div",
    { class: "problem", role: "alert" },
    h("h3", {}, HEADINGS[problem.code] ?? "That did not work"),
    body,
  );
}

/** Show a problem in its slot and mark the control that it is about. */
export function showProblem(slot, problem, form = null) {
  fill(slot, problemBox(problem));
  const marked = slot.querySelector("pre");
  if (marked) {
    const [line, mark] = marked.textContent.split("\n");
    marked.scrollLeft =
      (mark.indexOf("^") / Math.max(line.length, mark.length)) * marked.scrollWidth - marked.clientWidth / 2;
  }
  clearMarks(form);
  const control = problem.argument && form?.querySelector(`[data-argument~="${CSS.escape(problem.argument)}"]`);
  if (control) control.setAttribute("aria-invalid", "true");
  if (problem.place && control instanceof HTMLTextAreaElement) {
    slot.firstChild.append(
      h("button", { type: "button", class: "plain", onclick: () => select(control, problem.place) }, "Show the place"),
    );
  }
  return control;
}

export function clearMarks(form) {
  form?.querySelectorAll("[aria-invalid]").forEach((one) => one.removeAttribute("aria-invalid"));
}

function select(area, { line, column, width }) {
  const before = area.value
    .split("\n")
    .slice(0, line - 1)
    .reduce((sum, one) => sum + one.length + 1, 0);
  area.focus();
  area.setSelectionRange(before + column - 1, before + column - 1 + width);
}

/** Budget left, as a line and a bar; `planned` is what the question at hand would add. */
export function budgetMeter(budget, planned = 0, title = "Budget") {
  const { total, left } = budget;
  // Filters other than the basic one admit more small losses than add up to the budget: what counts is how much fits.
  const used = budget.filter !== "basic" ? total.epsilon - left.epsilon : budget.spent.epsilon;
  return h(
    "div",
    { class: "budget" },
    h(
      "p",
      { class: "meter-line" },
      h("span", {}, `${title}: `, h("b", {}, `${lossText(left)} left`)),
      h("span", { class: "quiet" }, `of ${lossText(total)}`),
    ),
    meter(`${title}: ε ${small(used)} of ${small(total.epsilon)} spent`, used, total.epsilon, planned),
  );
}

export function shareOfLeft(epsilon, left) {
  if (!(left > 0)) return "nothing is left";
  return epsilon > left ? "more than is left" : `${percent(epsilon / left)} of what is left`;
}

export function empty(title, text, ...more) {
  return h("div", { class: "card empty" }, h("h2", {}, title), h("p", {}, text), ...more);
}

/** A button that does one thing at a time and says so. */
export function button(text, work, attributes = {}) {
  const one = h("button", { type: "button", ...attributes }, text);
  one.addEventListener("click", async () => {
    one.disabled = true;
    try {
      await work(one);
    } finally {
      one.disabled = false;
    }
  });
  return one;
}

/** A step that cannot be undone takes two presses. */
export function guarded(text, sure, work, style = "danger") {
  const slot = h("span", { class: "actions" });
  const ask = () => {
    const yes = button(sure, work, { class: style });
    const no = h("button", { type: "button", class: "plain", onclick: () => rest().focus() }, "Keep it");
    fill(slot, yes, no);
    no.focus();
    announce(`${sure}? Press again to confirm.`);
  };
  const rest = () => {
    const first = h("button", { type: "button", class: style, onclick: ask }, text);
    fill(slot, first);
    return first;
  };
  rest();
  return slot;
}

/** A table whose rows fold into blocks on a phone. */
export function foldingTable(caption, heads, rows) {
  return h(
    "table",
    { class: "folding" },
    h("caption", { class: "unseen" }, caption),
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        heads.map((head) => h("th", { scope: "col" }, head)),
      ),
    ),
    h(
      "tbody",
      {},
      rows.map((cells) =>
        h(
          "tr",
          {},
          cells.map((cell, index) =>
            index ? h("td", { "data-label": heads[index] }, cell) : h("th", { scope: "row" }, cell),
          ),
        ),
      ),
    ),
  );
}

/** Code with a button that copies it; where the browser does not allow that, it is selected instead. */
export function codeBox(title) {
  const text = h("pre", { class: "written", tabindex: 0, "aria-label": `The same in ${title}` });
  const copy = h(
    "button",
    {
      type: "button",
      class: "plain copy",
      "aria-label": `Copy the ${title}`,
      onclick: async () => {
        try {
          await navigator.clipboard.writeText(text.textContent);
          announce(`The ${title} was copied.`);
          copy.textContent = "Copied";
          setTimeout(() => (copy.textContent = "Copy"), 1500);
        } catch {
          getSelection().selectAllChildren(text);
          announce("Selected: press Ctrl+C to copy.");
        }
      },
    },
    "Copy",
  );
  return {
    element: h("div", { class: "code" }, h("div", { class: "code-head" }, h("span", {}, title), copy), text),
    show(code, ready) {
      text.textContent = code;
      copy.hidden = !ready;
    },
  };
}
