// What the console says: that an act is done, what went wrong and where, and a question before an
// act.
//
// Called by the frame and by every page. A problem stands in the page, beside what was pressed, and
// covers nothing. What is done is told in a corner, where it lets clicks through.

import { add, h, problem } from "/console/kit.js";

/// What was pressed last: an act's problem is told beside it.
let pressed = null;

for (const name of ["click", "change", "submit"]) {
  document.addEventListener(name, (event) => { pressed = event.target; }, true);
}

export function tell(text) {
  const line = h("p", {}, text);
  const messages = document.getElementById("messages");
  messages.append(line);
  while (messages.children.length > 2) messages.firstElementChild.remove();
  setTimeout(() => line.remove(), 5000);
}

/// Tells of a problem beside an element, in place of what was told there before.
export function complain(error, element = pressed) {
  const place = placeOf(element?.isConnected ? element : document.getElementById("main"));
  const note = problem(error);
  note.classList.add("told");
  forget(place);
  if (place.matches(".scroll, ul, form > .row, form > .stack > .row")) place.before(note);
  else if (place.matches(".row")) place.after(note);
  else place.append(note);
  note.scrollIntoView({ block: "nearest" });
}

/// The part of the page that an element's problem belongs to.
function placeOf(element) {
  const inList = element.closest("td, th, li")?.closest(".scroll, ul");
  if (inList) return inList;
  const rows = [...(element.closest("form")?.querySelectorAll(".row") ?? [])];
  return element.closest(".row") ?? rows.at(-1) ?? element.closest("form, .card, main, body");
}

/// Removes what was told beside a place.
function forget(place) {
  const around = place.matches(".row, .scroll, ul") ? place.parentElement : place;
  for (const note of around.querySelectorAll(":scope > .told, :scope > .stack > .told")) {
    note.remove();
  }
}

/// Runs an act; tells what went wrong. Returns whether it was done.
export async function attempt(act, done) {
  const element = pressed;
  try {
    await act();
    if (element?.isConnected) forget(placeOf(element));
    if (done) tell(done);
    return true;
  } catch (error) {
    complain(error, element);
    return false;
  }
}

let dialogs = 0;

/// Opens a dialog, which is gone once it is closed; `make` fills it, and gets what closes it.
export function openDialog(title, make) {
  const before = pressed;
  const id = `dialog-${(dialogs += 1)}`;
  const dialog = h("dialog", { "aria-labelledby": id });
  add(dialog, h("h2", { id }, title), make((value) => dialog.close(value)));
  const closed = new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      pressed = before;
      resolve(dialog.returnValue);
    });
  });
  document.body.append(dialog);
  dialog.showModal();
  return closed;
}

/// Asks before an act that can't be taken back; `no` is what stays as it is.
export async function confirm(title, text, label, no = "Cancel") {
  const answer = await openDialog(title, () => h("form", { method: "dialog" },
    h("p", {}, text), h("div", { class: "row" }, h("button", { value: "no" }, no),
      h("button", { class: "main", value: "yes" }, label))));
  return answer === "yes";
}
