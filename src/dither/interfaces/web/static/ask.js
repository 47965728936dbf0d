// Asking: the question, its privacy loss and expected error, the answer.

import { api, Problem, requestId } from "./api.js";
import { builder } from "./builder.js";
import { announce, fill, freshId, h } from "./dom.js";
import { answersFigure, rowsOf } from "./drawing.js";
import { formatted, lossText, percent, seconds, small } from "./format.js";
import { exportButtons } from "./history.js";
import { budgetMeter, clearMarks, empty, showProblem } from "./parts.js";
import { Incomplete } from "./parameters.js";
import { dueSeconds, glance, quoteParts } from "./quote.js";

const PAUSE = 450; // milliseconds without a change until the quote is asked for
const PATIENT = 3; // seconds; longer answers are waited for as jobs

export async function askView(dataset, me) {
  if (dataset.retired)
    return empty(
      "No new questions",
      "What was answered before is in the history.",
      h("a", { class: "button", href: `#/datasets/${encodeURIComponent(dataset.name)}/history` }, "See the history"),
    );
  const slot = {
    answer: h("div", { "aria-live": "polite" }),
    quote: h("div", { "aria-live": "polite" }),
    meter: h("div"),
    problem: h("div"),
  };
  let budget = await api.budget(dataset.name);
  let timer = null;
  let turn = 0;
  let quoted = null; // the question that the quote on show is for
  let pending = null; // what was sent and not answered: a retry is paid for once
  let busy = false;
  let form = null; // a change is heard of while it is built

  const pay = h("button", { type: "button", class: "main", name: "ask", onclick: () => ask() }, "Ask");
  const peek = h("button", {
    type: "button",
    class: "peek",
    hidden: true,
    onclick: () => {
      side.scrollIntoView({ block: "start" });
      pay.focus({ preventScroll: true });
    },
  });
  const again = h("input", { type: "checkbox", name: "again", onchange: changed });
  const reason = h("p", { class: "over", id: freshId("reason"), role: "status" });
  pay.setAttribute("aria-describedby", reason.id);
  const built = builder(dataset, me, (budget.own ?? budget).left, changed);
  const { question, assumptions, write } = built;
  form = built.form;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    quoteNow();
  });

  function meters(planned = 0) {
    fill(
      slot.meter,
      budgetMeter(budget, planned),
      budget.own ? budgetMeter(budget.own, planned, "Your own budget") : null,
    );
  }

  function changed() {
    quoted = null;
    fill(slot.problem); // a refusal is about the question before
    clearMarks(form);
    turn += 1;
    clearTimeout(timer);
    slot.quote.setAttribute("aria-busy", "true"); // what is on show is about the question before
    settle();
    timer = setTimeout(quoteNow, PAUSE);
  }

  function settle() {
    fill(
      peek,
      h("span", {}, quoted === null ? "No quote yet" : glance(quoted.payload)),
      h("span", {}, slot.problem.firstChild ? "See what is wrong ↓" : "Review ↓"),
    );
    const lacking = quoted === null ? null : tooMuch(quoted.payload);
    fill(reason, lacking);
    pay.disabled = busy || quoted === null || lacking !== null;
    pay.textContent = busy
      ? "Asking…"
      : quoted === null
        ? "Ask"
        : quoted.payload.stored
          ? "Show the stored answer, free"
          : quoted.payload.epsilon === 0
            ? "Ask, free"
            : `Spend ${lossText(quoted.payload)} and ask`;
  }

  /** Why a question cannot be asked: what it spends is more than is left. Null where it fits. */
  function tooMuch({ epsilon, delta }) {
    if (budget.filter !== "basic") return null; // other filters decide by the mechanism: the server knows
    const accounts = [
      [budget, "the dataset’s budget"],
      ...(budget.own ? [[budget.own, "your own budget"]] : []),
    ];
    for (const [{ left }, whose] of accounts)
      for (const [sign, asked, rest] of [
        ["ε", epsilon, left.epsilon],
        ["δ", delta ?? 0, left.delta],
      ])
        if (asked > rest)
          return `This would spend ${sign} ${small(asked)}, and ${rest ? `only ${sign} ${small(rest)}` : `no ${sign}`} of ${whose} is left. Choose a smaller ${sign === "ε" ? "epsilon" : "delta"}.`;
    return null;
  }

  async function quoteNow() {
    clearTimeout(timer);
    const mine = (turn += 1);
    try {
      const [asked, assumed] = [question(), assumptions()];
      const payload = await api.quote(dataset.name, { ...asked, ...assumed, again: again.checked });
      if (mine !== turn || !form.isConnected) return;
      quoted = { asked: { ...asked, ...chosenCalibration(payload, assumed) }, payload };
      fill(slot.problem);
      clearMarks(form);
      write(quoted.asked);
      fill(slot.quote, quoteParts(payload, dataset, (budget.own ?? budget).left));
      meters(payload.epsilon);
    } catch (problem) {
      if (mine !== turn) return;
      quoted = null;
      meters();
      if (problem instanceof Incomplete) fill(slot.quote, h("p", { class: "quiet" }, problem.message));
      else if (problem instanceof Problem) {
        fill(slot.quote, h("p", { class: "quiet" }, "No quote yet."));
        showProblem(slot.problem, problem, form);
      } else throw problem;
    }
    slot.quote.removeAttribute("aria-busy");
    settle();
  }

  async function ask() {
    if (!quoted || busy) return;
    const { asked, payload } = quoted;
    const due = dueSeconds(payload, dataset);
    const text = JSON.stringify([asked, again.checked]);
    pending = pending?.text === text ? pending : { text, id: requestId() };
    busy = true;
    settle();
    fill(slot.problem);
    try {
      const body = {
        ...asked,
        request_id: pending.id,
        again: again.checked,
        wait: due <= PATIENT,
      };
      const clock = schedule(slot.answer, due);
      let answered;
      try {
        const first = await api.ask(dataset.name, body);
        answered = first.status === 202 ? await settled(first.payload, slot.answer, me) : first.payload;
      } finally {
        clock.stop();
      }
      pending = null;
      const free = answered.budget && answered.budget.spent.epsilon === budget.spent.epsilon;
      budget = await api.budget(dataset.name);
      fill(slot.answer, answerCard(dataset, answered, free));
      slot.answer.firstChild.focus({ preventScroll: true });
      slot.answer.scrollIntoView({ block: "start" });
      announce(spoken(answered));
    } catch (problem) {
      fill(slot.answer);
      if (!(problem instanceof Problem)) throw problem;
      if (problem.status !== 0) pending = null;
      showProblem(slot.problem, problem, form);
      budget = await api.budget(dataset.name).catch(() => budget);
    } finally {
      busy = false;
      if (quoted) fill(slot.quote, quoteParts(quoted.payload, dataset, (budget.own ?? budget).left));
      meters(quoted?.payload.epsilon);
      settle();
      if (quoted && !slot.problem.firstChild) quoteNow(); // it may be free now
    }
  }

  meters();
  fill(slot.quote, h("p", { class: "quiet" }, "Reading the quote…"));
  const side = h(
    "section",
    { class: "card side", "aria-label": "Privacy loss and expected error" },
    h("h2", {}, "Before you ask"),
    slot.quote,
    slot.problem,
    slot.meter,
    h("p"),
    h("div", { class: "actions" }, pay),
    reason,
    h("label", { class: "check" }, again, "a fresh answer, even if this was answered before"),
    h(
      "p",
      { class: "fine" },
      "A question that was answered before is answered again from the store, free; so is a count of bins of a stored histogram.",
    ),
  );
  new IntersectionObserver(([seen]) => {
    peek.hidden = seen.isIntersecting;
  }).observe(side);
  return [h("div", { class: "stack" }, slot.answer, h("div", { class: "two" }, form, side)), peek];
}

