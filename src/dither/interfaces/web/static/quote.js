// What a question costs and how far its answer will be off, before it is paid for.

import { h } from "./dom.js";
import { formatted, lossText, percent, seconds, slots } from "./format.js";
import { shareOfLeft } from "./parts.js";

const BASES = {
  estimate: ["Estimate", "if the values are as stated"],
  "upper bound": ["Upper bound", "for all data; the error is usually smaller"],
  exact: ["Exact", "for all data"],
};

export function quoteParts(payload, dataset, left) {
  return [
    h("p", { class: "loss" }, payload.epsilon === 0 && !payload.delta ? "Free" : lossText(payload)),
    h(
      "p",
      { class: payload.epsilon > (left?.epsilon ?? 0) ? "over" : "quiet" },
      payload.stored
        ? "This question was answered before: the stored answer is given."
        : payload.epsilon === 0
          ? "Nothing is spent."
          : shareOfLeft(payload.epsilon, left?.epsilon ?? 0),
    ),
    payload.stored ? null : (payload.quotes ?? []).map((one) => oneQuote(one, payload.quotes.length > 1)),
    dataset.answer_seconds
      ? h("p", { class: "fine" }, `The answer comes ${slots(dueSeconds(payload, dataset))}: a public schedule, whatever the data are.`)
      : null,
  ];
}

/** When an answer is due: the dataset's slot, and what programs take by their own public plan. */
export function dueSeconds(payload, dataset) {
  return (payload.quotes ?? []).reduce((sum, one) => sum + (one.seconds ?? 0), dataset.answer_seconds ?? 0);
}

function oneQuote(quote, several) {
  const [name, meaning] = BASES[quote.kind] ?? [quote.kind ?? "Expected", ""];
  const known = quote.expected_error !== null && quote.expected_error !== undefined;
  const within = quote.bound !== null && quote.bound !== undefined;
  const groups =
    quote.groups === null ? "each group" : quote.groups > 1 ? `each of ${formatted(quote.groups)} groups` : null;
  return h(
    "div",
    { class: "quoted" },
    several ? h("h3", {}, quote.query) : null,
    h(
      "dl",
      { class: "facts" },
      quote.typical_error
        ? [
            h("dt", {}, "Typical error"),
            h("dd", { class: "typical" }, typicalText(quote.typical_error), groups ? ` in ${groups}` : null),
          ]
        : null,
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
        ? [h("dt", {}, "Interval, about"), h("dd", {}, errors(quote.bar, quote.labels))]
        : null,
      quote.floor !== undefined
        ? [
            h("dt", {}, "Floor"),
            h("dd", {}, `± ${rough(quote.floor)}: no private answer expects less on such data and on their neighbours`),
          ]
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
        ? [h("dt", {}, "Runs on"), h("dd", {}, `${formatted(quote.blocks)} blocks, ${seconds(quote.seconds)} in all`)]
        : null,
    ),
    quote.kind === "upper bound" && !quote.attained
      ? h(
          "p",
          { class: "fine" },
          "For an estimate instead, say below your question what is publicly known about the values.",
        )
      : null,
    h(
      "details",
      { class: "terms" },
      h("summary", {}, "Technical details"),
      h(
        "dl",
        { class: "facts" },
        h("dt", {}, "Mechanism"),
        h("dd", { class: "mechanism" }, quote.mechanism.replaceAll("_", " ")),
        quote.noise && quote.noise !== "none"
          ? [h("dt", {}, "Noise"), h("dd", {}, quote.noise.replaceAll("_", " "))]
          : null,
        h("dt", {}, "Privacy loss"),
        h("dd", {}, lossText(quote)),
      ),
    ),
    quote.assumptions?.length ? h("p", { class: "fine" }, `${quote.derived_from === undefined ? "Assumed: " : ""}${quote.assumptions.join("; ")}.`) : null,
  );
}

/** Privacy loss and error in a few words, for small screens. */
export function glance(payload) {
  if (payload.stored || payload.epsilon === 0) return "Free";
  const [only, ...others] = payload.quotes ?? [];
  if (others.length || typeof only?.expected_error !== "number") return lossText(payload);
  if (only.typical_error) return `${lossText(payload)} · about ${typicalText(only.typical_error)}`;
  return `${lossText(payload)} · ± ${rough(only.expected_error)}${only.kind === "upper bound" ? " at most" : ""}`;
}

/** Over standard public shapes of values within the bounds, from the best of them to the worst. */
function typicalText([low, high]) {
  return low === high ? `± ${rough(low)}` : `± ${rough(low)} to ± ${rough(high)}`;
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
  return formatted(typeof value === "number" ? Number(value.toPrecision(3)) : value);
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
