// What there is to ask about: all datasets, and what is public about one.

import { api, Problem } from "./api.js";
import { h } from "./dom.js";
import { formatted, slots } from "./format.js";
import { budgetMeter, empty, foldingTable, problemBox } from "./parts.js";
import { canGroup, kindsFor } from "./questions.js";

export async function datasetsView(me) {
  const datasets = await api.datasets();
  const owner = me.role === "owner";
  const add = owner ? h("a", { class: "button", href: "#/register" }, "Register a dataset") : null;
  const head = h("div", { class: "title-row" }, h("h1", {}, "Datasets"), datasets.length ? add : null);
  if (!datasets.length) {
    return [
      head,
      empty(
        "Nothing to ask yet",
        owner
          ? "Register a dataset: a schema that says where it is, which columns may be asked and what may be spent."
          : "No dataset is open to your token. Ask the owner of the data to register one or to widen your token.",
        add,
      ),
    ];
  }
  return [head, h("ul", { class: "grid-cards" }, datasets.map(card))];
}

function card(dataset) {
  if (dataset.problem)
    return h(
      "li",
      {},
      h("div", { class: "card dataset" }, h("h2", {}, dataset.name), problemBox(new Problem(0, dataset.problem))),
    );
  return h(
    "li",
    {},
    h(
      "a",
      { class: "card dataset", href: `#/datasets/${encodeURIComponent(dataset.name)}` },
      h("h2", {}, dataset.name),
      h(
        "p",
        { class: "quiet" },
        [dataset.kind === "graph" ? "graph" : rowsText(dataset.rows), dataset.retired ? "retired" : null, dataset.opened === false ? "not opened yet" : null]
          .filter(Boolean)
          .join(" · "),
      ),
      dataset.budget ? budgetMeter(dataset.budget) : null,
    ),
  );
}

export function rowsText(rows) {
  return typeof rows === "number" ? `${formatted(rows)} rows` : "number of rows private";
}

export function schemaView(dataset) {
  const facts = [
    ["Guarantee", neighboursText(dataset)],
    dataset.kind === "graph"
      ? ["Vertices", formatted(dataset.vertices)]
      : ["Rows", typeof dataset.rows === "number" ? formatted(dataset.rows) : "private"],
    dataset.weighted ? ["Weights", `private, 0 to ${formatted(dataset.cap)}; the edges are public`] : null,
    dataset.unit ? ["One person", `named by ${dataset.unit}; ${limitText(dataset)}`] : null,
    [
      "Answers",
      dataset.answer_seconds
        ? `come ${slots(dataset.answer_seconds)}: a public schedule, whatever the data are`
        : "come as soon as they are ready",
    ],
  ];
  return [
    h(
      "section",
      { class: "card" },
      h("h2", {}, "What is public"),
      h(
        "dl",
        { class: "facts" },
        facts.filter(Boolean).map(([term, text]) => [h("dt", {}, term), h("dd", {}, text)]),
      ),
    ),
    dataset.tables
      ? h(
          "section",
          { class: "card" },
          h("h2", {}, "Tables and links"),
          h(
            "p",
            { class: "hint" },
            "A row is part of the person that its keys lead to, link by link; rows that lead to nobody count nowhere.",
          ),
          tablesTable(dataset),
        )
      : null,
    dataset.columns
      ? h(
          "section",
          { class: "card" },
          h("h2", {}, "Columns"),
          h("p", { class: "hint" }, "Values outside the bounds are clamped to them before anything is computed."),
          columnsTable(dataset),
        )
      : h("section", { class: "card" }, h("h2", {}, "What can be asked"), tags(Object.keys(dataset.kinds ?? {}))),
  ];
}

function neighboursText(dataset) {
  if (dataset.neighbours === "node") return "hides any one vertex with all of its edges";
  if (dataset.kind === "graph")
    return dataset.weighted ? "hides any one edge’s weight" : "hides whether any one edge is there";
  if (dataset.tables) return "hides any one person with all rows in all tables";
  return dataset.unit ? "hides all rows of any one person" : "hides any one row";
}

function limitText(dataset) {
  if (dataset.rows_per_unit === "private")
    return "how much of each counts is found by every answer, privately, and paid for by its loss";
  return `at most ${dataset.rows_per_unit} rows of each are used`;
}

function tablesTable(dataset) {
  return foldingTable(
    "Tables and links",
    ["table", "key", "refers to", "whose rows"],
    Object.entries(dataset.tables).map(([name, table]) => [
      name,
      table.key ?? "–",
      Object.entries(table.links)
        .map(([column, target]) => `${column} → ${target}`)
        .join(", ") || "–",
      table.public ? "public" : name === dataset.person ? "one for each person" : "of the people that keys lead to",
    ]),
  );
}

function columnsTable(dataset) {
  return foldingTable(
    "Columns",
    ["column", "type", "values", "missing values", "can be asked"],
    Object.entries(dataset.columns).map(([name, column]) => [
      name,
      column.type,
      valuesText(column),
      missingText(column, dataset.version),
      tags([...kindsFor(dataset, name), ...(canGroup(column) ? ["group by"] : [])]),
    ]),
  );
}

function valuesText(column) {
  if (column.bounds === "none") return "no bounds";
  if (column.bounds)
    return `${formatted(column.bounds[0])} to ${formatted(column.bounds[1])}${column.step ? `, step ${column.step}` : ""}`;
  if (column.type === "boolean") return "true or false";
  return column.values ? [...column.values, "other"].join(", ") : "private";
}

function missingText(column, version) {
  if (column.type === "category") return "are “other”";
  if (column.nulls === "drop") return "are left out";
  if (column.nulls === undefined && version !== 1)
    return "are left out where the statistic allows it; each answer says so";
  const nulls = column.nulls ?? (column.type === "boolean" ? false : "lower");
  const value = nulls === "lower" ? column.bounds?.[0] : nulls === "upper" ? column.bounds?.[1] : nulls;
  return `count as ${column.type === "boolean" ? value : formatted(value)}`;
}

function tags(names) {
  return h(
    "span",
    { class: "tags" },
    names.map((one) => h("span", { class: "tag" }, one.replaceAll("_", " "))),
  );
}
