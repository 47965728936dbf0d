// Numbers, privacy losses and times as people read them.

/** A released number; dates and names as they are. */
export function formatted(value) {
  if (value === null || value === undefined) return "–";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (value === "Infinity") return "∞";
  if (value === "-Infinity") return "-∞";
  if (typeof value !== "number") return String(value);
  if (Number.isInteger(value)) return value.toLocaleString("en-US");
  const size = Math.abs(value);
  if (size >= 1000) return value.toLocaleString("en-US", { maximumFractionDigits: size >= 100_000 ? 0 : 2 });
  if (size !== 0 && size < 1e-4) return value.toExponential(2);
  return String(Number(value.toPrecision(5)));
}

/** A number with the digits that its interval supports: two of half its width. */
export function rounded(value, { low, high }, round = Math.round) {
  const half = (high - low) / 2;
  if (typeof value !== "number" || !Number.isFinite(half) || half <= 0) return formatted(value);
  const power = Math.floor(Math.log10(half)) - 1;
  if (power <= 0 && Number.isInteger(value)) return formatted(value);
  if (power > 0) return (round(value / 10 ** power) * 10 ** power).toLocaleString("en-US");
  const digits = -power;
  if (digits > 12) return formatted(value);
  const scaled = round(Number((value * 10 ** digits).toPrecision(15))) / 10 ** digits;
  if (scaled !== 0 && Math.abs(scaled) < 1e-4) return scaled.toExponential(1);
  return scaled.toLocaleString("en-US", { maximumFractionDigits: digits });
}

/** The ends of an interval, rounded outward. */
export const lowText = (row) => rounded(row.low, row, Math.floor);
export const highText = (row) => rounded(row.high, row, Math.ceil);

/** An epsilon or delta, short and never rounded to nothing. */
export function small(value) {
  if (value === 0) return "0";
  if (Math.abs(value) < 1e-3) return value.toExponential(Math.abs(value) < 1e-3 ? 1 : 2).replace(".0e", "e");
  return String(Number(value.toPrecision(4)));
}

/** A privacy loss: ε 0.1, and δ where there is one. */
export function lossText(loss) {
  return loss.delta ? `ε ${small(loss.epsilon)}, δ ${small(loss.delta)}` : `ε ${small(loss.epsilon)}`;
}

export function percent(share) {
  if (share > 0 && share < 0.01) return "less than 1%";
  return `${Math.round(share * 100)}%`;
}

/** A time of the ledger in the reader's own zone. */
export function when(text) {
  const time = new Date(text);
  if (Number.isNaN(time.getTime())) return String(text);
  return time.toLocaleString("en-GB", {
    year: "numeric",
    month: "short",
    day: "numeric",
    hour: "2-digit",
    minute: "2-digit",
  });
}

export function seconds(count) {
  if (count < 90) return `${Number(count.toPrecision(2))} s`;
  return count < 5400 ? `${Math.round(count / 60)} min` : `${Number((count / 3600).toPrecision(2))} h`;
}

/** When answers come: at the end of a slot, each twice as long as the one before. */
export function slots(first) {
  return `${seconds(first)} after asking (or ${seconds(2 * first)}, ${seconds(4 * first)}, …)`;
}

/** Is it a number, or a date that can be placed on an axis? Its position, or null. */
export function position(value) {
  if (typeof value === "number" && Number.isFinite(value)) return value;
  if (typeof value === "string" && /^\d{4}-\d\d-\d\d$/.test(value))
    return Date.parse(`${value}T00:00:00Z`) / 86_400_000;
  return null;
}

/** Evenly spaced round numbers that lie within an axis. */
export function ticks(low, high, about = 4) {
  const rough = (high - low) / about;
  if (!(rough > 0) || !Number.isFinite(rough)) return [low];
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((one) => one * power).find((one) => one >= rough) ?? rough;
  const found = [];
  for (let index = Math.ceil(low / step); index * step <= high + step * 1e-9; index += 1) {
    found.push(Number((index * step).toPrecision(12)));
  }
  return found;
}

export function tickText(value, dated) {
  if (dated) return new Date(value * 86_400_000).toISOString().slice(0, 10);
  const size = Math.abs(value);
  if (size >= 1e9) return `${Number((value / 1e9).toPrecision(4))} bn`;
  if (size >= 1e6) return `${Number((value / 1e6).toPrecision(4))} M`;
  if (size >= 1e4) return `${Number((value / 1e3).toPrecision(4))} k`;
  if (size !== 0 && size < 1e-3) return value.toExponential(0);
  return String(Number(value.toPrecision(6)));
}

/** Rows as comma-separated values; what a spreadsheet would run as a formula is kept a text. */
export function csv(rows) {
  if (!rows.length) return "";
  const heads = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const cell = (value) => {
    if (value === null || value === undefined) return "";
    let text = typeof value === "object" ? JSON.stringify(value) : String(value);
    if (typeof value === "string" && /^[\s\p{C}]*[=+\-@\uFF1D\uFF0B\uFF0D\uFF20]|^[\t\r\n]/u.test(text)) text = `'${text}`;
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return (
    [heads, ...rows.map((row) => heads.map((head) => row[head]))].map((row) => row.map(cell).join(",")).join("\n") +
    "\n"
  );
}
