// Page: web apps whose API tokens the nodes accept: those that are registered in the cluster, and
// those of the node's file.

import { get, post } from "/console/api.js";
import { check, fail, field, form } from "/console/forms.js";
import { badge, bytes, button, dotted, h, replace, show } from "/console/kit.js";
import { attempt, confirm, openDialog, tell } from "/console/notices.js";
import { table } from "/console/table.js";

export const title = "Web apps";
export const about = "Apps in browsers that may call this cluster, and the origins of their pages.";

/// Bytes of a logo.
const mostLogoBytes = 65536;

export function page(main, { scope }) {
  if (!scope.container) return void main.append(h("p", {}, "Create a container first."));
  const place = h("div", { class: "stack" });
  main.append(place);
  const fill = () => show(place, async () => {
    const { registered, isSet, apps } = await get("webapps", scope);
    return [ofCluster(scope, registered, fill), isSet && ofFile(apps)];
  });
  return void fill();
}

function ofCluster(scope, apps, fill) {
  const add = button("Add a web app…", () => edit(scope, null, fill), "main");
  const list = table("Registered web apps", [
    ["Name", (app) => [h("b", {}, app.name), app.title && h("div", {}, app.title)], "wrap"],
    ["API token", (app) => h("code", {}, app.token), "wrap"],
    ["Origins", (app) => origins(app), "wrap"],
    ["Signed-in users", (app) => app.callback || "by a message to the page", "wrap"],
    ["Logo", (app) => (app.logoBytes > 0 ? bytes(app.logoBytes) : "–")],
    ["", (app) => [button("Change…", () => edit(scope, app, fill), "little"),
      button("Remove…", () => remove(scope, app, fill), "little bad")], "acts"],
  ], apps, "No web app is registered here.");
  return h("section", { class: "card stack" }, h("div", { class: "row" },
    h("h2", { class: "grow" }, "Registered web apps"), add), list, h("p", { class: "small muted" },
    "All nodes of the cluster know these apps. An API token is no secret: it stands in the app's "
      + "pages, and the origins say whose pages may use it."));
}

function origins(app) {
  if (app.origins.length === 0) return badge("any", "warn");
  return app.origins.map((each) => h("div", {}, each));
}

async function remove(scope, app, fill) {
  const isSure = await confirm(`Remove ${app.name}?`, "Its API token is refused from now on, and "
    + "who is signed in through it is signed out. What its users saved stays.", "Remove");
  if (!isSure) return;
  const act = () => post("webapps/remove", { ...scope, name: app.name });
  if (await attempt(act, `${app.name} is removed.`)) fill();
}

// The form

function edit(scope, app, fill) {
  return openDialog(app ? `Change ${app.name}` : "Add a web app", (close) => {
    const name = h("input", { name: "app-name", required: true, value: app?.name ?? "",
      readonly: Boolean(app), autocomplete: "off" });
    const label = h("input", { name: "app-title", value: app?.title ?? "", maxlength: "255" });
    const pages = h("textarea", { name: "app-origins", rows: "3" },
      (app?.origins ?? []).join("\n"));
    const isOpen = h("input", { type: "checkbox", name: "app-any",
      checked: app ? app.origins.length === 0 : false });
    const callback = h("input", { name: "app-callback", value: app?.callback ?? "",
      class: "mono" });
    const logo = h("input", { type: "file", name: "app-logo", accept: "image/png,image/jpeg" });
    const noLogo = h("input", { type: "checkbox", name: "app-no-logo" });
    const save = async () => {
      const list = pages.value.split(/\s+/).filter(Boolean);
      if (list.length === 0 && !isOpen.checked) {
        return fail(pages, "Name the origins of the app's pages, or let all use the token.");
      }
      const picture = await read(logo);
      if (picture === null) return;
      await post("webapps/set", { ...scope, name: name.value, isNew: !app,
        token: app?.token ?? "", title: label.value, origins: isOpen.checked ? [] : list,
        callback: callback.value, logo: picture, removesLogo: noLogo.checked });
      close();
      tell(`${name.value} is ${app ? "changed" : "registered"}.`);
      fill();
    };
    return form(save, h("div", { class: "stack" }, field("Name", name),
      field("Title", label, { hint: "The page to sign in at shows it." }),
      field("Origins of its pages, one in a line", pages,
        { hint: "Scheme, host and port as browsers show them, without a path." }),
      check("Pages of all origins may use the token", isOpen),
      field("URL for signed-in users", callback,
        { hint: "Without one, the page that asks gets a message." }),
      field("Logo", logo, { hint: "PNG or JPEG of at most 64 KiB." }),
      app?.logoBytes > 0 && check("Remove the logo", noLogo),
      h("div", { class: "row" }, button("Cancel", () => close()),
        h("button", { class: "main" }, app ? "Save" : "Add"))));
  });
}

/// The chosen file as base64; null if it is too large, which stands at the field then.
async function read(input) {
  const [file] = input.files;
  if (!file) return "";
  if (file.size > mostLogoBytes) {
    fail(input, "This file has more than 64 KiB; make the picture smaller.");
    return null;
  }
  const content = new Uint8Array(await file.arrayBuffer());
  return btoa(Array.from(content, (byte) => String.fromCharCode(byte)).join(""));
}

// The file

function ofFile(apps) {
  const place = h("section", { class: "card stack" });
  replace(place, h("h2", {}, "Web apps of this node's file"), table("Web apps of the file", [
    ["Id", (app) => h("code", {}, app.id)], ["Container", (app) => dotted(app.container), "wrap"],
    ["Environment", (app) => app.environment], ["Origins", (app) => origins(app), "wrap"],
    ["Signed-in users", (app) => app.callback ?? "by a message to the page", "wrap"],
  ], apps, "The file names no apps."),
  h("p", { class: "small muted" }, "They stand in the file of --web-apps, which is read again when "
    + "it changes. Where the cluster has an app with the same token or name, that one counts. "
    + "Tokens of the file are not shown; an app's id is the beginning of its token's SHA-256."));
  return place;
}
