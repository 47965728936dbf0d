// Which view is shown: the address after # says so.

import { api, Problem, token } from "./api.js";
import { askView } from "./ask.js";
import { datasetsView, schemaView } from "./datasets.js";
import { announce, field, fill, h } from "./dom.js";
import { historyView } from "./history.js";
import { spendingView } from "./owner.js";
import { problemBox } from "./parts.js";
import { loadQueries } from "./questions.js";
import { registerView } from "./register.js";
import { tokensView } from "./tokens.js";

const main = document.getElementById("main");
let me = null;
let turn = 0;

const TABS = [
  ["", "Ask", askView],
  ["schema", "Schema", schemaView],
  ["history", "History", historyView],
  ["spending", "Spending", spendingView],
];

async function route({ first = false } = {}) {
  const mine = (turn += 1);
  if (!token.get()) return signIn();
  try {
    [me] = await Promise.all([me ?? api.me(), loadQueries()]);
    const [place = "", name = "", tab = ""] = location.hash.replace(/^#\/?/, "").split("/").map(decodeURIComponent);
    frame(place);
    const view = await viewOf(place, name, tab);
    if (mine !== turn) return;
    fill(main, view.parts);
    document.title = `${view.title} · dither`;
  } catch (problem) {
    if (mine !== turn) return;
    if (!(problem instanceof Problem)) throw problem;
    if (problem.status === 401) return signIn(problem);
    fill(main, problemBox(problem), h("p", {}, h("a", { href: "#/" }, "All datasets")));
  }
  if (!first) {
    main.focus();
    scrollTo(0, 0);
  }
}

async function viewOf(place, name, tab) {
  if (place === "datasets" && name) {
    const dataset = await api.dataset(name);
    const tabs = TABS.filter(([key]) => key !== "spending" || me.role === "owner");
    const [, label, view] = tabs.find(([key]) => key === tab) ?? tabs[0];
    return {
      title: `${label}: ${dataset.name}`,
      parts: [datasetHead(dataset, tab, tabs), await view(dataset, me, route)],
    };
  }
  if (place === "register" && me.role === "owner") return { title: "Register", parts: [await registerView()] };
  if (place === "tokens" && me.role === "owner") return { title: "Tokens", parts: [await tokensView(me)] };
  return { title: "Datasets", parts: [await datasetsView(me)] };
}

function datasetHead(dataset, tab, tabs) {
  const base = `#/datasets/${encodeURIComponent(dataset.name)}`;
  return [
    h("p", { class: "crumb" }, h("a", { href: "#/" }, "Datasets")),
    h("h1", {}, dataset.name),
    h(
      "nav",
      { class: "tabs", "aria-label": dataset.name },
      tabs.map(([key, label]) =>
        h("a", { href: key ? `${base}/${key}` : base, "aria-current": key === tab ? "page" : null }, label),
      ),
    ),
    dataset.retired
      ? h("p", { class: "notice" }, "This dataset is retired: it answers no new questions. Its history stays.")
      : null,
  ];
}

function frame(place) {
  const links = [
    ["", "Datasets"],
    ...(me.role === "owner"
      ? [
          ["register", "Register"],
          ["tokens", "Tokens"],
        ]
      : []),
  ];
  const here = place === "datasets" ? "" : place;
  fill(
    document.getElementById("nav"),
    links.map(([key, text]) => h("a", { href: `#/${key}`, "aria-current": key === here ? "page" : null }, text)),
  );
  fill(
    document.getElementById("who"),
    h("span", {}, me.name, me.name === me.role ? null : h("span", { class: "role" }, ` (${me.role})`)),
    h("button", { type: "button", class: "plain", onclick: signOut }, "Sign out"),
  );
}

function signOut() {
  token.forget();
  me = null;
  location.hash = "#/";
  route();
  announce("Signed out; the token is forgotten.");
}

function signIn(problem = null) {
  me = null;
  fill(document.getElementById("nav"));
  fill(document.getElementById("who"));
  document.title = "Sign in · dither";
  const input = h("input", {
    type: "password",
    name: "token",
    autocomplete: "off",
    spellcheck: "false",
    required: true,
    "aria-invalid": problem ? "true" : null,
  });
  const form = h(
    "form",
    {
      onsubmit: (event) => {
        event.preventDefault();
        token.set(input.value.trim());
        route();
      },
    },
    field("Access token", input, "Kept in this tab only, and forgotten when it is closed."),
    h("p", { class: "actions" }, h("button", { class: "main" }, "Sign in")),
  );
  form.classList.add("stack");
  fill(
    main,
    h(
      "div",
      { class: "signin card" },
      h("h1", {}, "Ask without exposing anyone"),
      h(
        "p",
        { class: "quiet" },
        "This server answers statistical questions about people with noise fitted to the data. Every answer spends privacy budget; you see how much before you ask.",
      ),
      problem ? problemBox(problem) : null,
      form,
      h(
        "p",
        { class: "fine" },
        "No token? The owner of the data makes one. An owner’s first token is printed when the server starts for the first time.",
      ),
    ),
  );
  token.forget();
  if (problem) input.focus();
}

document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
addEventListener("hashchange", () => route());
route({ first: true });
