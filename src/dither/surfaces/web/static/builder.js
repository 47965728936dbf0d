// The form that makes a question, out of controls or out of SQL.

import { field, fill, freshId, h, offer, select } from "./dom.js";
import { asSql, canGroup, columnsFor, conditionText, kindGroups, quoted } from "./questions.js";

const CONFIDENCES = [["0.9", "90%"], ["0.95", "95%"], ["0.99", "99%"], ["none", "no bar: all of the price on the answer"]];
const OPERATORS = [["=", "is"], ["<>", "is not"], ["<", "below"], ["<=", "at most"], [">", "above"], [">=", "at least"], ["IS NOT NULL", "is there"], ["IS NULL", "is missing"]];
const PRIORS = {
  lognormal: ["Lognormal", ["median", "Median"], ["sigma", "Standard deviation of the logarithm"]],
  normal: ["Normal", ["mean", "Mean"], ["sd", "Standard deviation"]],
  uniform: ["Uniform", ["low", "Lowest"], ["high", "Highest"]],
  exponential: ["Exponential", ["mean", "Mean"]],
};

/** Something in the form that is not complete yet; said before the server is asked. */
export class Incomplete extends Error {}

/** The form; `question()` is what it says, `onchange` is called whenever that changes. */
export function builder(dataset, me, left, onchange) {
  const graph = dataset.kind === "graph";
  const parts = { conditions: [], mode: "build" };
  const built = graph ? graphControls(dataset, me) : tableControls(dataset, me, parts, changed);
  const sql = h("textarea", { name: "sql", "data-argument": "sql question text", spellcheck: "false", autocapitalize: "off", rows: 6, value: `SELECT \nFROM ${quoted(dataset.name)}` });
  const written = h("pre", { class: "written", "aria-label": "The same in SQL" });
  const body = h("div");
  const paid = payment(me, left);
  const more = graph ? null : moreOptions();
  const modes = graph ? null : modeSwitch();

  function modeSwitch() {
    const one = (value, text) => h("label", { class: "check" }, h("input", { type: "radio", name: "mode", value, checked: value === parts.mode, onchange: () => turnTo(value) }), text);
    return h("fieldset", { class: "field" }, h("legend", { class: "unseen" }, "How to ask"), h("div", { class: "checks" }, one("build", "Build a question"), one("sql", "Write SQL")));
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
    fill(body, mode === "sql" ? sqlControls() : [built.element, graph ? null : written]);
    changed();
  }

  function sqlControls() {
    return [field("SQL", sql, `Functions such as median(c), avg(c), count(*), quantile(c, 0.9), histogram(c); WHERE and GROUP BY. The table is ${quoted(dataset.name)}. No joins, no subqueries.`, { class: "wide" }), h("p")];
  }

  function question() {
    const asked = parts.mode === "sql" ? { sql: written_sql() } : built.question();
    return { ...asked, ...paid.question() };
  }

  function written_sql() {
    if (/^\s*select\s+from\b/i.test(sql.value) || sql.value.trim() === "") throw new Incomplete("Write what to select, for example median(column).");
    return sql.value;
  }

  function changed() {
    if (!graph && parts.mode === "build") {
      try {
        const text = asSql(dataset, built.question());
        written.textContent = text ?? "(SQL has no word for this statistic)";
      } catch (problem) {
        if (!(problem instanceof Incomplete)) throw problem;
        written.textContent = problem.message;
      }
    }
    onchange();
  }

  const form = h("form", { class: "card", novalidate: true, oninput: changed, autocomplete: "off" }, h("h2", {}, "Your question"), modes, h("p"), body, paid.element, more?.element);
  turnTo("build");
  return { form, question, assumptions: () => more?.question() ?? {} };
}

function number(input, name) {
  const value = Number(input.value.trim());
  if (input.value.trim() === "" || !Number.isFinite(value)) throw new Incomplete(`${name}: a number is needed.`);
  return value;
}

function numbers(input, name) {
  const listed = input.value.split(/[\s,;]+/).filter(Boolean).map(Number);
  if (!listed.length || listed.some((one) => !Number.isFinite(one))) throw new Incomplete(`${name}: numbers with commas between them are needed.`);
  return listed;
}

const decimal = (value, argument, attributes = {}) => h("input", { inputmode: "decimal", value, "data-argument": argument, ...attributes });

function graphControls(dataset, me) {
  const kind = select(kindGroups(dataset, me), null, { name: "kind", "data-argument": "query kind" });
  const k = decimal("3", "k", { name: "k" });
  const parameters = h("div", { class: "field" });
  const arrange = () => fill(parameters, ["kstars", "ktriangles", "kcliques"].includes(kind.value) ? field("k", k) : null);
  kind.addEventListener("input", arrange);
  arrange();
  return {
    element: h("div", { class: "fields" }, field("Statistic", kind), parameters),
    question: () => ({ query: { kind: kind.value, ...(parameters.firstChild ? { k: number(k, "k") } : {}) } }),
  };
}

