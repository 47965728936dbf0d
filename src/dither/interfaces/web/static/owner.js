// For owners: what was spent and by whom, the audit trail, retirement.

import { api, Problem } from "./api.js";
import { announce, download, field, fill, h } from "./dom.js";
import { spendChart } from "./drawing.js";
import { csv, lossText, when } from "./format.js";
import { questionText } from "./history.js";
import { budgetMeter, button, empty, foldingTable, guarded, showProblem } from "./parts.js";

const TRAIL = 50;

export async function spendingView(dataset, me, refresh) {
  const [budget, spends, ledger] = await Promise.all([
    api.budget(dataset.name),
    api.history(dataset.name),
    api.entries(dataset.name),
  ]);
  return [
    h(
      "section",
      { class: "card" },
      h("h2", {}, "Spent over time"),
      budgetMeter(budget),
      h("p"),
      spends.length
        ? spendChart(spends, budget.total.epsilon)
        : h("p", { class: "quiet" }, "Nothing was spent yet. Make a token for an analyst, or ask a question yourself."),
    ),
    h("section", { class: "card" }, h("h2", {}, "By analyst"), byAnalyst(budget, spends)),
    trail(dataset, spends, ledger),
    dataset.retired ? null : settings(dataset, refresh),
  ];
}

function byAnalyst(budget, spends) {
  const names = [
    ...new Set([...Object.keys(budget.analysts ?? {}), ...spends.map((one) => one.analyst).filter(Boolean)]),
  ];
  if (!names.length)
    return h(
      "p",
      { class: "quiet" },
      "Nobody has asked, and nobody has a budget of their own. Budgets are given with a token.",
    );
  const rows = names.map((name) => {
    const theirs = spends.filter((one) => one.analyst === name);
    const sum = (key) => theirs.reduce((total, one) => total + one[key], 0);
    const own = budget.analysts?.[name];
    return [
      name,
      String(theirs.length),
      lossText({ epsilon: sum("epsilon"), delta: sum("delta") }),
      own ? `${lossText(own.left)} of ${lossText(own.total)}` : "no limit but the dataset’s",
    ];
  });
  return foldingTable("Spent by analyst", ["analyst", "questions", "spent", "own budget left"], rows);
}

function trail(dataset, spends, { entries, head }) {
  if (!entries.length)
    return empty("No entries yet", "Every charge is entered in the ledger before the data are read, and shown here.");
  const newest = [...entries].reverse();
  const asked = new Map(spends.map((one) => [one.number, one]));
  const what = (one) => {
    if (one.kind === "charge") return questionText(one.body.question);
    if (one.kind === "release") return `${one.body.release.failed ? "no" : "an"} answer to #${one.charge}`;
    return { register: "budget set", allow: "own budget", grow: "data have grown", retire: "retired" }[one.kind] ?? "";
  };
  const row = (one) => [
    `#${one.number}`,
    when(one.at),
    one.kind,
    one.analyst ?? "–",
    what(one),
    asked.has(one.number) ? lossText(asked.get(one.number)) : "–",
    h("code", { title: one.hash }, `${one.hash.slice(0, 12)}…`),
  ];
  const heads = ["entry", "at", "kind", "analyst", "what", "loss", "hash"];
  const lines = () =>
    entries.map(({ body, key, ...rest }) => ({ ...rest, what: what({ body, ...rest }), body: JSON.stringify(body) }));
  const checked = h("p", { class: "fine", role: "status" });
  return h(
    "section",
    { class: "card" },
    h(
      "div",
      { class: "title-row" },
      h("h2", {}, "Audit trail"),
      h(
        "div",
        { class: "actions" },
        h(
          "button",
          { type: "button", onclick: () => download(`${dataset.name}-ledger.csv`, "text/csv", csv(lines())) },
          "Save CSV",
        ),
        h(
          "button",
          {
            type: "button",
            onclick: () =>
              download(
                `${dataset.name}-ledger.json`,
                "application/json",
                `${JSON.stringify({ entries, head }, null, 2)}\n`,
              ),
          },
          "Save JSON",
        ),
        h("button", { type: "button", name: "verify", onclick: () => verify(checked) }, "Verify the chain"),
      ),
    ),
    foldingTable("Entries of the ledger, newest first", heads, newest.slice(0, TRAIL).map(row)),
    newest.length > TRAIL
      ? h("p", { class: "fine" }, `The newest ${TRAIL} of ${newest.length}; files have all of them.`)
      : null,
    h(
      "p",
      { class: "fine" },
      "Entries are chained by hashes. Note the head elsewhere from time to time: whoever rewrites the ledger cannot rewrite your note. ",
      `Head of the chain, entry #${head.number}:`,
      h("code", { class: "secret" }, head.hash),
    ),
    checked,
  );
}

/** Let the server recompute the whole ledger. */
async function verify(slot) {
  try {
    const payload = await api.verify();
    fill(
      slot,
      payload.ok
        ? `Verified: all ${payload.entries} entries of the ledger fit together.`
        : `NOT in order: ${payload.problem} (entry ${payload.first_bad ?? "?"}).`,
    );
  } catch (problem) {
    if (!(problem instanceof Problem)) throw problem;
    fill(slot, problem.message);
  }
}

function settings(dataset, refresh) {
  const slot = h("div");
  const seconds = h("input", {
    inputmode: "decimal",
    name: "answer_seconds",
    value: String(dataset.answer_seconds ?? ""),
    "data-argument": "answer_seconds",
  });
  const doing = (work, said) => async () => {
    try {
      await work();
      await refresh();
      announce(said);
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem;
      showProblem(slot, problem, card);
    }
  };
  const card = h(
    "section",
    { class: "card" },
    h("h2", {}, "Settings"),
    slot,
    h(
      "div",
      { class: "fields" },
      field("Seconds until an answer", seconds, "Public; longer than the slowest question."),
    ),
    h(
      "div",
      { class: "actions" },
      button(
        "Save",
        doing(() => api.change(dataset.name, { answer_seconds: Number(seconds.value) }), "Saved."),
      ),
    ),
    h("hr"),
    h(
      "p",
      { class: "quiet" },
      "If the data have grown, stored answers are no longer given out for new questions; the budget stays as it is. " +
        "Where the schema declares a number of rows, correct it in its file first: questions fail, and are charged, while it is another one.",
    ),
    h(
      "div",
      { class: "actions" },
      guarded(
        "The data have grown…",
        "Yes, they have grown",
        doing(() => api.change(dataset.name, { grown: true }), "A new version of the data is noted."),
        "",
      ),
    ),
    h("hr"),
    h("p", { class: "quiet" }, "A retired dataset answers no new questions, for good. Its history stays."),
    h(
      "div",
      { class: "actions" },
      guarded(
        "Retire this dataset…",
        "Retire it for good",
        doing(() => api.retire(dataset.name), "The dataset is retired."),
      ),
    ),
  );
  return card;
}
