// The controls that a question is built of.

import { field, fill, h, offer, select } from "./dom.js";
import { canGroup, columnsFor, conditionText, kindGroups } from "./questions.js";

const OPERATORS = [
  ["=", "is"],
  ["<>", "is not"],
  ["<", "below"],
  ["<=", "at most"],
  [">", "above"],
  [">=", "at least"],
  ["IS NOT NULL", "is there"],
  ["IS NULL", "is missing"],
];

/** Something in the form that is not complete yet; said before the server is asked. */
export class Incomplete extends Error {}

/** The number in a field. */
export function number(input, name) {
  const value = Number(input.value.trim());
  if (input.value.trim() === "" || !Number.isFinite(value)) throw new Incomplete(`${name}: a number is needed.`);
  return value;
}

/** The numbers in a field. */
function numbers(input, name) {
  const listed = input.value
    .split(/[\s,;]+/)
    .filter(Boolean)
    .map(Number);
  if (!listed.length || listed.some((one) => !Number.isFinite(one)))
    throw new Incomplete(`${name}: numbers with commas between them are needed.`);
  return listed;
}

export const decimal = (value, argument, attributes = {}) =>
  h("input", { inputmode: "decimal", value, "data-argument": argument, ...attributes });

/** Which statistic of a graph. */
export function graphControls(dataset, me) {
  const kind = select(kindGroups(dataset, me), null, { name: "kind", "data-argument": "query kind" });
  const k = decimal("3", "k", { name: "k" });
  const parameters = h("div", { class: "field" });
  const arrange = () =>
    fill(parameters, ["kstars", "ktriangles", "kcliques"].includes(kind.value) ? field("k", k) : null);
  kind.addEventListener("input", arrange);
  arrange();
  return {
    element: h("div", { class: "fields" }, field("Statistic", kind), parameters),
    question: () => ({ query: { kind: kind.value, ...(parameters.firstChild ? { k: number(k, "k") } : {}) } }),
  };
}

/** Which statistic of which column, of which records, for which groups. */
export function tableControls(dataset, me, parts, changed) {
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
    quantile: () =>
      field("Which quantile", inputs.q, "Between 0 and 1: 0.9 is the value that nine in ten do not exceed."),
    quantiles: () =>
      field("Which quantiles", inputs.many, "With commas between them; together they are cheaper than one by one."),
    trimmed_mean: () =>
      field("Trimmed at either end", inputs.trim, "A share of the records: 0.1 leaves out a tenth at each end."),
    order_statistic: () => field("Rank", inputs.rank, "1 is the smallest."),
    histogram: () =>
      dataset.columns[column.value]?.type === "category"
        ? null
        : field("Edges", inputs.edges, "With commas between them, from the lower bound to the upper."),
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
      inputs.edges.value = [0, 1, 2, 3, 4]
        .map((one) => Number((bounds[0] + ((bounds[1] - bounds[0]) * one) / 4).toPrecision(6)))
        .join(", ");
    }
    fill(parameters, shown[kind.value]?.() ?? null);
    parameters.hidden = !parameters.firstChild;
  }

  kind.addEventListener("input", arrange);
  column.addEventListener("input", rearrange);
  const keys = Object.entries(dataset.columns)
    .filter(([, one]) => canGroup(one))
    .map(([name]) => name);
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
    if (kind.value === "histogram" && dataset.columns[column.value].type !== "category")
      asked.edges = numbers(inputs.edges, "Edges");
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
        ? h(
            "fieldset",
            { class: "field wide" },
            h("legend", {}, "For each"),
            h(
              "div",
              { class: "checks" },
              boxes.map((box) => h("label", { class: "check" }, box, box.value)),
            ),
            h(
              "p",
              { class: "hint" },
              "One answer for every declared value, empty ones too; the price covers all of them.",
            ),
          )
        : null,
    ),
    question() {
      const where = filter.text();
      const by = boxes.filter((box) => box.checked).map((box) => box.value);
      return { query: query(), ...(where ? { where } : {}), ...(by.length ? { by } : {}) };
    },
  };
}

