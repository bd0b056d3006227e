// Fields and forms: what is wrong stands at each field, and what is not saved asks before it goes.
//
// Called by the frame and by pages with forms.

import { add, h } from "/console/kit.js";
import { complain, confirm } from "/console/notices.js";

let fields = 0;

/// A label and its input; `hint` is a line below.
export function field(label, input, { hint, ...props } = {}) {
  if (!input.id) input.id = `field-${(fields += 1)}`;
  const kind = props.class ? `field ${props.class}` : "field";
  const note = hint && h("p", { class: "hint", id: `${input.id}-hint` }, hint);
  if (note) input.setAttribute("aria-describedby", note.id);
  return h("div", { ...props, class: kind }, h("label", { for: input.id }, label), input, note);
}

/// A box to tick and its label.
export function check(label, input) {
  return h("label", { class: "check" }, input, label);
}

/// Says at a field what is wrong with it.
export function fail(input, text) {
  forgive(input);
  const id = `${input.id || input.name}-wrong`;
  input.setAttribute("aria-invalid", "true");
  input.setAttribute("aria-errormessage", id);
  const place = input.closest(".field, fieldset") ?? input.parentElement;
  add(place, h("p", { class: "wrong", id, role: "alert" }, text));
  const once = () => forgive(input);
  input.addEventListener("input", once, { once: true });
}

function forgive(input) {
  input.removeAttribute("aria-invalid");
  input.removeAttribute("aria-errormessage");
  const place = input.closest(".field, fieldset") ?? input.parentElement;
  for (const note of place.querySelectorAll(":scope > .wrong")) note.remove();
}

/// What is wrong with several fields: pairs of an input and a text.
export class Faults extends Error {
  constructor(pairs) {
    super(pairs.map(([, text]) => text).join("; "));
    this.pairs = pairs;
  }
}

/// Says all that is wrong at its fields, and goes to the first of them.
function tellFaults(pairs) {
  for (const [input, text] of pairs) fail(input, text);
  pairs[0][0].focus();
}

/// A form whose act runs on Enter too, one at a time; what the act throws is told in the form.
export function form(run, ...children) {
  let isRunning = false;
  const element = h("form", { novalidate: true, on: { submit: async (event) => {
    event.preventDefault();
    if (isRunning) return;
    isRunning = true;
    try {
      clear(element);
      checkAll(element);
      await run();
    } catch (error) {
      if (error instanceof Faults) tellFaults(error.pairs);
      else complain(error, element);
    } finally {
      isRunning = false;
    }
  } } }, ...children);
  return element;
}

function clear(element) {
  for (const note of element.querySelectorAll(".told")) note.remove();
  for (const input of element.querySelectorAll("[aria-invalid]")) forgive(input);
}

/// The rules that a browser knows, told for all fields at once.
function checkAll(element) {
  const pairs = [...element.elements].filter((input) => input.willValidate && !input.validity.valid)
    .map((input) => [input, input.validationMessage]);
  if (pairs.length > 0) throw new Faults(pairs);
}

// What is not saved

const guards = new Map();

/// Asks before an element goes as long as it is changed.
export function guard(element, isChanged) { guards.set(element, isChanged); }

export function hasChanges() {
  for (const element of guards.keys()) if (!element.isConnected) guards.delete(element);
  return [...guards.values()].some((isChanged) => isChanged());
}

/// Whether what is shown may go: nothing is changed, or the operator gives the changes up.
export async function mayLeave() {
  if (!hasChanges()) return true;
  const isSure = await confirm("Discard your changes?", "What you changed here is not saved.",
    "Discard", "Keep editing");
  if (isSure) guards.clear();
  return isSure;
}

window.addEventListener("beforeunload", (event) => {
  if (hasChanges()) event.preventDefault();
});
