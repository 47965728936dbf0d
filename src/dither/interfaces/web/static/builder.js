// The form that makes a question, out of controls or out of SQL.

import { graphControls, programControls, tableControls } from "./controls.js";
import { field, fill, freshId, h, select } from "./dom.js";
import { decimal, Incomplete, number } from "./parameters.js";
import { codeBox } from "./parts.js";
import { asPython, asSql, quoted } from "./questions.js";

const CONFIDENCES = [
  ["0.9", "90%"],
  ["0.95", "95%"],
  ["0.99", "99%"],
  ["0.95 at once", "95%, all intervals at once"],
  ["none", "no interval: all of epsilon on the answer"],
];
/** What may be publicly known of a column: the name, and a key and a label for each number. */
export const PRIORS = {
  lognormal: ["Lognormal", ["median", "Median"], ["sigma", "Standard deviation of the logarithm"]],
  normal: ["Normal", ["mean", "Mean"], ["sd", "Standard deviation"]],
  uniform: ["Uniform", ["low", "Lowest"], ["high", "Highest"]],
  exponential: ["Exponential", ["mean", "Mean"]],
};

/** The form; `question()` is what it says, `onchange` is called whenever that changes. */
export function builder(dataset, me, left, onchange) {
  const graph = dataset.kind === "graph";
  const parts = { conditions: [], mode: "build" };
  const runs = !graph && "program" in dataset.kinds;
  const built = graph ? graphControls(dataset, me) : tableControls(dataset, me, parts, changed);
  const coded = runs ? programControls(dataset, changed) : null;
  const sql = h("textarea", {
    name: "sql",
    "data-argument": "sql question text",
    spellcheck: "false",
    autocapitalize: "off",
    rows: 6,
    value: `SELECT \nFROM ${quoted(dataset.name)}`,
  });
  const inSql = codeBox("SQL");
  const inPython = codeBox("Python");
  const written = h(
    "details",
    { class: "codes", open: true },
    h("summary", {}, "The same as code"),
    inSql.element,
    inPython.element,
  );
  const body = h("div");
  const paid = payment(me, left);
  const more = graph ? null : moreOptions();
  const modes = modeSwitch();

  function modeSwitch() {
    const one = (value, text) =>
      h(
        "label",
        { class: "check" },
        h("input", {
          type: "radio",
          name: "mode",
          value,
          checked: value === parts.mode,
          onchange: () => turnTo(value),
        }),
        text,
      );
    return h(
      "fieldset",
      { class: "field" },
      h("legend", { class: "unseen" }, "How to ask"),
      h(
        "div",
        { class: "checks" },
        one("build", "Build a question"),
        one("sql", "Write SQL"),
        runs ? one("program", "Run a program") : null,
      ),
    );
  }

  function turnTo(mode) {
    if (mode === "sql" && parts.mode === "build") {
      try {
        sql.value = asSql(dataset, built.question()) ?? sql.value;
      } catch (problem) {
        if (!(problem instanceof Incomplete)) throw problem;
      }
    }
    parts.mode = mode;
    fill(body, mode === "sql" ? sqlControls() : mode === "program" ? coded.element : built.element);
    changed();
  }

  function sqlControls() {
    return [
      field(
        "SQL",
        sql,
        graph
          ? `Functions such as edges(), triangles(), kstars(2), several with commas between them. The graph is ${quoted(dataset.name)}. No WHERE, no GROUP BY.`
          : `Functions such as median(c), avg(c), count(*), quantile(c, 0.9), histogram(c); WHERE and GROUP BY. The table is ${quoted(dataset.name)}. No joins, no subqueries.`,
        { class: "wide" },
      ),
      h("p"),
    ];
  }

  function question() {
    const asked =
      parts.mode === "sql" ? { sql: sqlText() } : parts.mode === "program" ? coded.question() : built.question();
    return { ...asked, ...paid.question() };
  }

  function sqlText() {
    if (/^\s*select\s+from\b/i.test(sql.value) || sql.value.trim() === "")
      throw new Incomplete(`Write what to select, for example ${graph ? "triangles()" : "median(column)"}.`);
    return sql.value;
  }

  function changed() {
    try {
      write(question());
    } catch (problem) {
      if (!(problem instanceof Incomplete)) throw problem;
      inSql.show(problem.message, false);
      inPython.show(problem.message, false);
    }
    onchange();
  }

  /** Show a question as code to copy. */
  function write(asked) {
    const sqlText = asked.sql ?? asSql(dataset, asked);
    inSql.show(sqlText ?? "SQL has no word for this question.", sqlText !== null);
    const pythonText = asPython(dataset, asked);
    inPython.show(pythonText ?? "See “Bringing a program” in the documentation.", pythonText !== null);
    inSql.element.hidden = parts.mode !== "build";
  }

  const form = h(
    "form",
    { class: "card", novalidate: true, oninput: changed, autocomplete: "off" },
    h("h2", {}, "Your question"),
    modes,
    h("p"),
    body,
    paid.element,
    more?.element,
    written,
  );
  turnTo("build");
  return { form, question, write, assumptions: () => more?.question() ?? {} };
}

