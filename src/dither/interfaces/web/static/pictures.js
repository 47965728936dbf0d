// Pictures with two axes: quantiles, a fitted line, points. Positions are percentages, so that they fit every width.

import { h, s } from "./dom.js";
import { formatted, position, rounded, ticks, tickText } from "./format.js";

const ROOM = 0.06; // of an axis, on either side

/** An axis that holds all of these places. */
function axisOf(values, dated = false) {
  const places = values.map(position).filter((one) => one !== null);
  let [low, high] = [Math.min(...places), Math.max(...places)];
  if (low === high) [low, high] = [low - (Math.abs(low) * 0.1 || 1), high + (Math.abs(high) * 0.1 || 1)];
  const room = (high - low) * ROOM;
  [low, high] = [low - room, high + room];
  const share = (value) => Math.min(100, Math.max(0, ((position(value) - low) / (high - low)) * 100));
  return { low, high, share, dated, ticks: ticks(low, high) };
}

/** The frame: a drawing between two axes with their names. */
function frame({ across, up, names, label, parts }) {
  const x = (value) => `${across.share(value)}%`;
  const y = (value) => `${100 - up.share(value)}%`;
  const drawing = s("svg", { class: "plot", role: "img", "aria-label": label });
  for (const tick of across.ticks)
    drawing.append(s("line", { class: "grid", x1: x(tick), x2: x(tick), y1: 0, y2: "100%" }));
  for (const tick of up.ticks) drawing.append(s("line", { class: "grid", x1: 0, x2: "100%", y1: y(tick), y2: y(tick) }));
  drawing.append(...parts(x, y).flat(Infinity));
  const scale = s("svg", { class: "plot-scale", "aria-hidden": true });
  for (const tick of up.ticks)
    scale.append(s("text", { x: "100%", y: y(tick), "text-anchor": "end", "dominant-baseline": "middle" }, tickText(tick, up.dated)));
  const below = s("svg", { class: "axis", "aria-hidden": true });
  for (const tick of across.ticks)
    below.append(s("text", { x: x(tick), y: 13, "text-anchor": "middle" }, tickText(tick, across.dated)));
  return h(
    "div",
    { class: "plot-frame" },
    h("p", { class: "plot-name up", "aria-hidden": true }, names[1]),
    scale,
    drawing,
    below,
    h("p", { class: "plot-name across", "aria-hidden": true }, names[0]),
  );
}

/** A curve through points that are given in percent. */
function curve(kind, points, closed = false) {
  const path = points.map(([x, y], index) => `${index ? "L" : "M"} ${x} ${y}`).join(" ");
  return s(
    "svg",
    { viewBox: "0 0 100 100", preserveAspectRatio: "none", width: "100%", height: "100%" },
    s("path", { class: kind, d: closed ? `${path} Z` : path }),
  );
}

/** An interval of one number, with caps that stand out beside the dot; ends beyond the picture have none. */
export function whisker(from, to, fixed, upright = false, caps = [true, true]) {
  const line = (a1, a2, b1, b2) =>
    upright
      ? s("line", { class: "whisker", x1: b1, x2: b2, y1: a1, y2: a2 })
      : s("line", { class: "whisker", x1: a1, x2: a2, y1: b1, y2: b2 });
  return [line(from, to, fixed, fixed), ...[from, to].flatMap((end, place) => (caps[place] ? [cap(end, fixed, upright)] : []))];
}

function cap(end, fixed, upright) {
  // A line of a fixed length about a place in percent: drawn in a small picture of its own that may reach beyond it.
  const [x, y] = upright ? [fixed, end] : [end, fixed];
  const inner = upright ? { x1: -9, x2: 9, y1: 0, y2: 0 } : { x1: 0, x2: 0, y1: -9, y2: 9 };
  return s("svg", { x, y, class: "beyond", width: 1, height: 1 }, s("line", { class: "whisker", ...inner }));
}