/** Code of the analyst's own, for blocks of people. */
export function programControls(dataset, changed) {
  const filter = filterControls(dataset, { conditions: [] }, changed);
  const names = Object.keys(dataset.columns);
  const first = names.find((one) => typeof dataset.columns[one].bounds?.[0] === "number") ?? names[0];
  const bounds = dataset.columns[first].bounds ?? [0, 1];
  const source = h("textarea", {
    name: "source",
    "data-argument": "source program",
    spellcheck: "false",
    autocapitalize: "off",
    rows: 8,
    value: `import numpy as np\n\ndef middle(table):\n    return float(np.median(table[${JSON.stringify(first)}].to_numpy()))\n`,
  });
  const name = h("input", { name: "function", value: "middle", "data-argument": "function", spellcheck: "false" });
  const [low, high] = bounds.map((end, place) =>
    decimal(String(end), "bounds", { name: place ? "program-high" : "program-low" }),
  );
  const blocks = decimal("", "blocks", { name: "blocks", inputmode: "numeric" });
  const slot = decimal("1", "slot", { name: "slot" });
  return {
    element: h(
      "div",
      { class: "fields" },
      field(
        "Python",
        source,
        "A function of one block of people: an Arrow table with all columns. It runs in a sandbox on every block; only a private aggregate of its answers is released.",
        { class: "wide" },
      ),
      field("Function", name),
      field("Blocks", blocks, "Empty: a public rule."),
      field("Least answer", low),
      field("Greatest answer", high),
      field("Seconds for each block", slot, "Generous: four times what it takes."),
      filter.element,
    ),
    question() {
      if (!source.value.trim() || !name.value.trim()) throw new Incomplete("Write a function, and name it.");
      const where = filter.text();
      return {
        query: {
          kind: "program",
          source: source.value,
          function: name.value.trim(),
          bounds: [number(low, "Least answer"), number(high, "Greatest answer")],
          slot: number(slot, "Seconds for each block"),
          ...(blocks.value.trim() ? { blocks: number(blocks, "Blocks") } : {}),
        },
        ...(where ? { where } : {}),
      };
    },
  };
}

function filterControls(dataset, parts, changed) {
  const list = h("div", { "data-argument": "where" });
  const add = h("button", { type: "button", onclick: () => append().focus() }, "Add a condition");

  function append() {
    const row = h("div", {
      class: "condition",
      role: "group",
      "aria-label": `Condition ${parts.conditions.length + 1}`,
    });
    const column = select(
      Object.keys(dataset.columns).map((one) => [one, one]),
      null,
      { "aria-label": "Column", name: "where-column" },
    );
    const operator = select([], null, { "aria-label": "Comparison", name: "where-operator" });
    let value = null;
    const remove = h(
      "button",
      {
        type: "button",
        "aria-label": "Remove this condition",
        onclick: () => {
          parts.conditions.splice(parts.conditions.indexOf(one), 1);
          row.remove();
          add.focus();
          changed();
        },
      },
      "×",
    );
    const arrange = () => {
      const declared = dataset.columns[column.value];
      const words = OPERATORS.filter(
        ([text]) =>
          !["category", "boolean"].includes(declared.type) || ["=", "<>", "IS NULL", "IS NOT NULL"].includes(text),
      );
      offer(operator, words);
      value = valueControl(declared);
      settle();
    };
    const settle = () => {
      value.hidden = operator.value.startsWith("IS");
      fill(row, column, operator, value, remove);
    };
    column.addEventListener("input", arrange);
    operator.addEventListener("input", () => {
      value.hidden = operator.value.startsWith("IS");
    });
    const one = {
      text: () =>
        conditionText(
          { column: column.value, operator: operator.value, value: value.value },
          dataset.columns[column.value],
        ),
    };
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
  if (declared.type === "boolean")
    return select(
      [
        ["true", "true"],
        ["false", "false"],
      ],
      "true",
      common,
    );
  if (declared.values)
    return select(
      [...declared.values, "other"].map((one) => [one, one]),
      null,
      common,
    );
  return h("input", {
    ...common,
    type: declared.type === "date" ? "date" : "text",
    inputmode: declared.bounds && declared.type !== "date" ? "decimal" : null,
    value: declared.type === "date" ? declared.bounds[0] : "",
  });
}
