// Elements and texts that all pages share. Data becomes text nodes only.
//
// Called by the frame and by every page.

/// Makes an element; `on` holds handlers, all else of `props` are attributes.
export function h(tag, props = {}, ...children) {
  const element = document.createElement(tag);
  fill(element, props, children);
  return element;
}

const SVG = "http://www.w3.org/2000/svg";

export function svg(tag, props = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  fill(element, props, children);
  return element;
}

function fill(element, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "on") {
      for (const [event, run] of Object.entries(value)) {
        element.addEventListener(event, run);
      }
    } else if (name === "value") {
      element.value = value;
    } else {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  add(element, children);
}

/// Appends nodes, and everything else as text.
export function add(element, ...children) {
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
  return element;
}

export function replace(element, ...children) {
  element.replaceChildren();
  return add(element, ...children);
}

// Parts

export function problem(error) {
  return h("p", { class: "problem", role: "alert" }, error.message ?? String(error));
}

/// What was asked for last, by its place: a later answer to an earlier question is not shown.
const asked = new WeakMap();

/// Shows what a promise brings, or why it failed.
export async function show(place, make) {
  asked.set(place, make);
  place.setAttribute("aria-busy", "true");
  if (!place.hasChildNodes()) add(place, h("p", { class: "empty" }, "Loading…"));
  let content;
  try {
    content = await make();
  } catch (error) {
    content = problem(error);
  }
  if (asked.get(place) !== make) return place;
  replace(place, content);
  place.removeAttribute("aria-busy");
  return place;
}

export function button(label, run, kind = "", props = {}) {
  return h("button", { type: "button", class: kind, on: { click: run }, ...props }, label);
}

export function select(options, chosen, props = {}) {
  return h("select", props, options.map((option) => {
    const [value, label] = Array.isArray(option) ? option : [option, option];
    return h("option", { value, selected: value === chosen }, label);
  }));
}

export function badge(text, kind = "") {
  return h("span", { class: `badge ${kind}` }, text);
}

export function facts(...pairs) {
  return h("dl", { class: "facts" }, pairs.filter(Boolean).map(([name, value]) =>
    [h("dt", {}, name), add(h("dd"), value)]));
}

export function figures(...pairs) {
  return h("div", { class: "figures" }, pairs.map(([name, value]) =>
    h("div", {}, h("b", {}, value), h("span", {}, name))));
}

/// Panels, one of them shown; arrows move between the tabs.
export function tabs(label, panels, chosen) {
  const panel = h("div", { role: "tabpanel", tabindex: "-1", id: "tab-panel" });
  const buttons = panels.map(([name]) => h("button", {
    type: "button", role: "tab", "aria-controls": "tab-panel", on: {
      click: () => choose(name),
      keydown: (event) => {
        const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        if (!step) return;
        const place = panels.findIndex(([other]) => other === name) + step;
        const next = panels[(place + panels.length) % panels.length][0];
        choose(next);
        buttons[panels.findIndex(([other]) => other === next)].focus();
      },
    } }, name));
  function choose(name) {
    const index = Math.max(0, panels.findIndex(([other]) => other === name));
    buttons.forEach((button, place) => {
      button.setAttribute("aria-selected", String(place === index));
      button.tabIndex = place === index ? 0 : -1;
    });
    panel.setAttribute("aria-label", panels[index][0]);
    panel.replaceChildren();
    show(panel, async () => panels[index][1]());
  }
  choose(chosen);
  const strip = h("div", { class: "tabs", role: "tablist", "aria-label": label }, buttons);
  return [strip, panel];
}

/// Marks the one of several buttons that is shown.
export function mark(buttons, chosen) {
  for (const each of buttons) {
    if (each === chosen) each.setAttribute("aria-current", "true");
    else each.removeAttribute("aria-current");
  }
}

// Texts

const numbers = new Intl.NumberFormat("en");

export function number(value) { return numbers.format(value); }

export function many(count, one, several = `${one}s`) {
  return `${number(count)} ${count === 1 ? one : several}`;
}

export function bytes(value) {
  const units = ["bytes", "kB", "MB", "GB", "TB"];
  let step = 0;
  let rest = value;
  while (rest >= 1000 && step < units.length - 1) {
    rest /= 1000;
    step += 1;
  }
  return `${step > 0 && rest < 10 ? rest.toFixed(1) : Math.round(rest)} ${units[step]}`;
}

/// A time to the minute, or with `isExact` to the second.
export function moment(milliseconds, isExact = false) {
  if (!milliseconds) return "never";
  const date = new Date(Number(milliseconds));
  const text = date.toISOString();
  return h("time", { datetime: text, title: text },
    `${text.slice(0, isExact ? 19 : 16).replace("T", " ")} UTC`);
}

export function span(milliseconds) {
  const seconds = Math.max(0, Math.round(milliseconds / 1000));
  if (seconds < 90) return many(seconds, "second");
  if (seconds < 5400) return many(Math.round(seconds / 60), "minute");
  if (seconds < 172800) return many(Math.round(seconds / 3600), "hour");
  return many(Math.round(seconds / 86400), "day");
}

/// A name with dots, which may break behind each of them.
export function dotted(name) {
  return name.split(".").map((part, place) => (place > 0 ? [".", h("wbr"), part] : part));
}

export function short(id) {
  return h("code", { title: id }, id.length > 13 ? `${id.slice(0, 12)}…` : id);
}
