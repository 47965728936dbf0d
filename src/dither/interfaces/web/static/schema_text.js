// The schema files that the form writes: TOML, of texts that are quoted and numbers that were looked at.

/** A text in TOML: JSON escapes what TOML escapes, except for DEL. */
const quoted = (text) => JSON.stringify(text).replaceAll("\x7f", "\\u007f");

/** A key: quoted unless it is a bare one. */
const key = (name) => (/^[A-Za-z0-9_-]+$/.test(name) ? name : quoted(name));

/** A number or a date as it was typed; anything else is a text, which the server refuses with its reason. */
function plain(text) {
  if (/^[+-]?\d{4}-\d\d-\d\d$/.test(text)) return text;
  const number = text.replace(/^\+/, "").replace(/(?<=\d)_(?=\d)/g, "");
  return /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(number) ? number : quoted(text);
}

function head(place, budget) {
  return [
    "version = 2",
    "",
    "[dataset]",
    ...Object.entries(place).map(([name, value]) => `${name} = ${typeof value === "number" ? value : quoted(value)}`),
    (more) => more,
    "",
    "[budget]",
    `epsilon = ${plain(budget.epsilon)}`,
    ...(Number(budget.delta) ? [`delta = ${plain(budget.delta)}`] : []),
  ];
}

const joined = (lines, more) => `${lines.flatMap((line) => (typeof line === "function" ? line(more) : [line])).join("\n")}\n`;

/** The schema of a table. */
export function tableText({ place, budget, declared, rows, unit, perPerson }) {
  const lines = head(place, budget);
  for (const { name, type, bounds, values, nulls, format } of declared) {
    lines.push("", `[columns.${key(name)}]`, `type = ${quoted(type)}`);
    if (bounds) lines.push(`bounds = [${bounds.map(plain).join(", ")}]`);
    if (values) lines.push(`values = [${values.map(quoted).join(", ")}]`);
    if (nulls) lines.push(`nulls = ${quoted(nulls)}`);
    if (format) lines.push(`format = ${quoted(format)}`);
  }
  for (const { name, prior } of declared.filter((one) => one.prior)) {
    const { kind, ...numbers } = prior;
    lines.push("", `[priors.${key(name)}]`, `kind = ${quoted(kind)}`);
    lines.push(...Object.entries(numbers).map(([parameter, value]) => `${parameter} = ${plain(value)}`));
  }
  return joined(lines, [
    `rows = ${rows ? plain(rows) : quoted("private")}`,
    ...(unit ? [`unit = ${quoted(unit)}`, `rows_per_unit = ${plain(perPerson)}`] : []),
  ]);
}

/** The schema of a graph. */
export function graphText({ place, budget, vertices, ends, whose }) {
  const lines = [
    ...head({ source: place.source, ...(place.table ? { table: place.table } : {}) }, budget),
    "",
    "[graph]",
    `vertices = ${plain(vertices)}`,
    `ends = [${ends.map(quoted).join(", ")}]`,
    ...(whose === "edge" ? [] : [`neighbours = ${quoted(whose)}`]),
  ];
  return joined(lines, []);
}
