// Registering a dataset: a form that writes a schema file, or the schema file itself.

import { api, Problem } from "./api.js";
import { columnRow, WHY } from "./column_form.js";
import { announce, field, fill, h, offer, select } from "./dom.js";
import { decimal, Incomplete } from "./parameters.js";
import { codeBox, showProblem } from "./parts.js";
import { graphText, tableText } from "./schema_text.js";

const OTHER = "\u0000other"; // no file has this name
const DELIMITERS = [
  ["", "by the first line"],
  [",", "comma"],
  [";", "semicolon"],
  ["\t", "tab"],
  ["|", "bar"],
];
export async function registerView() {
  const files = await api.sources().catch((problem) => {
    if (!(problem instanceof Problem)) throw problem;
    return { files: [], complete: true };
  });
  const state = { mode: "form" };
  const slot = h("div");
  const name = h("input", {
    name: "name",
    "data-argument": "name dataset",
    required: true,
    autocomplete: "off",
    spellcheck: "false",
  });
  const wait = h("input", { name: "answer_seconds", inputmode: "decimal", "data-argument": "answer_seconds" });
  const form = schemaForm(files, (stem) => {
    if (!name.value || name.dataset.drafted === name.value) name.value = name.dataset.drafted = stem;
  });
  const text = textForm((stem) => (name.value ||= stem));
  const body = h("div");
  const submit = h("button", { class: "main" }, "Register");

  const turnTo = (mode) => {
    if (mode === "text" && state.mode === "form") text.start(form.draft());
    state.mode = mode;
    fill(slot);
    fill(body, mode === "form" ? form.element : text.element);
  };
  const one = (value, label) =>
    h(
      "label",
      { class: "check" },
      h("input", {
        type: "radio",
        name: "how",
        value,
        checked: value === state.mode,
        onchange: () => turnTo(value),
      }),
      label,
    );

  const card = h(
    "form",
    {
      class: "card",
      novalidate: true,
      oninput: () => form.changed(),
      onsubmit: async (event) => {
        event.preventDefault();
        submit.disabled = true;
        try {
          const seconds = wait.value.trim();
          const made = await api.register({
            name: name.value.trim(),
            schema: state.mode === "form" ? form.text() : text.value(),
            ...(seconds ? { answer_seconds: Number(seconds) } : {}),
          });
          announce(`${made.name} is registered.`);
          location.hash = `#/datasets/${encodeURIComponent(made.name)}/schema`;
        } catch (problem) {
          if (problem instanceof Incomplete) fill(slot, h("p", { class: "notice", role: "alert" }, problem.message));
          else if (problem instanceof Problem) showProblem(slot, problem, card);
          else throw problem;
          slot.scrollIntoView({ block: "nearest" });
        } finally {
          submit.disabled = false;
        }
      },
    },
    h(
      "fieldset",
      { class: "field" },
      h("legend", { class: "unseen" }, "How to register"),
      h("div", { class: "checks" }, one("form", "Fill in a form"), one("text", "Write a schema file")),
    ),
    h("p"),
    body,
    h("hr"),
    h(
      "div",
      { class: "fields" },
      field("Name of the dataset", name, "In addresses, in SQL and in the ledger."),
      field(
        "Seconds until an answer",
        wait,
        "Every answer waits this long, so that its time says nothing about the data. Empty: the server’s default.",
      ),
    ),
    slot,
    h("div", { class: "actions" }, submit),
  );
  turnTo("form");
  return [
    h("h1", {}, "Register a dataset"),
    h(
      "p",
      { class: "lead" },
      "You declare what is public: where the data are, which columns may be asked and between which bounds, who counts as a person, and how much may be spent in all. No record is read until somebody asks.",
    ),
    card,
  ];
}

