// Pictures of released numbers. Positions are percentages, so that they fit every width without being drawn again.

import { h, s } from "./dom.js";
import { formatted, lossText, percent, position, small, ticks, tickText, when } from "./format.js";

/** How much is spent: a bar, with what a question would add shown hatched. */
export function meter(label, spent, total, planned = 0) {
  const share = (part) => (total > 0 ? Math.min(1, Math.max(0, part / total)) : 0);
  const used = share(spent);
  const next = Math.min(1 - used, share(planned));
  const text = `${percent(used)} spent`;
  return s(
    "svg",
    {
      class: "meter",
      role: "meter",
      "aria-label": label,
      "aria-valuemin": 0,
      "aria-valuemax": total,
      "aria-valuenow": spent,
      "aria-valuetext": text,
    },
    s("rect", { class: "meter-all", width: "100%", height: "100%", rx: 5 }),
    s("rect", {
      class: used > 0.9 ? "meter-used nearly" : "meter-used",
      width: `${used * 100}%`,
      height: "100%",
      rx: used > 0 ? 5 : 0,
    }),
    next > 0 ? s("rect", { class: "meter-next", x: `${used * 100}%`, width: `${next * 100}%`, height: "100%" }) : null,
  );
}

/** One row for each released value: [{label, value, low, high}]. */
export function rowsOf(release) {
  const key = release.group ? Object.values(release.group).map(formatted).join(" · ") : null;
  if (!Array.isArray(release.value)) {
    const [low, high] = release.interval ?? [null, null];
    return [
      {
        label: key ?? release.query,
        value: release.value,
        low,
        high,
        refused: release.refused,
        reason: release.reason,
      },
    ];
  }
  return release.value.flatMap((value, index) => {
    const [low, high] = release.interval?.[index] ?? [null, null];
    const own = release.labels?.[index] ?? String(index + 1);
    const name = key === null ? own : `${key} · ${own}`;
    if (!Array.isArray(value)) return [{ label: name, value, low, high }];
    return value.map((one, place) => ({
      label: `${name} · ${place + 1}`, // a point: a row for each of its coordinates
      value: one,
      low: low?.[place] ?? null,
      high: high?.[place] ?? null,
    }));
  });
}

/** A figure for every question of a statement: groups below each other on one axis. */
export function answersFigure(releases) {
  const questions = [...new Set(releases.map((one) => one.query))];
  return questions.map((question) => {
    const ours = releases.filter((one) => one.query === question);
    return questionFigure(question, ours);
  });
}

