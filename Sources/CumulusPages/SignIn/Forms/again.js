// Says that two new passwords differ before the form is sent.
//
// Loaded by `page.html`. The node looks, too: forms work without this script.
//
// Folder: what people fill in at these pages. Read `form.html`, then `register.html`,
// `password.html` and `reset.html`.

"use strict";

const again = document.querySelector("input[name=again]");
const first = document.querySelector("input[autocomplete=new-password]");
if (again && first) {
  const judge = () => again.setCustomValidity(
    again.value === first.value ? "" : "The two passwords differ.");
  first.addEventListener("input", judge);
  again.addEventListener("input", judge);
}
