// The controls for a query's own fields, as the server describes them.

import { field, fill, h, select } from "./dom.js";
import { columnsFor, fieldsOf } from "./questions.js";

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

/** Controls for all fields but the column; what was typed stays when another query is looked at meanwhile. */
export function parameterControls(dataset) {
  const element = h("div", { class: "fields wide" });
  const known = new Map();
  let visible = [];

  function show(kind, column) {
    visible = fieldsOf(kind)
      .filter((one) => one.name !== "column")
      .filter((one) => one.type !== "edges" || dataset.columns?.[column]?.type !== "category")
      .map((one) => {
        const key = `${kind} ${one.name} ${one.type === "edges" ? column : ""}`;
        if (!known.has(key)) known.set(key, control(one, dataset, kind, column));
        return { one, ...known.get(key) };
      });
    fill(
      element,
      visible.map((each) => each.element),
    );
    element.hidden = !visible.length;
  }

  /** What the fields say, without what is the default anyway. */
  function given() {
    const said = {};
    for (const { one, value } of visible) {
      const here = value();
      if (here === null) {
        if (one.required) throw new Incomplete(`${one.label}: this is needed.`);
      } else if (here !== one.default) said[one.name] = here;
    }
    return said;
  }

  return { element, show, given };
}

function control(one, dataset, kind, column) {
  const start = one.default ?? one.example;
  const common = { name: one.name, "data-argument": one.name };
  if (one.type === "columns") return columnBoxes(one, columnsFor(dataset, kind), common);
  if (one.type === "column") {
    const chosen = select(
      columnsFor(dataset, kind).map((name) => [name, name]),
      null,
      common,
    );
    return { element: field(one.label, chosen, one.help || null), value: () => chosen.value || null };
  }
  if (one.type === "flag") {
    const box = h("input", { type: "checkbox", checked: start === true, ...common });
    return { element: h("label", { class: "check" }, box, one.label), value: () => box.checked };
  }
  if (one.choices) {
    const chosen = select(
      one.choices.map((name) => [name, name]),
      start,
      common,
    );
    return { element: field(one.label, chosen, one.help || null), value: () => chosen.value };
  }
  const several = ["numbers", "edges"].includes(one.type);
  const first = one.type === "edges" ? quarters(dataset.columns?.[column]?.bounds) : start;
  const input = decimal([first ?? []].flat().join(", "), one.name, {
    name: one.name,
    ...(several ? { inputmode: "text" } : {}),
  });
  const read = several ? numbers : one.type === "text" ? (from) => from.value.trim() : number;
  return {
    element: field(one.label, input, one.help || null, { class: several ? "wide" : "" }),
    value: () => (input.value.trim() === "" && !one.required && one.type !== "edges" ? null : read(input, one.label)),
  };
}

function columnBoxes(one, names, common) {
  const boxes = names.map((name) => h("input", { type: "checkbox", value: name, ...common }));
  return {
    element: h(
      "fieldset",
      { class: "field wide" },
      h("legend", {}, one.label),
      h(
        "div",
        { class: "checks" },
        boxes.map((box) => h("label", { class: "check" }, box, box.value)),
      ),
      one.help ? h("p", { class: "hint" }, one.help) : null,
    ),
    value: () => {
      const chosen = boxes.filter((box) => box.checked).map((box) => box.value);
      return chosen.length ? chosen : null;
    },
  };
}

/** Edges that a histogram starts with. */
function quarters(bounds) {
  if (typeof bounds?.[0] !== "number") return null;
  return [0, 1, 2, 3, 4].map((one) => Number((bounds[0] + ((bounds[1] - bounds[0]) * one) / 4).toPrecision(6)));
}