function questionFigure(question, releases) {
  const rows = releases.flatMap(rowsOf);
  const first = releases[0];
  const bars = /^(\S+ \()?histogram/.test(question);
  const scale = scaleOf(rows, bars);
  const sure = first.confidence ? `${Number((first.confidence * 100).toPrecision(4))}%` : null;
  const several = rows.length > 1;
  return h(
    "figure",
    { class: `answer ${several ? "several" : "single"}` },
    h("figcaption", {}, question),
    several ? null : headline(rows[0], sure),
    scale ? (several ? table(rows, scale, bars, sure) : lone(rows[0], scale, bars)) : null,
    h("p", { class: "fine" }, fineprint(first, sure)),
  );
}

function headline(row, sure) {
  if (row.refused || row.value === null) {
    return h(
      "p",
      { class: "headline refused" },
      "Refused",
      h(
        "span",
        { class: "bar-text" },
        row.reason ?? "the test on the data did not pass; that too is an answer, and was paid for",
      ),
    );
  }
  return h(
    "p",
    { class: "headline" },
    formatted(row.value),
    row.low === null
      ? null
      : h("span", { class: "bar-text" }, `${sure ?? ""} between ${formatted(row.low)} and ${formatted(row.high)}`),
  );
}

function fineprint(release, sure) {
  const coverage = sure
    ? `The interval covers the statistic of the clamped records ${sure === "100%" ? "always" : `in at least ${sure} of answers`}. `
    : "No interval was asked for. ";
  const bounds = release.clamped_to;
  const beyond =
    bounds?.beyond === undefined
      ? ""
      : `; about ${formatted(bounds.beyond)}${bounds.beyond_interval ? ` (${bounds.beyond_interval.map(formatted).join(" to ")})` : ""} lie beyond`;
  const clampedTo = bounds
    ? ` Bounds that were found privately: ${formatted(bounds.low)} and ${formatted(bounds.high)}${beyond}.`
    : "";
  const missing =
    release.missing === null || release.missing === undefined
      ? ""
      : release.missing === "drop"
        ? " Missing values are left out."
        : ` Missing values count as ${[release.missing].flat().map(formatted).join(", ")}.`;
  const clamped = release.clamped
    ? ` Values outside ${pairs(release.clamped)
        .map(([low, high]) => `${formatted(low)} to ${formatted(high)}`)
        .join(", ")} are clamped.`
    : "";
  const lacking =
    release.reason && !release.refused ? ` ${release.reason[0].toUpperCase()}${release.reason.slice(1)}.` : "";
  const derived =
    release.derived_from === undefined
      ? ""
      : ` Free: computed from ${release.derived_from ? `the release of charge ${release.derived_from}` : "a release that another paid for"}.`;
  return `${coverage}Neighbours: ${release.neighbours}. ${release.mechanism === "public" ? "Public, free." : `Mechanism: ${release.mechanism.replaceAll("_", " ")}${release.noise && release.noise !== "none" ? `; noise: ${release.noise.replaceAll("_", " ")}` : ""}.`}${clampedTo}${missing}${clamped}${lacking}${derived}`;
}

function pairs(clamped) {
  return Array.isArray(clamped[0]) ? clamped : [clamped];
}

function scaleOf(rows, fromZero) {
  const places = rows.flatMap((row) => [row.value, row.low, row.high].map(position)).filter((one) => one !== null);
  if (!places.length) return null;
  let low = Math.min(...places, ...(fromZero ? [0] : []));
  let high = Math.max(...places, ...(fromZero ? [0] : []));
  if (low === high) {
    const room = Math.abs(low) * 0.1 || 1;
    [low, high] = [low - room, high + room];
  }
  const room = (high - low) * 0.06;
  const dated = rows.some((row) => typeof row.value === "string");
  [low, high] = [fromZero && low === 0 ? 0 : low - room, high + room];
  const at = (value) =>
    value === "-Infinity" ? "0%" : value === "Infinity" ? "100%" : `${((position(value) - low) / (high - low)) * 100}%`;
  return { low, high, dated, at, ticks: ticks(low, high) };
}

/** An end of an interval can be drawn if it has a place, or lies beyond the picture. */
function drawable(end) {
  return position(end) !== null || end === "Infinity" || end === "-Infinity";
}

function strip(row, scale, bars) {
  const drawing = s("svg", { class: "strip", "aria-hidden": true });
  for (const tick of scale.ticks)
    drawing.append(s("line", { class: "grid", x1: scale.at(tick), x2: scale.at(tick), y1: 0, y2: "100%" }));
  if (position(row.value) === null) return drawing;
  if (bars) {
    const [from, to] = [0, row.value].sort((one, other) => one - other);
    const width = ((to - from) / (scale.high - scale.low)) * 100;
    drawing.append(
      s("rect", { class: "column", x: scale.at(from), width: `${width}%`, y: "18%", height: "64%", rx: 2 }),
    );
  }
  if (drawable(row.low) && drawable(row.high)) {
    const [low, high] = [scale.at(row.low), scale.at(row.high)];
    drawing.append(s("line", { class: "whisker", x1: low, x2: high, y1: "50%", y2: "50%" }));
    const ends = [row.low, row.high].filter((one) => position(one) !== null).map(scale.at);
    for (const end of ends) drawing.append(s("line", { class: "whisker", x1: end, x2: end, y1: "28%", y2: "72%" }));
  }
  if (!bars) drawing.append(s("circle", { class: "dot", cx: scale.at(row.value), cy: "50%", r: 5.5 }));
  return drawing;
}

function axis(scale) {
  const drawing = s("svg", { class: "axis", "aria-hidden": true });
  for (const tick of scale.ticks) {
    const share = parseFloat(scale.at(tick));
    const anchor = share < 6 ? "start" : share > 94 ? "end" : "middle";
    drawing.append(s("text", { x: `${share}%`, y: 13, "text-anchor": anchor }, tickText(tick, scale.dated)));
  }
  return drawing;
}

function lone(row, scale, bars) {
  return h("div", { class: "lone" }, strip(row, scale, bars), axis(scale));
}

function table(rows, scale, bars, sure) {
  return h(
    "table",
    { class: "strips" },
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        h("th", { scope: "col" }, "of"),
        h("th", { scope: "col", class: "number" }, "answer"),
        h("th", { scope: "col", class: "number" }, sure ? `${sure} between` : ""),
        h("th", { class: "drawn", "aria-hidden": true }),
      ),
    ),
    h(
      "tbody",
      {},
      rows.map((row) =>
        h(
          "tr",
          {},
          h("th", { scope: "row" }, row.label),
          h("td", { class: "number strong" }, row.refused ? "refused" : formatted(row.value)),
          h("td", { class: "number bar-cell" }, row.low === null ? "" : `${formatted(row.low)} – ${formatted(row.high)}`),
          h("td", { class: "drawn" }, strip(row, scale, bars)),
        ),
      ),
      h(
        "tr",
        { class: "axis-row", "aria-hidden": true },
        h("td"),
        h("td"),
        h("td"),
        h("td", { class: "drawn" }, axis(scale)),
      ),
    ),
  );
}

