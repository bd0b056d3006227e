// The frame around the pages: signing in, the way between pages, and the container.
//
// Loaded by `index.html`. It loads the module of one page at a time.
//
// Folder: the frame that all pages of the console share. Read `index.html`, `app.js`, then
// `kit.js` and `api.js`.

import { actAsUser, actsIn, get, readSession, session, signIn, signOut, stopActing }
  from "/console/api.js";
import { attempt, button, field, form, h, problem, replace, select, svg, tell }
  from "/console/kit.js";

/// Name, title, module, and the strokes of its sign.
const pages = [
  ["containers", "Containers", ["M3 7l9-4 9 4-9 4z", "M3 12l9 4 9-4", "M3 17l9 4 9-4"]],
  ["schema", "Schema", ["M4 5h16v4H4z", "M4 13h9v6H4z", "M17 13h3v6h-3z"]],
  ["records", "Records", ["M5 3h10l4 4v14H5z", "M9 11h6", "M9 15h6"]],
  ["people", "Users and keys", ["M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7z",
    "M3 20c0-4 3-6 6-6s6 2 6 6", "M16 5a3 3 0 0 1 0 6", "M18 14c2 .6 3 2.6 3 5"]],
  ["cluster", "Cluster", ["M12 8a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5z",
    "M5 21a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5z",
    "M19 21a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5z", "M11 8l-5 8", "M13 8l5 8", "M8 19h8"]],
  ["live", "Live", ["M3 13h4l3-8 4 14 3-6h4"]],
  ["sync", "Why no sync?", ["M20 11a8 8 0 0 0-14-4L3 10", "M4 13a8 8 0 0 0 14 4l3-3",
    "M3 5v5h5", "M21 19v-5h-5"]],
];

const frame = document.getElementById("frame");
let stopPage = () => {};
let shown = 0;

// The way: #/PAGE/CONTAINER/ENVIRONMENT/...

