// Elements made by hand: data only ever become text nodes and attributes, never markup.

const SVG = "http://www.w3.org/2000/svg";
let made = 0;

/** An HTML element: h("p", {class: "quiet", onclick: …}, "text", child, …). */
export function h(tag, attributes = {}, ...children) {
  return furnish(document.createElement(tag), attributes, children);
}

/** An SVG element. */
export function s(tag, attributes = {}, ...children) {
  return furnish(document.createElementNS(SVG, tag), attributes, children);
}

function furnish(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked" || name === "selected") element[name] = value;
    else element.setAttribute(name, value === true && !name.startsWith("aria-") ? "" : String(value));
  }
  element.append(...children.flat(Infinity).filter((one) => one !== null && one !== undefined && one !== false));
  return element;
}

/** Replace everything in an element. */
export function fill(element, ...children) {
  element.replaceChildren(
    ...children.flat(Infinity).filter((one) => one !== null && one !== undefined && one !== false),
  );
  return element;
}

export function freshId(stem) {
  made += 1;
  return `${stem}-${made}`;
}

/** A labelled control; the hint is read out with it. */
export function field(label, control, hint = null, extra = {}) {
  control.id ||= freshId("field");
  const note = hint === null ? null : h("p", { class: "hint", id: `${control.id}-hint` }, hint);
  if (note) control.setAttribute("aria-describedby", note.id);
  return h("div", { class: `field ${extra.class ?? ""}` }, h("label", { for: control.id }, label), control, note);
}

/** A select from [value, text] pairs, or groups {label, options}. */
export function select(options, chosen, attributes = {}) {
  const made = h("select", attributes);
  offer(made, options, chosen);
  return made;
}

/** Replace the options of a select; the first one is chosen unless another is named. */
export function offer(control, options, chosen = null) {
  const option = ([value, text]) => h("option", { value }, text);
  fill(
    control,
    options.map((one) =>
      Array.isArray(one) ? option(one) : h("optgroup", { label: one.label }, one.options.map(option)),
    ),
  );
  if (chosen === null) return;
  control.value = chosen;
  if (control.selectedOptions.length) control.selectedOptions[0].defaultSelected = true; // what a form resets to
}

/** Said to people who listen to the page instead of looking at it. */
export function announce(text) {
  document.getElementById("status").textContent = text;
}

/** Save a text as a file: made here, sent nowhere. */
export function download(name, type, text) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  h("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