/** What was spent in all after each charge: [{at, epsilon}] oldest first, below the line of the budget. */
export function spendChart(points, total) {
  const begin = Date.parse(points[0].at);
  const end = Math.max(Date.now(), Date.parse(points.at(-1).at), begin + 60_000);
  const across = (time) => ((time - begin) / (end - begin)) * 100;
  const top =
    Math.max(
      total,
      points.reduce((sum, one) => sum + one.epsilon, 0),
    ) * 1.08 || 1;
  const up = (epsilon) => 100 - (epsilon / top) * 100;
  let sum = 0;
  let path = `M 0 ${up(0)}`;
  for (const one of points) {
    path += ` H ${across(Date.parse(one.at))}`;
    sum += one.epsilon;
    path += ` V ${up(sum)}`;
  }
  path += " H 100";
  const summary = `${points.length} ${points.length === 1 ? "charge" : "charges"} from ${when(points[0].at)}: ${lossText({ epsilon: sum, delta: 0 })} of ${small(total)} spent`;
  return h(
    "figure",
    { class: "spend" },
    h(
      "div",
      { class: "spend-frame" },
      h(
        "div",
        { class: "spend-scale", "aria-hidden": true },
        [0, 0.5, 1].map((share) => spendTick(share * total, up(share * total))),
      ),
      s(
        "svg",
        { class: "spend-plot", viewBox: "0 0 100 100", preserveAspectRatio: "none", role: "img", "aria-label": summary },
        s("path", { class: "spend-area", d: `${path} V 100 H 0 Z` }),
        s("path", { class: "spend-line", d: path }),
        s("line", { class: "spend-limit", x1: 0, x2: 100, y1: up(total), y2: up(total) }),
      ),
    ),
    h("div", { class: "spend-ends", "aria-hidden": true }, h("span", {}, when(points[0].at)), h("span", {}, "now")),
    h("figcaption", {}, summary),
  );
}

function spendTick(value, top) {
  return s(
    "svg",
    { class: "spend-tick" },
    s("text", { x: "100%", y: `${top}%`, "text-anchor": "end", "dominant-baseline": "middle" }, small(value)),
  );
}
