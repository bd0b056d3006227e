// Elements, messages and texts that all pages share. Data becomes text nodes only.
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

// Messages

export function tell(text, kind = "") {
  const line = h("p", { class: kind }, text);
  const messages = document.getElementById("messages");
  messages.append(line);
  while (messages.children.length > 2) messages.firstElementChild.remove();
  setTimeout(() => line.remove(), kind === "bad" ? 12000 : 5000);
}

export function problem(error) {
  return h("p", { class: "problem", role: "alert" }, error.message ?? String(error));
}

/// Runs an act; tells what went wrong. Returns whether it was done.
export async function attempt(act, done) {
  try {
    await act();
    if (done) tell(done);
    return true;
  } catch (error) {
    tell(error.message ?? String(error), "bad");
    return false;
  }
}

/// Shows what a promise brings, or why it failed.
export async function show(place, make) {
  place.setAttribute("aria-busy", "true");
  if (!place.hasChildNodes()) add(place, h("p", { class: "empty" }, "Loading…"));
  try {
    const content = await make();
    replace(place, content);
  } catch (error) {
    replace(place, problem(error));
  }
  place.removeAttribute("aria-busy");
  return place;
}

/// Asks before an act that can't be taken back.
export function confirm(title, text, label) {
  return new Promise((resolve) => {
    const yes = h("button", { class: "main", value: "yes" }, label);
    const dialog = h("dialog", { "aria-labelledby": "confirm-title" },
      h("form", { method: "dialog" },
        h("h2", { id: "confirm-title" }, title), h("p", {}, text),
        h("div", { class: "row" }, h("button", { value: "no" }, "Cancel"), yes)));
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes");
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

// Parts

let fields = 0;

export function field(label, input, props = {}) {
  if (!input.id) input.id = `field-${(fields += 1)}`;
  return h("label", { for: input.id, ...props }, label, input);
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

/// A form whose act runs on Enter too, one at a time.
export function form(run, ...children) {
  let isRunning = false;
  return h("form", { on: { submit: async (event) => {
    event.preventDefault();
    if (isRunning) return;
    isRunning = true;
    try { await run(); } finally { isRunning = false; }
  } } }, ...children);
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

/// Columns are [title, cell, class]; a cell may be text or a node.
export function table(caption, columns, rows, empty, row = () => ({})) {
  if (rows.length === 0) return h("p", { class: "empty" }, empty);
  const head = columns.map(([title, , kind]) =>
    h("th", { scope: "col", class: kind },
      title || h("span", { class: "hidden" }, "Acts")));
  const body = rows.map((item) => h("tr", row(item),
    columns.map(([, cell, kind]) => add(h("td", { class: kind }), cell(item)))));
  return h("div", { class: "scroll" }, h("table", {},
    h("caption", { class: "hidden" }, caption),
    h("thead", {}, h("tr", {}, head)), h("tbody", {}, body)));
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

export function moment(milliseconds) {
  if (!milliseconds) return "never";
  const date = new Date(Number(milliseconds));
  const text = date.toISOString();
  return h("time", { datetime: text, title: `${text.slice(0, 19).replace("T", " ")} UTC` },
    text.slice(0, 16).replace("T", " "));
}

export function span(milliseconds) {
  const seconds = Math.max(0, Math.round(milliseconds / 1000));
  if (seconds < 90) return many(seconds, "second");
  if (seconds < 5400) return many(Math.round(seconds / 60), "minute");
  if (seconds < 172800) return many(Math.round(seconds / 3600), "hour");
  return many(Math.round(seconds / 86400), "day");
}

export function short(id) {
  return h("code", { title: id }, id.length > 13 ? `${id.slice(0, 12)}…` : id);
}