/** What a quote under a prior chose is asked for by name: the loss and error on show are those of the answer. */
function chosenCalibration(payload, assumed) {
  const names = new Set(payload.quotes.map((one) => one.mechanism));
  const [name] = names;
  const free = payload.quotes.some((one) => one.derived_from !== undefined);
  return assumed.prior && names.size === 1 && name !== "public" && !free ? { mechanism: name } : {};
}

/** Answers come at a time that everybody knows: it depends on the clock, not on the data. */
function schedule(slot, due) {
  if (due < 1) return { stop: () => {} };
  let end = due; // an answer that is not ready at the end of a slot waits for one of twice the length
  const bar = h("progress", { max: due, value: 0, "aria-label": "Time until the answer is due" });
  const text = h("span");
  const began = Date.now();
  const show = () => {
    const gone = (Date.now() - began) / 1000;
    while (end < gone - 1) end *= 2;
    bar.max = end;
    bar.value = Math.min(end, gone);
    text.textContent = `The answer is due in ${seconds(Math.max(1, Math.ceil(end - gone)))}.`;
  };
  fill(
    slot,
    h(
      "div",
      { class: "card waiting" },
      h("h2", {}, "Asked. Waiting for the public schedule"),
      bar,
      h("p", { class: "quiet" }, text, " Answers leave at the ends of public slots, so that their time says nothing about the data."),
    ),
  );
  show();
  const timer = setInterval(show, 500);
  return { stop: () => clearInterval(timer) };
}

/** A job's answer, when its schedule says so. */
async function settled(job, slot, me) {
  const owner = me.role === "owner";
  let state = job;
  const note = h("p", { class: "quiet" });
  slot.firstChild?.append(note);
  while (state.state === "running") {
    if (state.progress) note.textContent = really(state.progress);
    const pause = Math.min(owner ? 1000 : 5000, Math.max(300, (state.ready_in ?? 1) * 1000));
    await new Promise((done) => setTimeout(done, pause));
    state = await api.job(job.id);
  }
  if (state.state === "failed") throw new Problem(state.problem?.status ?? 500, state.problem ?? {});
  return state.answer;
}

/** What owners alone are told: how far the work really is. */
function really({ stage, seconds: gone, share }) {
  const done = typeof share === "number" ? `, ${percent(share)} done` : "";
  return `Really: ${stage}${done} after ${seconds(gone)}. Only owners see this.`;
}

function answerCard(dataset, answered, free) {
  return h(
    "section",
    { class: "card", tabindex: -1, "aria-label": "Answer" },
    h(
      "div",
      { class: "title-row" },
      h("h2", {}, "Answer"),
      h("span", { class: "basis" }, free ? "from the store, free" : `spent ${lossText(answered)}`),
    ),
    answersFigure(answered.releases, dataset),
    exportButtons(
      `${dataset.name}-answer`,
      answered.releases.map((release) => ({ release })),
      answered,
    ),
  );
}

function spoken(answered) {
  const rows = answered.releases.flatMap((one) => rowsOf(one)).slice(0, 5);
  return `Answer: ${rows.map((row) => `${row.label} ${row.refused ? "refused" : formatted(row.value)}${row.low === null ? "" : `, between ${formatted(row.low)} and ${formatted(row.high)}`}`).join("; ")}`;
}
