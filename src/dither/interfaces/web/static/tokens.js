// For owners: who may ask, how much, until when.

import { api, Problem } from "./api.js";
import { announce, field, fill, h, select } from "./dom.js";
import { small, when } from "./format.js";
import { foldingTable, guarded, showProblem } from "./parts.js";
import { label, queryNames } from "./questions.js";

const DAY = 86_400;
const LIVES = [
  ["", "never"],
  [String(DAY), "in a day"],
  [String(7 * DAY), "in a week"],
  [String(30 * DAY), "in 30 days"],
  [String(365 * DAY), "in a year"],
];

export async function tokensView() {
  const datasets = (await api.datasets()).filter((one) => !one.retired);
  const list = h("div");
  const slot = h("div");
  const refresh = async () => fill(list, await tokensTable(refresh, slot));
  await refresh();
  return [
    h("h1", {}, "Tokens"),
    h("p", { class: "lead" }, "Whoever has a token may ask in its name. The server keeps only a hash of it."),
    slot,
    h(
      "div",
      { class: "two" },
      h("section", { class: "card" }, h("h2", {}, "Given out"), list),
      createForm(datasets, slot, refresh),
    ),
  ];
}

async function tokensTable(refresh, slot) {
  const tokens = await api.tokens();
  const order = [...tokens.filter((one) => !one.revoked), ...tokens.filter((one) => one.revoked)];
  const rows = order.map((one) => [
    one.name,
    one.role,
    limits(one),
    one.expires ? when(one.expires) : "never",
    one.revoked
      ? h("span", { class: "quiet" }, "revoked")
      : guarded("Revoke…", `Revoke ${one.name}’s`, async () => {
          try {
            await api.revoke(one.id);
            await refresh();
            announce(`The token of ${one.name} is revoked.`);
          } catch (problem) {
            if (!(problem instanceof Problem)) throw problem;
            showProblem(slot, problem);
          }
        }),
  ]);
  return foldingTable("Tokens", ["name", "role", "limits", "expires", "state"], rows);
}

function limits(one) {
  const limits = [];
  if (one.epsilon_cap !== null && one.epsilon_cap !== undefined)
    limits.push(`at most ε ${small(one.epsilon_cap)} a question`);
  if (one.delta_cap !== null && one.delta_cap !== undefined) limits.push(`at most δ ${small(one.delta_cap)} a question`);
  if (one.kinds) limits.push(`only ${one.kinds.map((kind) => label(kind).toLowerCase()).join(", ")}`);
  if (one.datasets) limits.push(`sees ${one.datasets.join(", ") || "nothing"}`);
  return limits.length ? limits.join("; ") : "none";
}

function createForm(datasets, slot, refresh) {
  const name = h("input", {
    name: "name",
    required: true,
    autocomplete: "off",
    spellcheck: "false",
    "data-argument": "name",
  });
  const role = select(
    [
      ["analyst", "analyst: asks"],
      ["owner", "owner: registers, sees everything, makes tokens"],
    ],
    "analyst",
    { name: "role", "data-argument": "role" },
  );
  const life = select(LIVES, String(30 * DAY), { name: "expires_in", "data-argument": "expires_in" });
  const cap = h("input", { name: "epsilon_cap", inputmode: "decimal", "data-argument": "epsilon_cap" });
  const box = (group, value, text) =>
    h("label", { class: "check" }, h("input", { type: "checkbox", name: group, value }), text);
  const deltaCap = h("input", { name: "delta_cap", inputmode: "decimal", "data-argument": "delta_cap" });
  const amount = (word) => h("input", { inputmode: "decimal", "data-argument": "budgets", name: `own-${word}` });
  const budgets = datasets.map((one) => [one.name, amount("epsilon"), amount("delta")]);
  const limited = h(
    "details",
    {},
    h("summary", {}, "Limits"),
    h(
      "div",
      { class: "fields" },
      field("Most epsilon for one question", cap, "Empty: no cap."),
      field("Most delta for one question", deltaCap, "Empty: no cap."),
      datasets.length
        ? h(
            "fieldset",
            { class: "field wide" },
            h("legend", {}, "Datasets that it may see"),
            h("p", { class: "hint" }, "None ticked: all."),
            h(
              "div",
              { class: "checks" },
              datasets.map((one) => box("datasets", one.name, one.name)),
            ),
          )
        : null,
      h(
        "fieldset",
        { class: "field wide" },
        h("legend", {}, "Kinds of question"),
        h("p", { class: "hint" }, "None ticked: all but programs, which run code of the analyst’s in sandboxes."),
        h(
          "div",
          { class: "checks" },
          queryNames().map((kind) => box("kinds", kind, label(kind))),
        ),
      ),
      budgets.map(([dataset, epsilon, delta]) => [
        field(`Own epsilon for ${dataset}`, epsilon, "Empty: no limit but the dataset’s."),
        field(`Own delta for ${dataset}`, delta, "With an own epsilon; empty: 0."),
      ]),
    ),
  );
  const submit = h("button", { class: "main" }, "Make a token");
  const problems = h("div");
  const form = h(
    "form",
    { class: "card", autocomplete: "off" },
    h("h2", {}, "Make a token"),
    h(
      "div",
      { class: "fields" },
      field("Name", name, "Whose charges these are in the ledger.", { class: "wide" }),
      field("Role", role),
      field("Expires", life),
    ),
    limited,
    problems,
    h("div", { class: "actions" }, submit),
  );
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    submit.disabled = true;
    try {
      const ticked = (group) => [...form.querySelectorAll(`input[name=${group}]:checked`)].map((one) => one.value);
      const given = budgets
        .filter(([, epsilon]) => epsilon.value.trim())
        .map(([dataset, epsilon, delta]) => [dataset, { epsilon: Number(epsilon.value), delta: Number(delta.value) }]);
      const made = await api.createToken({
        name: name.value.trim(),
        role: role.value,
        ...(life.value ? { expires_in: Number(life.value) } : {}),
        ...(cap.value.trim() ? { epsilon_cap: Number(cap.value) } : {}),
        ...(deltaCap.value.trim() ? { delta_cap: Number(deltaCap.value) } : {}),
        ...(ticked("kinds").length ? { kinds: ticked("kinds") } : {}),
        ...(ticked("datasets").length ? { datasets: ticked("datasets") } : {}),
        ...(given.length ? { budgets: Object.fromEntries(given) } : {}),
      });
      fill(problems);
      form.reset();
      showOnce(slot, made);
      await refresh();
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem;
      showProblem(problems, problem, form);
    } finally {
      submit.disabled = false;
    }
  });
  return form;
}

function showOnce(slot, made) {
  const secret = h("code", { class: "secret" }, made.token);
  const box = h(
    "section",
    { class: "notice", tabindex: -1, "aria-label": "The new token" },
    h("h2", {}, `The token of ${made.name}`),
    h("p", {}, "It is shown this once: hand it over now. Lost ones are revoked and made anew."),
    secret,
    h(
      "div",
      { class: "actions" },
      navigator.clipboard
        ? h(
            "button",
            {
              type: "button",
              onclick: async (event) => {
                const pressed = event.currentTarget;
                await navigator.clipboard.writeText(made.token);
                pressed.textContent = "Copied";
              },
            },
            "Copy",
          )
        : null,
      h("button", { type: "button", class: "plain", onclick: () => fill(slot) }, "Done, hide it"),
    ),
  );
  fill(slot, box);
  box.focus();
}