/** Quantiles are points of the distribution function: how large a share of the records lies below a value. */
export function quantilesPicture(rows, about) {
  const drawn = rows.filter((row) => position(row.value) !== null && Number.isFinite(Number(row.label)));
  if (drawn.length < 2) return null;
  const sorted = [...drawn].sort((one, other) => Number(one.label) - Number(other.label));
  const across = axisOf(
    sorted.flatMap((row) => [row.value, row.low, row.high]),
    sorted.some((row) => typeof row.value === "string"),
  );
  const up = { low: 0, high: 1, share: (value) => 4 + 92 * value, dated: false, ticks: [0, 0.25, 0.5, 0.75, 1] };
  const said = sorted.map((row) => `${row.label}: ${formatted(row.value)}`).join(", ");
  return frame({
    across,
    up,
    names: [about, "share of the records at or below"],
    label: `Quantiles of ${about}. ${said}`,
    parts: (x, y) => [
      curve("curve", sorted.map((row) => [across.share(row.value), 100 - up.share(Number(row.label))])),
      sorted.map((row) => {
        const place = y(Number(row.label));
        const ends = position(row.low) === null || position(row.high) === null;
        return [
          s("circle", { class: "dot", cx: x(row.value), cy: place, r: 4.5 }),
          ends ? [] : whisker(x(row.low), x(row.high), place), // over the dot: a short one stays visible
        ];
      }),
    ],
  });
}

/** A line of one feature between its bounds, with all lines whose coefficients lie in both intervals. */
export function linePicture(rows, target, bounds) {
  if (rows.length !== 2 || rows[0].label !== "intercept" || rows.some((row) => position(row.value) === null)) return null;
  const [constant, slope] = rows;
  const [from, to] = (bounds ?? [0, 1]).map(position);
  if (!(from < to)) return null;
  const ends = [constant.low, constant.high, slope.low, slope.high].map(position);
  const banded = !ends.includes(null);
  const at = (place) => constant.value + slope.value * place;
  const reach = (place) => {
    const all = [ends[0], ends[1]].flatMap((start) => [ends[2], ends[3]].map((rise) => start + rise * place));
    return [Math.min(...all), Math.max(...all)];
  };
  const places = Array.from({ length: 21 }, (_, index) => from + ((to - from) * index) / 20);
  const across = axisOf([from, to]);
  const up = axisOf(places.flatMap((place) => [at(place), ...(banded ? reach(place) : [])]));
  const point = (place, value) => [across.share(place), 100 - up.share(value)];
  const label = `The fitted line: ${target} is ${rounded(constant.value, constant)} plus ${rounded(slope.value, slope)} for each unit of ${slope.label}`;
  return h(
    "div",
    {},
    frame({
      across,
      up,
      names: [slope.label, target],
      label,
      parts: () => [
        banded
          ? curve(
              "band",
              [
                ...places.map((place) => point(place, reach(place)[0])),
                ...[...places].reverse().map((place) => point(place, reach(place)[1])),
              ],
              true,
            )
          : [],
        curve("curve", [point(from, at(from)), point(to, at(to))]),
      ],
    }),
    h(
      "p",
      { class: "hint" },
      `${label}${bounds ? ", drawn between the declared bounds" : ""}.${banded ? " The band holds every line whose two coefficients lie in their intervals; records scatter more widely." : ""}`,
    ),
  );
}

/** Points by their first two coordinates, each with its intervals as a cross. */
export function pointsPicture(points, names) {
  const drawn = points.filter((one) => one.value.length > 1 && one.value.slice(0, 2).every((part) => position(part) !== null));
  if (!drawn.length) return null;
  const whole = (one, axis) => [one.value[axis], one.low?.[axis] ?? null, one.high?.[axis] ?? null];
  const across = axisOf(drawn.flatMap((one) => whole(one, 0)));
  const up = axisOf(drawn.flatMap((one) => whole(one, 1)));
  const said = drawn.map((one) => `${one.label} at ${formatted(one.value[0])}, ${formatted(one.value[1])}`).join("; ");
  const more = drawn[0].value.length - 2;
  return h(
    "div",
    {},
    frame({
      across,
      up,
      names: [names[0] ?? "first coordinate", names[1] ?? "second coordinate"],
      label: `Points by ${names[0] ?? "the first"} and ${names[1] ?? "the second coordinate"}: ${said}`,
      parts: (x, y) =>
        drawn.map((one, index) => {
          const [px, py] = [x(one.value[0]), y(one.value[1])];
          const [left, right, low, high] = [one.low?.[0], one.high?.[0], one.low?.[1], one.high?.[1]].map((end) => end ?? null);
          return [
            s("circle", { class: "dot", cx: px, cy: py, r: 5 }),
            position(left) === null || position(right) === null ? [] : whisker(x(left), x(right), py),
            position(low) === null || position(high) === null ? [] : whisker(y(low), y(high), px, true),
            s("svg", { x: px, y: py, class: "beyond", width: 1, height: 1 }, s("text", { class: "point-name", x: 8, y: -8 }, String(index + 1))),
          ];
        }),
    }),
    more > 0 ? h("p", { class: "hint" }, `By the first two of ${more + 2} numbers; the table has all of them.`) : null,
  );
}
