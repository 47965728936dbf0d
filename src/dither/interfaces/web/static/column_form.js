// One column of the form that registers a dataset.

import { PRIORS } from "./builder.js";
import { field, fill, h, select } from "./dom.js";
import { decimal, Incomplete } from "./parameters.js";

export const WHY =
  "Bounds are never read off the data: a maximum is one person’s record, and it would stand in public for ever. Name a range that you would have named before seeing any record; values outside are clamped to it.";
const NULLS = [
  ["", "left out where the statistic allows it"],
  ["lower", "count as the lower bound"],
  ["upper", "count as the upper bound"],
];
const USUAL = { whole: "integer", real: "real", decimal: "decimal", boolean: "boolean", date: "date" };

/** One column: not to be asked until a type is chosen for it. */
export function columnRow({ name, stored, types }) {
  const type = select([["", "not to be asked"], ...types.map((one) => [one, one])], "", {
    name: "type",
    "aria-label": `Type of ${name}`,
    "data-column": name,
  });
  const low = decimal("", "bounds", { name: "low", "aria-label": `Lower bound of ${name}`, placeholder: "lower bound" });
  const high = decimal("", "bounds", { name: "high", "aria-label": `Upper bound of ${name}`, placeholder: "upper bound" });
  const values = h("input", {
    name: "values",
    "aria-label": `Values of ${name}`,
    placeholder: "clerk, nurse (empty: private)",
    spellcheck: "false",
  });
  const nulls = select(NULLS, "", { name: "nulls" });
  const format = h("input", { name: "format", spellcheck: "false", placeholder: "1,234.56 or %d.%m.%Y" });
  const prior = select([["", "nothing"], ...Object.entries(PRIORS).map(([key, [text]]) => [key, text])], "", {
    name: "prior",
  });
  const numbers = [decimal("", "prior", { name: "prior-1" }), decimal("", "prior", { name: "prior-2" })];
  const priorFields = h("div", { class: "fields wide" });
  const more = h("div");
  const element = h(
    "div",
    { class: "column-row", role: "group", "aria-label": name },
    h("div", { class: "column-head" }, h("span", { class: "column-name" }, name), h("span", { class: "tag" }, `stored as ${stored}`), type),
    more,
  );
  const isNumber = () => ["real", "integer", "decimal"].includes(type.value);
  const arrangePrior = () =>
    fill(
      priorFields,
      (PRIORS[prior.value] ?? []).slice(1).map(([, label], index) => field(label, numbers[index])),
    );
  const arrange = () => {
    const bounded = type.value && !["category", "boolean"].includes(type.value);
    fill(
      more,
      bounded ? h("div", { class: "bounds-row" }, low, h("span", {}, "to"), high) : null,
      type.value === "category" ? values : null,
      bounded
        ? h(
            "details",
            {},
            h("summary", {}, "Missing values, format, what is publicly known"),
            h(
              "div",
              { class: "fields" },
              field("Missing values", nulls),
              stored === "text" ? field("Written as", format, "Empty: plain decimals, ISO dates.") : null,
              isNumber()
                ? field("The values are roughly", prior, "Public knowledge only: it makes quotes sharper.")
                : null,
              isNumber() ? priorFields : null,
            ),
          )
        : null,
    );
  };
  type.addEventListener("change", arrange);
  prior.addEventListener("change", arrangePrior);
  if (!types.length) type.disabled = true;
  else type.title = USUAL[stored] ? `usually ${USUAL[stored]}` : "";
  return {
    element,
    declared() {
      if (!type.value) return null;
      if (["category", "boolean"].includes(type.value)) {
        const listed = values.value.split(",").map((one) => one.trim()).filter(Boolean);
        return { name, type: type.value, ...(type.value === "category" && listed.length ? { values: listed } : {}) };
      }
      const bounds = [low, high].map((one) => one.value.trim());
      if (bounds.includes("")) throw new Incomplete(`${name}: a lower and an upper bound are needed. ${WHY}`);
      const fields = isNumber() ? (PRIORS[prior.value] ?? []).slice(1) : [];
      const known = fields.map(([key, label], index) => {
        const value = numbers[index].value.trim();
        if (value === "" || !Number.isFinite(Number(value))) throw new Incomplete(`${name}: ${label} is a number.`);
        return [key, value];
      });
      return {
        name,
        type: type.value,
        bounds,
        ...(nulls.value ? { nulls: nulls.value } : {}),
        ...(format.value.trim() ? { format: format.value.trim() } : {}),
        ...(fields.length ? { prior: { kind: prior.value, ...Object.fromEntries(known) } } : {}),
      };
    },
  };
}