/** The form; `text()` is the schema file that it writes, or an Incomplete that says what is missing. */
function schemaForm({ files, complete }, named) {
  const source = select(
    [
      ["", files.length ? "choose a file" : "no file lies in the data folder"],
      ...files.map((one) => [one, one]),
      [OTHER, "another: a path, or an address of a database"],
    ],
    "",
    { name: "source", "data-argument": "source" },
  );
  const address = h("input", { name: "address", "data-argument": "source", spellcheck: "false", autocomplete: "off" });
  const addressField = field("Path or address", address, "postgresql://${DITHER_SOURCE_USER}@host/base, or a path below the data folder.");
  const table = h("input", { name: "table", "data-argument": "table", spellcheck: "false", autocomplete: "off" });
  const delimiter = select(DELIMITERS, "", { name: "delimiter", "data-argument": "delimiter" });
  const skipped = decimal("0", "skip_lines", { name: "skip_lines", inputmode: "numeric" });
  const encoding = h("input", { name: "encoding", value: "utf-8", "data-argument": "encoding", spellcheck: "false" });
  const look = h("button", { type: "button", name: "look", onclick: () => show() }, "List the columns");
  const found = h("div", { "aria-live": "polite" });
  const rest = h("div", { hidden: true });
  const written = codeBox("TOML");
  const about = select(
    [
      ["table", "a table: rows about people"],
      ["graph", "a graph: each row is an edge between two vertices"],
    ],
    "table",
    { name: "about" },
  );
  let columns = [];
  let known = null; // the place that the columns on show are of

  const place = () => {
    const lines = Number(skipped.value);
    return {
      source: source.value === OTHER ? address.value.trim() : source.value,
      ...(table.value.trim() ? { table: table.value.trim() } : {}),
      ...(delimiter.value ? { delimiter: delimiter.value } : {}),
      ...(lines ? { skip_lines: lines } : {}),
      ...(encoding.value.trim() && encoding.value.trim() !== "utf-8" ? { encoding: encoding.value.trim() } : {}),
    };
  };
  async function show() {
    const asked = place();
    if (!asked.source) return fill(found, h("p", { class: "notice" }, "Choose a file first."));
    look.disabled = true;
    try {
      const { columns: listed } = await api.columns(asked);
      if (JSON.stringify(asked) !== JSON.stringify(place())) return; // another was chosen meanwhile
      known = JSON.stringify(asked);
      columns = listed.map((one) => columnRow(one));
      named(stem(asked.source));
      arrange(listed);
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem;
      known = null;
      rest.hidden = true;
      showProblem(found, problem, element);
    } finally {
      look.disabled = false;
    }
  }

  const unit = select([], null, { name: "unit", "data-argument": "unit" });
  const perPerson = decimal("", "rows_per_unit", { name: "rows_per_unit" });
  const perPersonField = field(
    "Most rows of one person",
    perPerson,
    "A number such as 10: at most 10 rows of each person are used, and the others are not counted. Or write private: each answer finds a limit and pays for it.",
  );
  const rows = decimal("", "rows", { name: "rows", inputmode: "numeric" });
  const vertices = decimal("", "vertices", { name: "vertices", inputmode: "numeric" });
  const ends = [select([], null, { name: "end-1", "data-argument": "ends" }), select([], null, { name: "end-2", "data-argument": "ends" })];
  const whose = select(
    [
      ["edge", "each edge by itself"],
      ["node", "a vertex with all of its edges"],
    ],
    "edge",
    { name: "neighbours", "data-argument": "neighbours" },
  );
  const epsilon = decimal("1", "epsilon budget", { name: "epsilon" });
  const delta = decimal("0", "delta", { name: "delta" });
  const people = h("div");
  const listed = h("div");

  function arrange(stored) {
    const names = stored.map((one) => [one.name, one.name]);
    offer(unit, [["", "every row is another person"], ...names], "");
    ends.forEach((end, index) => offer(end, names, names[index]?.[0] ?? null));
    const alone = stored.length === 1;
    fill(
      found,
      h("p", { class: "hint" }, `${stored.length} column${alone ? "" : "s"}. Only their names and stored types were looked at.`),
      alone
        ? h("p", { class: "hint" }, "A single column? If the file has lines before its names, or other signs between fields, say so above, under “text files of other layouts”, and list them again.")
        : null,
    );
    rest.hidden = false;
    turn();
  }

  function turn() {
    const graph = about.value === "graph";
    fill(
      listed,
      graph
        ? null
        : [
            h("h3", {}, "Which columns may be asked?"),
            h("p", { class: "hint" }, WHY),
            h("div", { class: "column-rows" }, columns.map((one) => one.element)),
          ],
    );
    fill(
      people,
      h("h3", {}, graph ? "What does the graph say?" : "Who counts as a person?"),
      h(
        "div",
        { class: "fields" },
        graph
          ? [
              field("Vertices", vertices, "Their public number; they are numbered from 0."),
              field("Protect", whose),
              field("First end of an edge", ends[0]),
              field("Second end of an edge", ends[1]),
            ]
          : [
              field("People are told apart by", unit, "If somebody may have several rows, name the column that says whose they are; otherwise only single rows are protected."),
              perPersonField,
              field("Number of rows, if anybody may know it", rows, "Empty: it is private too, which costs some accuracy."),
            ],
      ),
    );
    changed();
  }

  function changed() {
    addressField.hidden = source.value !== OTHER;
    perPersonField.hidden = unit.value === "";
    if (rest.hidden) return;
    if (known !== JSON.stringify(place())) {
      rest.hidden = true;
      fill(found);
      return;
    }
    try {
      written.show(text(), true);
    } catch (problem) {
      if (!(problem instanceof Incomplete)) throw problem;
      written.show(problem.message, false);
    }
  }

  function text() {
    if (known === null || known !== JSON.stringify(place())) throw new Incomplete("Choose a file, and list its columns.");
    const budget = { epsilon: epsilon.value.trim(), delta: delta.value.trim() };
    if (!(Number(budget.epsilon) > 0)) throw new Incomplete("Budget: epsilon is a number above 0.");
    if (about.value === "graph")
      return graphText({ place: place(), budget, vertices: vertices.value.trim(), ends: ends.map((one) => one.value), whose: whose.value });
    const declared = columns.map((one) => one.declared()).filter(Boolean);
    if (!declared.length) throw new Incomplete("Choose a type for at least one column that may be asked.");
    return tableText({
      place: place(),
      budget,
      declared,
      rows: rows.value.trim(),
      unit: unit.value,
      perPerson: perPerson.value.trim(),
    });
  }

  source.addEventListener("change", () => {
    changed();
    if (source.value && source.value !== OTHER) show();
  });
  about.addEventListener("change", turn);
  const element = h(
    "div",
    {},
    h("h3", {}, "Where are the data?"),
    h(
      "div",
      { class: "fields" },
      field(
        "File",
        source,
        `A file of the server’s data folder${complete ? "" : " (there are more than are listed)"}. Owners alone see this list.`,
      ),
      addressField,
      field("It is", about),
    ),
    h(
      "details",
      {},
      h("summary", {}, "Tables of databases, and text files of other layouts"),
      h(
        "div",
        { class: "fields" },
        field("Table", table, "Of a database; empty for other files."),
        field("Separated by", delimiter),
        field("Lines before the one that names the columns", skipped),
        field("Encoding", encoding),
      ),
    ),
    h("div", { class: "actions" }, look),
    found,
    fill(
      rest,
      listed,
      people,
      h("h3", {}, "How much may be learnt in all?"),
      h(
        "div",
        { class: "fields" },
        field("Budget: epsilon", epsilon, "For all answers together, for ever. 1 is a common choice."),
        field("Budget: delta", delta, "0, or far below one over the number of people."),
      ),
      h("details", { class: "codes" }, h("summary", {}, "The schema file that this writes"), written.element),
    ),
  );
  changed();
  return {
    element,
    text,
    changed,
    draft() {
      try {
        return text();
      } catch (problem) {
        if (!(problem instanceof Incomplete)) throw problem;
        return null;
      }
    },
  };
}

