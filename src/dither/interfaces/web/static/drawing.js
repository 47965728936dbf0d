// Pictures of released numbers. Positions are percentages, so that they fit every width without being drawn again.

import { h, s } from "./dom.js";
import { formatted, highText, lossText, lowText, percent, position, rounded, small, ticks, tickText, when } from "./format.js";
import { linePicture, pointsPicture, quantilesPicture, whisker } from "./pictures.js";
import { pictureOf } from "./questions.js";

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

/** The rows as people see them: what noise moved beyond the possible answers is the nearest of them, so a count of -3 is 0. */
function shownRows(release, names) {
  const range = release.range ?? [null, null];
  const own = Array.isArray(range[0]);
  const inside = (value, [least, most]) => {
    if (typeof value !== "number") return value;
    const raised = typeof least === "number" ? Math.max(value, least) : value;
    return typeof most === "number" ? Math.min(raised, most) : raised;
  };
  return rowsOf(release, names).map((row, index) => {
    const ends = own ? (range[index] ?? [null, null]) : range;
    return { ...row, value: inside(row.value, ends), low: inside(row.low, ends), high: inside(row.high, ends) };
  });
}

/** One row for each released value: [{label, value, low, high}]; coordinates of points have these names. */
export function rowsOf(release, names = []) {
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
      label: `${name} · ${names[place] ?? place + 1}`, // a point: a row for each of its coordinates
      coordinate: place,
      value: one,
      low: low?.[place] ?? null,
      high: high?.[place] ?? null,
    }));
  });
}

/** A figure for every question of a statement: groups below each other on one axis. */
export function answersFigure(releases, dataset = null) {
  const questions = [...new Set(releases.map((one) => one.query))];
  return questions.map((question) => {
    const ours = releases.filter((one) => one.query === question);
    return questionFigure(question, ours, dataset);
  });
}