function place() {
  const [path, search] = location.hash.replace(/^#\/?/, "").split("?");
  const [page, container, environment, ...rest] = path.split("/").map(decodeURIComponent);
  return {
    page: pages.some(([name]) => name === page) ? page : "containers",
    scope: { container: container ?? "", environment: environment || "development" },
    rest, values: new URLSearchParams(search ?? ""),
  };
}

export function address(page, scope, rest = [], values = {}) {
  const parts = [page, scope.container, scope.environment, ...rest].map(encodeURIComponent);
  const search = new URLSearchParams(values);
  return `#/${parts.join("/")}${search.size > 0 ? `?${search}` : ""}`;
}

// Signing in

function showDoor(error) {
  stopPage();
  stopPage = () => {};
  document.title = "Sign in · Cumulus console";
  const token = h("input", { type: "password", required: true, autocomplete: "off",
    class: "mono", name: "token" });
  const note = h("div");
  replace(frame, h("main", { class: "door", id: "main" }, h("div", { class: "card" },
    h("img", { src: "/console/icon.svg", alt: "" }), h("h1", {}, "Cumulus console"),
    h("p", { class: "muted" }, "Sign in with the operator token of this node. It stands "
      + "in the file operator.token in the node's data directory."),
    form(async () => {
      try {
        await signIn(token.value);
        await open();
      } catch (reason) {
        replace(note, problem(reason));
        token.select();
      }
    }, h("div", { class: "stack" }, field("Operator token", token), note,
      h("button", { class: "main" }, "Sign in"))))));
  if (error) replace(note, problem(error));
  token.focus();
}

// Acting as a user

function askForUser(scope) {
  const name = h("input", { name: "name", autocomplete: "off", required: true });
  const password = h("input", { type: "password", name: "password", autocomplete: "off" });
  const token = h("input", { type: "password", name: "accessToken", autocomplete: "off" });
  const note = h("div");
  const dialog = h("dialog", { "aria-labelledby": "actor-title" });
  token.addEventListener("input", () => { name.required = token.value === ""; });
  dialog.append(form(async () => {
    const who = token.value ? { accessToken: token.value }
      : { name: name.value, password: password.value };
    try {
      await actAsUser({ ...scope, ...who });
      dialog.close();
      await open();
      tell(`You act as ${name.value || session.user.recordName} now.`);
    } catch (error) {
      replace(note, problem(error));
    }
  }, h("h2", { id: "actor-title" }, "Act as a user"),
  h("p", { class: "muted small" }, "Private and shared records, and all edits, need the "
    + `rights of a user. It signs in to ${scope.container}, ${scope.environment}.`),
  h("div", { class: "stack" }, field("Name", name), field("Password", password),
    field("or an access token", token), note),
  h("div", { class: "row" }, button("Cancel", () => dialog.close()),
    h("button", { class: "main" }, "Act as this user"))));
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

function actorPart(scope) {
  if (!scope.container) return null;
  if (!actsIn(scope)) return button("Act as a user…", () => askForUser(scope));
  const name = h("b", {}, session.user.recordName);
  get("users", scope).then(({ users }) => {
    const user = users.find((other) => other.recordName === session.user?.recordName);
    if (user) replace(name, user.name);
  }, () => {});
  return h("span", { class: "row middle" },
    h("span", { class: "small" }, "Acting as ", name),
    button("Stop", async () => {
      if (await attempt(stopActing)) await open();
    }, "little"));
}

// The frame

function sign(strokes) {
  return svg("svg", { viewBox: "0 0 24 24", "aria-hidden": "true" },
    strokes.map((d) => svg("path", { d })));
}

function side(current, scope, status) {
  const items = pages.map(([name, title, strokes]) => h("li", {}, h("a", {
    href: address(name, scope), "aria-current": name === current ? "page" : undefined,
  }, sign(strokes), title)));
  return h("div", { class: "side" },
    h("div", { class: "brand" },
      h("img", { src: "/console/icon.svg", alt: "" }), "Cumulus"),
    h("nav", { "aria-label": "Console" }, h("ul", {}, items)),
    h("footer", {}, h("span", {}, `Node ${status.nodeID.slice(0, 8)}, ${status.version}`),
      h("span", {}, `State: ${status.state}`),
      button("Sign out", async () => { await signOut(); showDoor(); })));
}

function scopeBar(at, containers) {
  const container = select(containers, at.scope.container, { name: "container" });
  const environment = select(["development", "production"], at.scope.environment,
    { name: "environment" });
  const move = () => {
    const scope = { container: container.value, environment: environment.value };
    location.hash = address(at.page, scope);
  };
  container.addEventListener("change", move);
  environment.addEventListener("change", move);
  return h("header", { class: "bar" }, field("Container", container),
    field("Environment", environment), h("span", { class: "grow" }), actorPart(at.scope));
}

export async function open() {
  const number = (shown += 1);
  stopPage();
  stopPage = () => {};
  if (!session.isSignedIn) return showDoor();
  const at = place();
  try {
    const [{ containers }, status, module] = await Promise.all([
      get("containers"), get("status"), import(`/console/${at.page}.js`),
    ]);
    if (number !== shown) return;
    if (!containers.includes(at.scope.container)) {
      at.scope.container = containers[0] ?? "";
    }
    const main = h("main", { id: "main", tabindex: "-1" });
    const heading = h("h1", { tabindex: "-1" }, module.title);
    replace(frame, h("div", { class: "frame" }, side(at.page, at.scope, status),
      h("div", { class: "content" }, scopeBar(at, containers), main)));
    document.title = `${module.title} · Cumulus console`;
    main.append(h("div", { class: "head" }, heading,
      h("p", { class: "muted" }, module.about)));
    heading.focus();
    const context = { ...at, containers, status, open, address };
    stopPage = (await module.page(main, context)) ?? (() => {});
    if (number !== shown) stopPage();
  } catch (error) {
    if (session.isSignedIn && number === shown) {
      replace(frame, h("main", { class: "door", id: "main" },
        h("div", { class: "card stack" }, problem(error),
          button("Try again", open, "main"))));
    }
  }
}

document.addEventListener("signed-out", () => showDoor({
  message: "The session has ended. Sign in again.",
}));
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  document.getElementById("main")?.focus();
});
window.addEventListener("hashchange", () => {
  if (location.hash.startsWith("#/")) open();
});

readSession().then(open, (error) => showDoor(error));
