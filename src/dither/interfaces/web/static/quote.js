// What a question costs and how far its answer will be off, before it is paid for.

import { h } from "./dom.js";
import { percent, price, seconds, shown, slots } from "./format.js";
import { shareOfLeft } from "./parts.js";

const BASES = {
  estimate: ["Estimate", "if the values are as you said they are"],
  "upper bound": ["Upper bound", "for all data; the error is usually smaller"],
  exact: ["Exact", "for all data"],
};

export function quoteParts(told, dataset, left) {
  return [
    h("p", { class: "price" }, told.epsilon === 0 && !told.delta ? "Free" : price(told)),
    h(
      "p",
      { class: told.epsilon > (left?.epsilon ?? 0) ? "over" : "quiet" },
      told.epsilon === 0 ? "The answer is public." : shareOfLeft(told.epsilon, left?.epsilon ?? 0),
    ),
    (told.quotes ?? []).map((one) => oneQuote(one, told.quotes.length > 1)),
    dataset.answer_seconds
      ? h("p", { class: "fine" }, `The answer comes ${slots(dueSeconds(told, dataset))}: its time tells nothing.`)
      : null,
  ];
}

/** When an answer is due: the dataset's slot, and what programs take by their own public plan. */
export function dueSeconds(told, dataset) {
  return (told.quotes ?? []).reduce((sum, one) => sum + (one.seconds ?? 0), dataset.answer_seconds ?? 0);
}

function oneQuote(quote, several) {
  const [name, meaning] = BASES[quote.kind] ?? [quote.kind ?? "Expected", ""];
  const known = quote.expected_error !== null && quote.expected_error !== undefined;
  const within = quote.bound !== null && quote.bound !== undefined;
  const groups =
    quote.groups === null ? "each group" : quote.groups > 1 ? `each of ${shown(quote.groups)} groups` : null;
  return h(
    "div",
    { class: "quoted" },
    several ? h("h3", {}, quote.query) : null,
    h(
      "dl",
      { class: "facts" },
      h("dt", {}, quote.kind === "upper bound" ? "Expected error, at most" : "Expected error"),
      h(
        "dd",
        {},
        known ? errors(quote.expected_error, quote.labels) : "not known in advance",
        groups && known ? ` in ${groups}` : null,
      ),
      within
        ? [h("dt", {}, `${percent(quote.confidence ?? 0.95)} within`), h("dd", {}, errors(quote.bound, quote.labels))]
        : null,
      quote.bar !== null && quote.bar !== undefined
        ? [h("dt", {}, "Error bar, about"), h("dd", {}, errors(quote.bar, quote.labels))]
        : null,
      known
        ? [
            h("dt", {}, "This is"),
            h(
              "dd",
              {},
              h("span", { class: `basis ${quote.kind === "upper bound" ? "bound" : ""}` }, name),
              ` ${quote.meaning ? sentence(quote.meaning, name) : meaning}`,
            ),
          ]
        : null,
      quote.blocks
        ? [h("dt", {}, "Runs on"), h("dd", {}, `${shown(quote.blocks)} blocks, ${seconds(quote.seconds)} in all`)]
        : null,
      h("dt", {}, "Mechanism"),
      h(
        "dd",
        {},
        quote.mechanism.replaceAll("_", " "),
        quote.noise && quote.noise !== "none" ? `, ${quote.noise.replaceAll("_", " ")} noise` : null,
      ),
    ),
    quote.kind === "upper bound" && !quote.attained
      ? h(
          "p",
          { class: "fine" },
          "Tell what you know already about the values, below your question, for an estimate instead.",
        )
      : null,
    quote.assumptions?.length ? h("p", { class: "fine" }, `Assumed: ${quote.assumptions.join("; ")}.`) : null,
  );
}

/** Price and error in a few words, for small screens. */
export function glance(told) {
  const [only, ...others] = told.quotes ?? [];
  if (others.length || typeof only?.expected_error !== "number") return price(told);
  return `${price(told)} · ± ${rough(only.expected_error)}${only.kind === "upper bound" ? " at most" : ""}`;
}

/** The server's words without repeating the name that stands before them. */
function sentence(meaning, name) {
  const plain = meaning.replace(/^(an? )?/, "");
  return plain.toLowerCase().startsWith(name.toLowerCase())
    ? plain.slice(name.length).replace(/^[,;: ]+/, "")
    : meaning;
}

/** Three digits are as many as an expectation deserves. */
function rough(value) {
  return shown(typeof value === "number" ? Number(value.toPrecision(3)) : value);
}

function errors(value, labels) {
  if (!Array.isArray(value)) return `± ${rough(value)}`;
  if (new Set(value).size === 1) return `± ${rough(value[0])} each`;
  const few = value
    .slice(0, 5)
    .map((one, index) => `± ${rough(one)}${labels ? ` (${labels[index]})` : ""}`)
    .join(", ");
  return value.length > 5 ? `${few}, …` : few;
}
