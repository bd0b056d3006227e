// Who works with the console: the operator who signs in, and the user for whom it acts.
//
// Called by `app.js`, and by pages that need a user's rights.

import { actAsUser, actsIn, session, signIn, stopActing } from "/console/api.js";
import { fail, field, form, mayLeave } from "/console/forms.js";
import { button, h, replace } from "/console/kit.js";
import { attempt, openDialog, tell } from "/console/notices.js";

/// The page that asks for the operator token; `enter` is called once it is good.
export function doorPage(enter, reason) {
  const token = h("input", { type: "password", required: true, autocomplete: "off",
    class: "mono", name: "token" });
  const page = h("main", { class: "door", id: "main", tabindex: "-1" }, h("div", { class: "card" },
    h("img", { src: "/console/icon.svg", alt: "" }), h("h1", {}, "Cumulus console"),
    h("p", { class: "muted" }, "Sign in with the operator token of this node. It stands "
      + "in the file operator.token in the node's data directory."),
    form(async () => {
      try {
        await signIn(token.value);
      } catch (error) {
        fail(token, error.message);
        token.select();
        return;
      }
      await enter();
    }, h("div", { class: "stack" }, field("Operator token", token),
      reason && h("p", { class: "small muted", role: "status" }, reason),
      h("div", { class: "row" }, h("button", { class: "main grow" }, "Sign in"))))));
  queueMicrotask(() => token.focus());
  return page;
}

// Acting as a user

/// Asks for a user's name and password, or a token; `done` is called once the operator acts.
export function askForUser(scope, done) {
  const name = h("input", { name: "name", autocomplete: "off" });
  const password = h("input", { type: "password", name: "password", autocomplete: "off" });
  const token = h("input", { type: "password", name: "accessToken", autocomplete: "off" });
  return openDialog("Act as a user", (close) => form(async () => {
    if (!token.value && !name.value) return fail(name, "Write a name, or an access token below.");
    const who = token.value ? { accessToken: token.value }
      : { name: name.value, password: password.value };
    try {
      await actAsUser({ ...scope, ...who });
    } catch (error) {
      return fail(token.value ? token : password, error.message);
    }
    close();
    await done();
    tell(`You act as ${name.value || session.user.recordName} now.`);
  }, h("p", { class: "muted small" }, "Private and shared records, and all edits, need the "
    + `rights of a user. It signs in to ${scope.container}, ${scope.environment}.`),
  h("div", { class: "stack" }, field("Name", name), field("Password", password),
    field("or an access token", token)),
  h("div", { class: "row" }, button("Cancel", () => close()),
    h("button", { class: "main" }, "Act as this user"))));
}

/// Says as whom the operator acts, or offers it.
export function actorPart(scope, names, done) {
  if (!scope.container) return null;
  if (!actsIn(scope)) {
    return button("Act as a user…", async () => {
      if (await mayLeave()) askForUser(scope, done);
    });
  }
  const name = h("b", {}, session.user.recordName);
  names.then((names) => replace(name, names.who(session.user?.recordName)), () => {});
  return h("span", { class: "row middle" },
    h("span", { class: "small" }, "Acting as ", name),
    button("Stop", async () => {
      if (await mayLeave() && await attempt(stopActing)) await done();
    }, "little"));
}