function tableControls(dataset, me, parts, changed) {
  const kind = select(kindGroups(dataset, me), null, { name: "kind", "data-argument": "query kind" });
  const column = select([], null, { name: "column", "data-argument": "column" });
  const columnField = field("Column", column);
  const parameters = h("div", { class: "field wide" });
  const inputs = {
    q: decimal("0.9", "q", { name: "q" }),
    many: decimal("0.25, 0.5, 0.75", "q", { name: "q", inputmode: "text" }),
    trim: decimal("0.1", "trim", { name: "trim" }),
    rank: decimal("1", "rank", { name: "rank" }),
    edges: decimal("", "edges", { name: "edges", inputmode: "text" }),
  };
  const shown = {
    quantile: () => field("Which quantile", inputs.q, "Between 0 and 1: 0.9 is the value that nine in ten do not exceed."),
    quantiles: () => field("Which quantiles", inputs.many, "With commas between them; together they are cheaper than one by one."),
    trimmed_mean: () => field("Trimmed at either end", inputs.trim, "A share of the records: 0.1 leaves out a tenth at each end."),
    order_statistic: () => field("Rank", inputs.rank, "1 is the smallest."),
    histogram: () => (dataset.columns[column.value]?.type === "category" ? null : field("Edges", inputs.edges, "With commas between them, from the lower bound to the upper.")),
  };

  function arrange() {
    const kept = column.value;
    const fitting = columnsFor(dataset, kind.value);
    const options = [...(kind.value === "count" ? [["", "all rows"]] : []), ...fitting.map((one) => [one, one])];
    offer(column, options, options.some(([one]) => one === kept) ? kept : null);
    rearrange();
  }

  function rearrange() {
    const bounds = dataset.columns[column.value]?.bounds;
    if (typeof bounds?.[0] === "number" && inputs.edges.dataset.of !== column.value) {
      inputs.edges.dataset.of = column.value;
      inputs.edges.value = [0, 1, 2, 3, 4].map((one) => Number((bounds[0] + ((bounds[1] - bounds[0]) * one) / 4).toPrecision(6))).join(", ");
    }
    fill(parameters, shown[kind.value]?.() ?? null);
    parameters.hidden = !parameters.firstChild;
  }

  kind.addEventListener("input", arrange);
  column.addEventListener("input", rearrange);
  const keys = Object.entries(dataset.columns).filter(([, one]) => canGroup(one)).map(([name]) => name);
  const boxes = keys.map((name) => h("input", { type: "checkbox", name: "by", value: name, "data-argument": "by" }));
  const filter = filterControls(dataset, parts, changed);
  arrange();

  function query() {
    const asked = { kind: kind.value };
    if (column.value) asked.column = column.value;
    else if (kind.value !== "count") throw new Incomplete("Choose a column.");
    if (kind.value === "quantile") asked.q = number(inputs.q, "Quantile");
    if (kind.value === "quantiles") asked.q = numbers(inputs.many, "Quantiles");
    if (kind.value === "trimmed_mean") asked.trim = number(inputs.trim, "Trimmed");
    if (kind.value === "order_statistic") asked.rank = number(inputs.rank, "Rank");
    if (kind.value === "histogram" && dataset.columns[column.value].type !== "category") asked.edges = numbers(inputs.edges, "Edges");
    return asked;
  }

  return {
    element: h(
      "div",
      { class: "fields" },
      field("Statistic", kind),
      columnField,
      parameters,
      filter.element,
      keys.length
        ? h("fieldset", { class: "field wide" }, h("legend", {}, "For each"), h("div", { class: "checks" }, boxes.map((box) => h("label", { class: "check" }, box, box.value))), h("p", { class: "hint" }, "One answer for every declared value, empty ones too; the price covers all of them."))
        : null,
    ),
    question() {
      const where = filter.text();
      const by = boxes.filter((box) => box.checked).map((box) => box.value);
      return { query: query(), ...(where ? { where } : {}), ...(by.length ? { by } : {}) };
    },
  };
}

