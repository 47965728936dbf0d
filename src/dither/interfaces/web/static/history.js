// What was asked and answered, newest first, and files of it.

import { api } from "./api.js";
import { download, h } from "./dom.js";
import { answersFigure, rowsOf } from "./drawing.js";
import { csv, lossText, when } from "./format.js";
import { empty } from "./parts.js";
import { label } from "./questions.js";

const SHOWN = 20;

export async function historyView(dataset, me) {
  const spends = await api.history(dataset.name);
  const owner = me.role === "owner";
  if (!spends.length) {
    return empty(
      "Nothing was asked yet",
      owner
        ? "Every question and answer of every analyst will be listed here."
        : "Your questions and answers will be listed here.",
      dataset.retired
        ? null
        : h("a", { class: "button", href: `#/datasets/${encodeURIComponent(dataset.name)}` }, "Ask the first question"),
    );
  }
  const newest = [...spends].reverse();
  const list = h(
    "ol",
    { class: "entries" },
    newest.slice(0, SHOWN).map((one) => entry(one, owner, dataset)),
  );
  const more =
    newest.length > SHOWN
      ? h(
          "button",
          {
            type: "button",
            onclick: () => {
              const next = newest
                .slice(list.children.length, list.children.length + SHOWN)
                .map((one) => entry(one, owner, dataset));
              list.append(...next);
              next[0].tabIndex = -1;
              next[0].focus();
              if (list.children.length >= newest.length) more.remove();
            },
          },
          "Show earlier ones",
        )
      : null;
  return h(
    "section",
    { class: "card" },
    h(
      "div",
      { class: "title-row" },
      h("h2", {}, owner ? "All questions and answers" : "Your questions and answers"),
      exportButtons(`${dataset.name}-history`, flattened(spends), spends),
    ),
    list,
    more,
  );
}

function entry(spend, owner, dataset) {
  return h(
    "li",
    { class: "entry" },
    h(
      "p",
      { class: "entry-head" },
      h("span", {}, `#${spend.number} · ${when(spend.at)}${owner && spend.analyst ? ` · ${spend.analyst}` : ""}`),
      h("span", {}, lossText(spend)),
    ),
    spend.releases
      ? answersFigure(spend.releases, dataset)
      : [
          h("p", {}, questionText(spend.question)),
          h(
            "p",
            { class: "notice" },
            "Charged, and not answered: the server stopped, or the source failed, in between. Asking the same again under the same request id is not charged again, unless a number had been drawn: then it says so, and another request id is charged.",
          ),
        ],
  );
}

/** A stored question in a line. */
export function questionText(question) {
  const each = question?.questions ?? (question ? [question] : []);
  return each
    .map((one) => {
      const query = one.query ?? {};
      // Version 0.1.0 stored the name of a class.
      const older = (query.kind ?? "question").replace(/(?<=[a-z])(?=[A-Z])/g, " ");
      const name = (query.name ? label(query.name) : older).toLowerCase();
      const about = [query.column ?? query.columns ?? query.target ?? []].flat().join(", ");
      return `${name}${about ? ` of ${about}` : ""}${one.where ? ` where ${one.where}` : ""}${one.by?.length ? ` by ${one.by.join(", ")}` : ""}`;
    })
    .join("; ");
}

function flattened(spends) {
  return spends.flatMap((spend) =>
    (spend.releases ?? []).map((release) => ({ number: spend.number, at: spend.at, analyst: spend.analyst, release })),
  );
}

/** CSV has one line for each released number; JSON is what the server sent. */
export function exportButtons(name, listed, whole) {
  const lines = () =>
    listed.flatMap(({ release, ...head }) =>
      rowsOf(release).map((row) => ({
        ...head,
        query: release.query,
        ...(release.group ?? {}),
        label: release.labels ? row.label : "",
        value: row.value,
        lower: row.low,
        upper: row.high,
        confidence: release.confidence,
        refused: Boolean(release.refused),
        epsilon: release.epsilon,
        delta: release.delta,
        notes: (release.notes ?? []).join("; "),
      })),
    );
  return h(
    "div",
    { class: "actions" },
    h("button", { type: "button", onclick: () => download(`${name}.csv`, "text/csv", csv(lines())) }, "Save CSV"),
    h(
      "button",
      {
        type: "button",
        onclick: () => download(`${name}.json`, "application/json", `${JSON.stringify(whole, null, 2)}\n`),
      },
      "Save JSON",
    ),
  );
}
