// The controls that a question is built of.

import { field, fill, h, offer, select } from "./dom.js";
import { decimal, Incomplete, number, parameterControls } from "./parameters.js";
import { canGroup, columnsFor, conditionText, kindGroups, queryOf } from "./questions.js";

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

/** Which statistic of a graph. */
export function graphControls(dataset, me) {
  const kind = select(kindGroups(dataset, me), null, { name: "kind", "data-argument": "query kind" });
  const parameters = parameterControls(dataset);
  const arrange = () => parameters.show(kind.value);
  kind.addEventListener("input", arrange);
  arrange();
  return {
    element: h("div", { class: "fields" }, field("Statistic", kind), parameters.element),
    question: () => ({ query: { kind: kind.value, ...parameters.given() } }),
  };
}

/** Which statistic of which column, of which records, for which groups. */
export function tableControls(dataset, me, parts, changed) {
  const kind = select(kindGroups(dataset, me), null, { name: "kind", "data-argument": "query kind" });
  const column = select([], null, { name: "column", "data-argument": "column" });
  const columnField = field("Column", column);
  const parameters = parameterControls(dataset);
  const columnOf = () => queryOf(kind.value)?.fields.find((one) => one.name === "column");
  const takes = (selection) => queryOf(kind.value)?.selections.includes(selection) ?? true;
  const whole = h("p", { class: "hint wide", hidden: true });

  /** Columns, and no column where that is a question too; of people's rows it needs a limit that is declared. */
  function columnOptions(about) {
    const fitting = columnsFor(dataset, kind.value).map((one) => [one, one]);
    if (about?.required !== false) return fitting;
    if (!queryOf(kind.value).fields.some((one) => one.name === "limit")) return [["", "all rows"], ...fitting];
    const isLimited = dataset.unit && Number.isInteger(dataset.rows_per_unit);
    return isLimited ? [...fitting, ["", "rows of each person"]] : fitting;
  }

  function arrange() {
    const [kept, about] = [column.value, columnOf()];
    const options = columnOptions(about);
    offer(column, options, options.some(([one]) => one === kept) ? kept : null);
    columnField.hidden = !about;
    filter.element.hidden = !takes("where");
    if (groups) groups.hidden = !takes("by");
    const { selections, instead } = queryOf(kind.value) ?? {};
    whole.hidden = !instead || selections.length > 0;
    fill(whole, instead ? `Asked of all records. Of a selection, or for each group: ${instead}.` : "");
    rearrange();
  }

  function rearrange() {
    parameters.show(kind.value, column.value);
  }

  kind.addEventListener("input", arrange);
  column.addEventListener("input", rearrange);
  const keys = Object.entries(dataset.columns)
    .filter(([, one]) => canGroup(one))
    .map(([name]) => name);
  const boxes = keys.map((name) => h("input", { type: "checkbox", name: "by", value: name, "data-argument": "by" }));
  const filter = filterControls(dataset, parts, changed);
  const groups = keys.length ? groupControls(boxes) : null;
  arrange();

  function query() {
    const about = columnOf();
    if (about?.required && !column.value) throw new Incomplete("Choose a column.");
    return { kind: kind.value, ...(about && column.value ? { column: column.value } : {}), ...parameters.given() };
  }

  return {
    element: h(
      "div",
      { class: "fields" },
      field("Statistic", kind),
      columnField,
      parameters.element,
      whole,
      filter.element,
      groups,
    ),
    question() {
      const where = takes("where") ? filter.text() : "";
      const by = takes("by") ? boxes.filter((box) => box.checked).map((box) => box.value) : [];
      return { query: query(), ...(where ? { where } : {}), ...(by.length ? { by } : {}) };
    },
  };
}

/** One answer for each value of which columns. */
function groupControls(boxes) {
  return h(
    "fieldset",
    { class: "field wide" },
    h("legend", {}, "For each"),
    h(
      "div",
      { class: "checks" },
      boxes.map((box) => h("label", { class: "check" }, box, box.value)),
    ),
    h("p", { class: "hint" }, "One answer for every declared value, empty ones too; the privacy loss covers all of them."),
  );
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