function filterControls(dataset, parts, changed) {
  const list = h("div", { "data-argument": "where" });
  const add = h("button", { type: "button", onclick: () => append().focus() }, "Add a condition");

  function append() {
    const row = h("div", { class: "condition", role: "group", "aria-label": `Condition ${parts.conditions.length + 1}` });
    const column = select(Object.keys(dataset.columns).map((one) => [one, one]), null, { "aria-label": "Column", name: "where-column" });
    const operator = select([], null, { "aria-label": "Comparison", name: "where-operator" });
    let value = null;
    const remove = h("button", { type: "button", "aria-label": "Remove this condition", onclick: () => {
      parts.conditions.splice(parts.conditions.indexOf(one), 1);
      row.remove();
      add.focus();
      changed();
    } }, "×");
    const arrange = () => {
      const declared = dataset.columns[column.value];
      const words = OPERATORS.filter(([text]) => !["category", "boolean"].includes(declared.type) || ["=", "<>", "IS NULL", "IS NOT NULL"].includes(text));
      offer(operator, words);
      value = valueControl(declared);
      settle();
    };
    const settle = () => {
      value.hidden = operator.value.startsWith("IS");
      fill(row, column, operator, value, remove);
    };
    column.addEventListener("input", arrange);
    operator.addEventListener("input", () => { value.hidden = operator.value.startsWith("IS"); });
    const one = { text: () => conditionText({ column: column.value, operator: operator.value, value: value.value }, dataset.columns[column.value]) };
    parts.conditions.push(one);
    arrange();
    list.append(row);
    changed();
    return column;
  }

  return {
    element: h("fieldset", { class: "field wide" }, h("legend", {}, "Only records where"), list, h("div", {}, add)),
    text() {
      const texts = parts.conditions.map((one) => one.text());
      if (texts.includes(null)) throw new Incomplete("A condition has no value yet.");
      return texts.join(" AND ");
    },
  };
}

function valueControl(declared) {
  const common = { "aria-label": "Value", name: "where-value" };
  if (declared.type === "boolean") return select([["true", "true"], ["false", "false"]], "true", common);
  if (declared.values) return select([...declared.values, "other"].map((one) => [one, one]), null, common);
  return h("input", { ...common, type: declared.type === "date" ? "date" : "text", inputmode: declared.bounds && declared.type !== "date" ? "decimal" : null, value: declared.type === "date" ? declared.bounds[0] : "" });
}

function payment(me, left) {
  const most = Math.min(left?.epsilon || 1, me.epsilon_cap ?? Infinity);
  const start = Number((most / 10).toPrecision(1)) || 0.1;
  const high = Math.log10(Math.max(most, 0.001));
  const epsilon = decimal(String(start), "epsilon", { name: "epsilon" });
  const slider = h("input", { type: "range", min: high - 3, max: high, step: "any", value: Math.log10(start), "aria-label": "Epsilon, coarse" });
  slider.addEventListener("input", () => { epsilon.value = String(Number((10 ** Number(slider.value)).toPrecision(2))); });
  epsilon.addEventListener("input", () => { if (Number(epsilon.value) > 0) slider.value = Math.log10(Number(epsilon.value)); });
  const delta = decimal("0", "delta", { name: "delta" });
  const confidence = select(CONFIDENCES, "0.95", { name: "confidence", "data-argument": "confidence" });
  epsilon.id = freshId("epsilon");
  const hint = h("p", { class: "hint", id: `${epsilon.id}-hint` }, `More epsilon: less noise, less budget left.${me.epsilon_cap ? ` Your token allows at most ${me.epsilon_cap} for one question.` : ""}`);
  epsilon.setAttribute("aria-describedby", hint.id);
  return {
    element: h(
      "div",
      { class: "fields" },
      h("div", { class: "field wide" }, h("label", { for: epsilon.id }, "Epsilon, the whole price"), h("div", { class: "epsilon-row" }, epsilon, slider), hint),
      field("Error bar", confidence),
      field("Delta", delta, "0 unless a question needs it."),
    ),
    question() {
      return { epsilon: number(epsilon, "Epsilon"), delta: number(delta, "Delta"), confidence: confidence.value === "none" ? null : Number(confidence.value) };
    },
  };
}

/** Public knowledge that sharpens the expected error; it goes into the quote and never into the answer. */
function moreOptions() {
  const prior = select([["", "nothing: an upper bound for all data"], ...Object.entries(PRIORS).map(([key, [text]]) => [key, text])], "", { name: "prior", "data-argument": "prior" });
  const rows = decimal("", "rows", { name: "rows", inputmode: "numeric" });
  const inputs = [decimal("", "prior", { name: "prior-1" }), decimal("", "prior", { name: "prior-2" })];
  const slot = h("div", { class: "fields wide" });
  prior.addEventListener("input", () => fill(slot, (PRIORS[prior.value] ?? []).slice(1).map(([, name], index) => field(name, inputs[index]))));
  return {
    element: h(
      "details",
      {},
      h("summary", {}, "What you know already (for a sharper estimate of the error)"),
      h("p", { class: "hint" }, "From public sources only. It changes what the quote expects, never what the answer is."),
      h("div", { class: "fields" }, field("The values are roughly", prior), field("Records in the selection", rows, "Where a filter makes their number private."), slot),
    ),
    question() {
      const fields = (PRIORS[prior.value] ?? []).slice(1).map(([key, name], index) => [key, number(inputs[index], name)]);
      return { ...(prior.value ? { prior: { kind: prior.value, ...Object.fromEntries(fields) } } : {}), ...(rows.value.trim() ? { rows: number(rows, "Records") } : {}) };
    },
  };
}
