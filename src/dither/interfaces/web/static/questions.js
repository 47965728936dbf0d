// Which questions fit which column, and how a question reads in SQL. The server has the last word.

import { position } from "./format.js";

const NUMBERS = ["real", "integer", "decimal"];
const ORDERED = [...NUMBERS, "date"];

/** Kind: its name, the columns it takes, its name in SQL. */
export const KINDS = {
  median: { label: "Median", takes: ORDERED, sql: "median", group: "Middle" },
  mean: { label: "Mean", takes: [...ORDERED, "boolean"], sql: "avg", group: "Middle" },
  trimmed_mean: { label: "Trimmed mean", takes: ORDERED, sql: "trimmed_mean", group: "Middle" },
  count: { label: "Count", takes: ["boolean"], sql: "count", group: "Amount" },
  sum: { label: "Sum", takes: [...NUMBERS, "boolean"], sql: "sum", group: "Amount" },
  histogram: { label: "Histogram", takes: [...NUMBERS, "category"], sql: "histogram", group: "Distribution" },
  quantile: { label: "Quantile", takes: ORDERED, sql: "quantile", group: "Distribution" },
  quantiles: { label: "Several quantiles", takes: ORDERED, sql: "quantiles", group: "Distribution" },
  minimum: { label: "Minimum", takes: ORDERED, sql: "min", group: "Distribution" },
  maximum: { label: "Maximum", takes: ORDERED, sql: "max", group: "Distribution" },
  order_statistic: { label: "Value of a rank", takes: ORDERED, group: "Distribution" },
  variance: { label: "Variance", takes: NUMBERS, sql: "var_pop", group: "Spread" },
  iqr: { label: "Interquartile range", takes: ORDERED, sql: "iqr", group: "Spread" },
  edges: { label: "Edges", graph: true, group: "Graph" },
  triangles: { label: "Triangles", graph: true, group: "Graph" },
  kstars: { label: "k-stars", graph: true, group: "Graph" },
  ktriangles: { label: "k-triangles", graph: true, group: "Graph" },
  kcliques: { label: "k-cliques", graph: true, group: "Graph" },
  min_cut: { label: "Minimum cut", graph: true, group: "Graph" },
  mst_cost: { label: "Spanning tree cost", graph: true, group: "Graph" },
  program: { label: "Program", takes: [], group: "Own code" }, // a mode of its own, not a statistic of a column
};

const LARGEST_KEYS = 1000; // more groups than anyone would read; SQL can still ask for them

export function label(kind) {
  return KINDS[kind]?.label ?? kind.replaceAll("_", " ");
}

/** The kinds that a dataset and a token allow, in groups for a select. */
export function kindGroups(dataset, me) {
  const offered = Object.keys(dataset.kinds ?? {}).filter((kind) => !me.kinds || me.kinds.includes(kind));
  const fitting = offered.filter(
    (kind) => dataset.kind === "graph" || kind === "count" || columnsFor(dataset, kind).length,
  );
  const known = Object.keys(KINDS).filter((kind) => fitting.includes(kind));
  const order = [...known, ...fitting.filter((kind) => !KINDS[kind])];
  const groups = new Map();
  for (const kind of order) {
    const group = KINDS[kind]?.group ?? "Other";
    groups.set(group, [...(groups.get(group) ?? []), [kind, label(kind)]]);
  }
  return [...groups].map(([group, options]) => ({ label: group, options }));
}

export function columnsFor(dataset, kind) {
  return Object.entries(dataset.columns ?? {})
    .filter(
      ([, column]) =>
        !KINDS[kind] ||
        (KINDS[kind].takes?.includes(column.type) &&
          !(kind === "histogram" && column.type === "category" && !column.values)),
    )
    .map(([name]) => name);
}

/** Kinds that can be asked about a column. */
export function kindsFor(dataset, name) {
  return Object.keys(KINDS).filter((kind) => kind in (dataset.kinds ?? {}) && columnsFor(dataset, kind).includes(name));
}

export function canGroup(column) {
  if (column.type === "integer")
    return (
      column.bounds && (!column.step || Number(column.step) === 1) && column.bounds[1] - column.bounds[0] < LARGEST_KEYS
    );
  if (column.type === "date") return position(column.bounds[1]) - position(column.bounds[0]) < LARGEST_KEYS;
  return ["category", "boolean"].includes(column.type);
}

/** A column's name as SQL and filters write it. */
export function quoted(name) {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`;
}

/** One condition as text; null while it is not complete. */
export function conditionText({ column, operator, value }, declared) {
  if (operator.startsWith("IS")) return `${quoted(column)} ${operator}`;
  if (value.trim() === "") return null;
  if (declared.type === "boolean") return `${quoted(column)} ${operator} ${value.toUpperCase()}`;
  const plain = NUMBERS.includes(declared.type) && /^\s*-?\d+(\.\d+)?\s*$/.test(value);
  return `${quoted(column)} ${operator} ${plain ? value.trim() : `'${value.replaceAll("'", "''")}'`}`;
}

/** The same question in SQL, or null where SQL has no word for it. */
export function asSql(dataset, { query, where, by }) {
  const word = KINDS[query.kind]?.sql;
  if (!word) return null;
  const about = query.column ? quoted(query.column) : null;
  const more = { quantile: query.q, quantiles: query.q, trimmed_mean: query.trim, histogram: query.edges }[query.kind];
  let call = `${word}(${[about, ...[more ?? []].flat()].join(", ")})`;
  if (query.kind === "count") call = about ? `count_if(${about})` : "count(*)";
  return [
    `SELECT ${[...(by ?? []).map(quoted), call].join(", ")}`,
    `FROM ${quoted(dataset.name)}`,
    where ? `WHERE ${where}` : null,
    by?.length ? `GROUP BY ${by.map(quoted).join(", ")}` : null,
  ]
    .filter(Boolean)
    .join("\n");
}
