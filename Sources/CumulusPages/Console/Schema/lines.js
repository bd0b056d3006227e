// A text with numbers before its lines. A line with a mistake is marked.

import { h, mark, replace } from "/console/kit.js";

/// An editor of a text, or its view if it can't be changed.
///
/// `changed` is called with the text, a moment after the last key.
export function lineEditor({ name, label, isFixed, changed }) {
  const numbers = h("div", { class: "numbers", "aria-hidden": "true" });
  const area = h("textarea", { name, spellcheck: "false", wrap: "off", readonly: isFixed,
    autocapitalize: "off", autocomplete: "off", "aria-label": label });
  const note = h("p", { class: "wrong", role: "alert", id: `${name}-wrong` });
  note.hidden = true;
  const element = h("div", { class: "lines" }, numbers, area);
  let timer = 0;
  let wrong = 0;

  function draw() {
    const count = area.value.split("\n").length;
    if (numbers.children.length === count && !numbers.querySelector(".bad") && !wrong) return;
    replace(numbers, Array.from({ length: count }, (_, place) =>
      h("span", { class: place + 1 === wrong ? "bad" : "" }, place + 1)));
  }

  area.addEventListener("input", () => {
    draw();
    clearTimeout(timer);
    timer = setTimeout(() => changed(area.value), 300);
  });
  area.addEventListener("scroll", () => { numbers.scrollTop = area.scrollTop; });

  return {
    element, note,
    get value() { return area.value; },
    set(text) {
      if (area.value === text) return;
      area.value = text;
      draw();
    },
    /// Marks what can't be read, or nothing.
    mark(problem) {
      wrong = problem?.line ?? 0;
      draw();
      note.hidden = !problem;
      note.textContent = !problem ? "" : problem.line > 0
        ? `Line ${problem.line}: ${problem.message}` : problem.message;
      if (problem) area.setAttribute("aria-invalid", "true");
      else area.removeAttribute("aria-invalid");
      if (problem) area.setAttribute("aria-errormessage", note.id);
    },
    /// Shows the line that contains a text.
    reveal(text) {
      const before = area.value.slice(0, Math.max(0, area.value.indexOf(text)));
      const height = area.scrollHeight / Math.max(1, area.value.split("\n").length);
      area.scrollTop = Math.max(0, before.split("\n").length - 2) * height;
    },
  };
}