function payment(me, left) {
  const most = Math.min(left?.epsilon || 1, me.epsilon_cap ?? Infinity);
  const start = Number((most / 10).toPrecision(1)) || 0.1;
  const high = Math.log10(Math.max(most, 0.001));
  const epsilon = decimal(String(start), "epsilon", { name: "epsilon" });
  const slider = h("input", {
    type: "range",
    min: high - 3,
    max: high,
    step: "any",
    value: Math.log10(start),
    "aria-label": "Epsilon, coarse",
  });
  slider.addEventListener("input", () => {
    epsilon.value = String(Number((10 ** Number(slider.value)).toPrecision(2)));
  });
  epsilon.addEventListener("input", () => {
    if (Number(epsilon.value) > 0) slider.value = Math.log10(Number(epsilon.value));
  });
  const delta = decimal("0", "delta", { name: "delta" });
  const confidence = select(CONFIDENCES, "0.95", { name: "confidence", "data-argument": "confidence" });
  epsilon.id = freshId("epsilon");
  const hint = h(
    "p",
    { class: "hint", id: `${epsilon.id}-hint` },
    `More epsilon: less noise, less budget left.${me.epsilon_cap ? ` Your token allows at most ${me.epsilon_cap} for one question.` : ""}`,
  );
  epsilon.setAttribute("aria-describedby", hint.id);
  return {
    element: h(
      "div",
      { class: "fields" },
      h(
        "div",
        { class: "field wide" },
        h("label", { for: epsilon.id }, "Epsilon, the whole privacy loss"),
        h("div", { class: "epsilon-row" }, epsilon, slider),
        hint,
      ),
      field("Interval", confidence),
      field("Delta", delta, "0 unless a question needs it."),
    ),
    question() {
      return {
        epsilon: number(epsilon, "Epsilon"),
        delta: number(delta, "Delta"),
        confidence: confidence.value === "none" ? null : Number.parseFloat(confidence.value),
        ...(confidence.value.endsWith("at once") ? { simultaneous: true } : {}),
      };
    },
  };
}

/** Public knowledge: it sharpens the expected error and decides which mechanism is asked for. */
function moreOptions() {
  const prior = select(
    [["", "nothing: an upper bound for all data"], ...Object.entries(PRIORS).map(([key, [text]]) => [key, text])],
    "",
    { name: "prior", "data-argument": "prior" },
  );
  const rows = decimal("", "rows", { name: "rows", inputmode: "numeric" });
  const inputs = [decimal("", "prior", { name: "prior-1" }), decimal("", "prior", { name: "prior-2" })];
  const slot = h("div", { class: "fields wide" });
  prior.addEventListener("input", () =>
    fill(
      slot,
      (PRIORS[prior.value] ?? []).slice(1).map(([, name], index) => field(name, inputs[index])),
    ),
  );
  return {
    element: h(
      "details",
      {},
      h("summary", {}, "What you know already (for a sharper estimate of the error)"),
      h(
        "p",
        { class: "hint" },
        "From public sources only: never from the data themselves. It sharpens the quote and decides how the noise is fitted.",
      ),
      h(
        "div",
        { class: "fields" },
        field("The values are roughly", prior),
        field("Records in the selection", rows, "Where a filter makes their number private."),
        slot,
      ),
    ),
    question() {
      const fields = (PRIORS[prior.value] ?? [])
        .slice(1)
        .map(([key, name], index) => [key, number(inputs[index], name)]);
      return {
        ...(prior.value ? { prior: { kind: prior.value, ...Object.fromEntries(fields) } } : {}),
        ...(rows.value.trim() ? { rows: number(rows, "Records") } : {}),
      };
    },
  };
}