function questionFigure(question, releases, dataset) {
  const first = releases[0];
  const { picture, about } = pictureOf(question);
  const names = about ? about.replace(/ \(.*$/, "").split(", ") : [];
  // Components of mixtures have two numbers behind the coordinates of their means.
  const rows = releases.flatMap((one) => shownRows(one, picture === "points" ? [...names, "weight", "standard deviation"] : names));
  const bars = picture === "bars";
  // Coefficients and coordinates are in different units: those of a unit share a scale.
  const unitOf = (row) => row.coordinate ?? (picture === "line" ? row.label : "");
  const units = new Set(rows.map(unitOf));
  const scaleIn = new Map([...units].map((unit) => [unit, scaleOf(rows.filter((row) => unitOf(row) === unit), bars || picture === "line")]));
  const scales = rows.map((row) => scaleIn.get(unitOf(row)));
  const scale = units.size === 1 ? scales[0] : null;
  const sure = first.confidence ? percentOf(first.confidence) : null;
  const several = rows.length > 1;
  const intervals = rows.filter((row) => row.low !== null).length;
  return h(
    "figure",
    { class: `answer ${several ? "several" : "single"}` },
    h("figcaption", {}, question),
    several ? null : headline(rows[0], sure),
    releases.length === 1 ? planePicture(picture, about, first, rows, dataset) : null,
    scales.some(Boolean) ? (several ? table(rows, scales, scale, bars, sure) : lone(rows[0], scales[0], bars)) : null,
    intervals > 1 && sure && sure !== "100%" ? h("p", { class: "fine" }, heldWords(first, sure, intervals)) : null,
    h("p", { class: "fine" }, plainWords(first, sure)),
    howItWasMade(first),
  );
}

/** How often several intervals hold: each by itself, or all of them at once. */
function heldWords(release, sure, intervals) {
  if (release.simultaneous) return `All intervals hold at once in ${percentOf(release.simultaneous)} of answers.`;
  return `Each interval holds by itself in ${sure} of answers: of ${formatted(intervals)} some may miss. “All at once” is among the intervals to choose.`;
}

const percentOf = (share) => `${Number((share * 100).toPrecision(4))}%`;

/** The picture with two axes that some answers have; null for the others. */
function planePicture(picture, about, release, rows, dataset) {
  if (picture === "quantiles") return quantilesPicture(rows, about);
  if (picture === "line") {
    const target = about.replace(/ (on|\().*$/, "");
    return linePicture(rows, target, dataset?.columns?.[rows[1]?.label]?.bounds ?? null);
  }
  if (picture === "points" && Array.isArray(release.value) && Array.isArray(release.value[0]))
    return pointsPicture(
      release.value.map((value, index) => ({
        label: release.labels?.[index] ?? String(index + 1),
        value,
        low: release.interval?.[index]?.[0] ?? null,
        high: release.interval?.[index]?.[1] ?? null,
      })),
      about.replace(/ \(.*$/, "").split(", "),
    );
  return null;
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
    rounded(row.value, row),
    row.low === null
      ? null
      : h("span", { class: "bar-text" }, `${sure ?? ""} between ${lowText(row)} and ${highText(row)}`),
  );
}

/** What the answer is about and what it protects, without the names of mechanisms. */
function plainWords(release, sure) {
  const notes = release.notes ?? [];
  const words = release.mechanism === "public" ? ["A public fact, free."] : [];
  if (release.refused || (sure && !release.interval)) {
    // Neither an interval nor a value that it would be of.
  } else if (sure && release.interval_of === "population")
    words.push(`The interval is for the population: it holds the value there in at least ${sure} of samples and answers.`);
  else if (sure) words.push(`The interval accounts for that noise: it holds the value without noise ${sure === "100%" ? "always" : `in at least ${sure} of answers`}.`);
  else if (release.mechanism !== "public") words.push("No interval was asked for.");
  words.push(...notes.map((note) => `${note[0].toUpperCase()}${note.slice(1)}.`));
  if (release.reason && !release.refused) words.push(`${release.reason[0].toUpperCase()}${release.reason.slice(1)}.`);
  if (release.derived_from !== undefined)
    words.push(
      `Free: computed from ${release.derived_from ? `the release of charge ${release.derived_from}` : "a release that another paid for"}.`,
    );
  return words.join(" ");
}

/** For those who want the field's own terms. */
function howItWasMade(release) {
  if (release.mechanism === "public") return null;
  return h(
    "details",
    { class: "terms" },
    h("summary", {}, "Technical details"),
    h(
      "dl",
      { class: "facts" },
      [
        ["Privacy loss", lossText(release)],
        ["Neighbours", release.neighbours],
        ["Mechanism", release.mechanism.replaceAll("_", " ")],
        release.noise && release.noise !== "none" ? ["Noise", release.noise.replaceAll("_", " ")] : null,
        release.claim ? ["Rests on", release.claim] : null,
      ]
        .filter(Boolean)
        .map(([term, text]) => [h("dt", {}, term), h("dd", {}, text)]),
    ),
  );
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
  const drawing = s("svg", { class: "strip", role: "img", "aria-label": spokenRow(row) });
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
  if (!bars) drawing.append(s("circle", { class: "dot", cx: scale.at(row.value), cy: "50%", r: 5 }));
  // Over the dot, with caps that are taller: a short interval stays visible.
  if (drawable(row.low) && drawable(row.high))
    drawing.append(
      ...whisker(
        scale.at(row.low),
        scale.at(row.high),
        "50%",
        false,
        [row.low, row.high].map((end) => position(end) !== null),
      ),
    );
  return drawing;
}

function spokenRow(row) {
  if (row.refused || row.value === null) return `${row.label}: refused`;
  const between = row.low === null ? "" : `, interval from ${lowText(row)} to ${highText(row)}`;
  return `${row.label}: ${rounded(row.value, row)}${between}`;
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

/** One row for each value; without a shared scale there is no axis below. */
function table(rows, scales, shared, bars, sure) {
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
        h("th", { scope: "col", class: "drawn" }, shared ? h("span", { class: "unseen" }, "picture") : "each unit on its own scale"),
      ),
    ),
    h(
      "tbody",
      {},
      rows.map((row, index) =>
        h(
          "tr",
          {},
          h("th", { scope: "row" }, row.label),
          h("td", { class: "number strong" }, row.refused ? "refused" : rounded(row.value, row)),
          h("td", { class: "number bar-cell" }, row.low === null ? "" : `${lowText(row)} to ${highText(row)}`),
          h("td", { class: "drawn" }, scales[index] ? strip(row, scales[index], bars) : null),
        ),
      ),
      shared
        ? h(
            "tr",
            { class: "axis-row", "aria-hidden": true },
            h("td"),
            h("td"),
            h("td"),
            h("td", { class: "drawn" }, axis(shared)),
          )
        : null,
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