function textForm(named) {
  const schema = h("textarea", {
    name: "schema",
    class: "long",
    "data-argument": "schema text",
    spellcheck: "false",
    autocapitalize: "off",
  });
  const file = h("input", {
    type: "file",
    accept: ".toml,text/plain",
    onchange: async () => {
      if (!file.files.length) return;
      schema.value = await file.files[0].text();
      named(file.files[0].name.replace(/\.toml$/, ""));
      announce("The file was read into the text.");
    },
  });
  return {
    element: h(
      "div",
      { class: "fields" },
      field("A schema file from this computer", file, "TOML, read into the text below.", { class: "wide" }),
      field("Schema", schema, `Columns that are not declared cannot be asked. ${WHY}`, { class: "wide" }),
    ),
    start(draft) {
      if (draft !== null || !schema.value.trim()) schema.value = draft ?? EXAMPLE;
    },
    value: () => schema.value,
  };
}

const EXAMPLE = `version = 2

[dataset]
source = "pay.parquet"        # a path or address on the server
rows = "private"              # or the public number of rows

[budget]
epsilon = 1.0

[columns.total_pay]
type = "real"
bounds = [0, 600000]

[columns.job]
type = "category"
values = ["clerk", "nurse"]
`;

/** A name for a dataset, from that of its file. */
function stem(source) {
  return (source.split("/").pop() ?? "").replace(/\..*$/, "").replace(/[^A-Za-z0-9_-]/g, "_").replace(/^-+/, "").slice(0, 64);
}
