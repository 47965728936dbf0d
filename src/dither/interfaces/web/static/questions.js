// Which queries there are, which fit which column, and how a question reads in SQL: all from the server's own list.

import { api } from "./api.js";
import { position } from "./format.js";

const NUMBERS = ["real", "integer", "decimal"];

const LARGEST_KEYS = 1000; // more groups than anyone would read; SQL can still ask for them
let queries = new Map();

/** Ask the server, once, which queries there are: their names, labels, fields, columns and forms in SQL. */
export async function loadQueries() {
  if (!queries.size) queries = new Map((await api.queries()).map((one) => [one.name, one]));
}

/** One query as the server describes it. */
export const queryOf = (name) => queries.get(name);

/** The names of all queries, in the order of the menu. */
export const queryNames = () => [...queries.keys()];

/** How answers to a question are drawn, and what they are of: by what their query begins with. */
export function pictureOf(text) {
  // A statement may have given it a name: "middle (median of pay)".
  for (const plain of [text, text.match(/^[^()]* \((.*)\)$/)?.[1] ?? text]) {
    const entry = [...queries.values()].find(({ noun }) => plain === noun || plain.startsWith(`${noun} `));
    if (entry) return { picture: entry.picture, about: plain.slice(entry.noun.length).replace(/^ of /, "") };
  }
  return { picture: "intervals", about: "" };
}

export function label(name) {
  return queries.get(name)?.label ?? name.replaceAll("_", " ");
}

/** The fields that a form shows: what the schema or a public rule decides is left to SQL, HTTP and Python. */
export const fieldsOf = (name) => (queries.get(name)?.fields ?? []).filter((one) => !one.advanced);

/** The queries that a dataset and a token allow, in groups for a select; programs are a mode of their own. */
export function kindGroups(dataset, me) {
  const groups = new Map();
  for (const [name, one] of queries) {
    if (!(name in (dataset.kinds ?? {})) || (me.kinds && !me.kinds.includes(name))) continue;
    if (one.fields.some((field) => field.type === "source")) continue;
    const needsColumn = one.fields.some((field) => field.required && field.type === "column");
    const reads = one.fields.some((field) => ["column", "columns"].includes(field.type));
    if (reads && (needsColumn || one.of !== "column") && !columnsFor(dataset, name).length) continue;
    groups.set(one.group, [...(groups.get(one.group) ?? []), [name, one.label]]);
  }
  return [...groups].map(([group, options]) => ({ label: group, options }));
}

/** The columns that a query can be asked about. */
export function columnsFor(dataset, name) {
  const types = queries.get(name)?.columns ?? [];
  return Object.entries(dataset.columns ?? {})
    .filter(([, column]) => types.includes(column.type))
    .map(([column]) => column);
}

/** The queries that can be asked about a column. */
export function kindsFor(dataset, column) {
  return queryNames().filter(
    (name) =>
      name in (dataset.kinds ?? {}) &&
      fieldsOf(name).some((field) => ["column", "columns"].includes(field.type)) &&
      columnsFor(dataset, name).includes(column),
  );
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
  const entry = queries.get(query.kind);
  const call = (entry?.sql ?? []).map((form) => callOf(dataset, query, entry, form)).find((one) => one !== null);
  if (!call) return null;
  return [
    `SELECT ${[...(by ?? []).map(quoted), call].join(", ")}`,
    `FROM ${quoted(dataset.name)}`,
    where ? `WHERE ${where}` : null,
    by?.length ? `GROUP BY ${by.map(quoted).join(", ")}` : null,
  ]
    .filter(Boolean)
    .join("\n");
}

/** A call of one SQL function, or null where it can't say what the query says: columns, numbers, fields by name. */
function callOf(dataset, { kind, ...given }, entry, form) {
  if (form.within || form.star !== (entry.of === "column" && given.column === undefined)) return null;
  const defaults = Object.fromEntries(entry.fields.map((one) => [one.name, one.default]));
  for (const [name, value] of Object.entries(form.fixed)) {
    if ((given[name] ?? defaults[name]) !== value) return null;
    delete given[name];
  }
  const words = form.star ? ["*"] : [];
  for (const name of form.star ? [] : entry.named) {
    const all = name === "columns" ? columnsFor(dataset, kind) : []; // in SQL they are named
    words.push(...[given[name] ?? all].flat().map(quoted));
    delete given[name];
  }
  for (const [, name, times] of form.arguments.matchAll(/(\w+)([?+*]|\[\])?/g)) {
    const value = given[name];
    delete given[name];
    if (value === undefined && ["?", "*"].includes(times)) continue;
    if (value === undefined || (Array.isArray(value) && !["+", "*", "[]"].includes(times))) return null;
    const listed = [value].flat().map((one) => (typeof one === "string" ? quoted(one) : one));
    words.push(times === "[]" ? `[${listed.join(", ")}]` : listed.join(", "));
  }
  if (Object.values(given).some((one) => typeof one !== "number")) return null;
  words.push(...Object.entries(given).map(([name, value]) => `${name} => ${value}`));
  return `${form.function}(${words.join(", ")})`;
}

/** The same question as a program in Python that asks this server. */
export function asPython(dataset, question) {
  const { query, sql, epsilon, delta, where, by, confidence, simultaneous, mechanism } = question;
  const options = [
    `epsilon=${epsilon}`,
    delta ? `delta=${delta}` : null,
    where ? `where=${literal(where)}` : null,
    by?.length ? `by=${literal(by)}` : null,
    simultaneous ? `confidence=dt.Simultaneous(${confidence})` : confidence === 0.95 ? null : `confidence=${literal(confidence)}`,
    mechanism ? `mechanism=${literal(mechanism)}` : null,
  ].filter(Boolean);
  const call = sql === undefined ? objectOf(query) : /["\\]/.test(sql) ? literal(sql) : `"""${sql}"""`;
  if (call === null) return null;
  return [
    "import os",
    "import dither as dt",
    "",
    `session = dt.connect(${literal(location.origin)}, token=os.environ["DITHER_TOKEN"], dataset=${literal(dataset.name)})`,
    `print(session.${sql === undefined ? "ask" : "sql"}(${[call, ...options].join(", ")}))`,
  ].join("\n");
}

/** A query as Python makes it, its columns first. */
function objectOf({ kind, ...given }) {
  const entry = queries.get(kind);
  if (!entry || entry.fields.some((field) => field.type === "source")) return null;
  const [first] = entry.fields.map((field) => field.name);
  const words = Object.entries(given).map(([name, value]) =>
    name === first && entry.named.includes(name) ? [0, literal(value)] : [1, `${name}=${literal(value)}`],
  );
  return `dt.${entry.class}(${words
    .sort(([one], [other]) => one - other)
    .map(([, text]) => text)
    .join(", ")})`;
}

/** A JSON value as Python writes it. */
function literal(value) {
  if (value === null || value === undefined) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) return `[${value.map(literal).join(", ")}]`;
  return JSON.stringify(value);
}
