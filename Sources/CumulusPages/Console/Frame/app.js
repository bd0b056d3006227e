// The frame around the pages: the way between pages, and the container.
//
// Loaded by `index.html`. It loads the module of one page at a time.
//
// Folder: the frame that all pages of the console share. Read `index.html`, `app.js`, then
// `kit.js`, `forms.js` and `api.js`.

import { get, readSession, session, signInByLink, signOut } from "/console/api.js";
import { actorPart, doorPage } from "/console/door.js";
import { field, hasChanges, mayLeave } from "/console/forms.js";
import { add, button, h, problem, replace, select, svg } from "/console/kit.js";
import { readNames } from "/console/names.js";

/// Name, title, and the strokes of its sign; a line without strokes heads a group.
const pages = [
  ["", "Data"],
  ["containers", "Containers", ["M3 7l9-4 9 4-9 4z", "M3 12l9 4 9-4", "M3 17l9 4 9-4"]],
  ["schema", "Schema", ["M4 5h16v4H4z", "M4 13h9v6H4z", "M17 13h3v6h-3z"]],
  ["records", "Records", ["M5 3h10l4 4v14H5z", "M9 11h6", "M9 15h6"]],
  ["", "Access"],
  ["people", "Users and keys", ["M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7z",
    "M3 20c0-4 3-6 6-6s6 2 6 6", "M16 5a3 3 0 0 1 0 6", "M18 14c2 .6 3 2.6 3 5"]],
  ["sessions", "Sessions", ["M7 2h10v20H7z", "M11 18h2"]],
  ["webapps", "Web apps", ["M3 5h18v14H3z", "M3 9h18", "M6 7h1"]],
  ["webhooks", "Webhooks", ["M4 12h12", "M12 7l5 5-5 5", "M20 5v14"]],
  ["audit", "Audit log", ["M12 3l8 3v6c0 5-4 8-8 9-4-1-8-4-8-9V6z", "M9 12l2 2 4-4"]],
  ["", "Node"],
  ["cluster", "Cluster", ["M12 8a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5z",
    "M5 21a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5z",
    "M19 21a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5z", "M11 8l-5 8", "M13 8l5 8", "M8 19h8"]],
  ["live", "Live", ["M3 13h4l3-8 4 14 3-6h4"]],
  ["logs", "Log", ["M4 5h16", "M4 10h16", "M4 15h10", "M4 20h13"]],
  ["backups", "Backups", ["M4 4h16v5H4z", "M5 9v11h14V9", "M12 12v5", "M9 15l3 3 3-3"]],
  ["settings", "Settings", ["M4 7h9", "M17 7h3", "M15 5v4", "M4 16h3", "M11 16h9", "M9 14v4"]],
  ["sync", "Why no sync?", ["M20 11a8 8 0 0 0-14-4L3 10", "M4 13a8 8 0 0 0 14 4l3-3",
    "M3 5v5h5", "M21 19v-5h-5"]],
];

/// Pages about the node, where no container is chosen.
const ofNode = ["containers", "sessions", "webhooks", "audit", "live", "logs", "backups",
  "settings"];

const frame = document.getElementById("frame");
let stopPage = () => {};
let shown = 0;
/// The address of what is shown.
let way = location.hash;

// The way: #/PAGE/CONTAINER/ENVIRONMENT/...

function place() {
  const [path, search] = location.hash.replace(/^#\/?/, "").split("?");
  const [page, container, environment, ...rest] = path.split("/").map(decodeURIComponent);
  return {
    page: pages.some(([name]) => name && name === page) ? page : "containers",
    scope: { container: container ?? "", environment: environment || "development" },
    rest, values: new URLSearchParams(search ?? ""),
  };
}

export function address(page, scope, rest = [], values = {}) {
  const parts = [page, scope.container, scope.environment, ...rest].map(encodeURIComponent);
  const search = new URLSearchParams(
    Object.entries(values).filter(([, value]) => value !== "" && value !== undefined));
  return `#/${parts.join("/")}${search.size > 0 ? `?${search}` : ""}`;
}

/// Writes what the page shows into the address, so that a reload or a link brings it back.
function remember(to) {
  history.replaceState(null, "", to);
  way = location.hash;
}

function showDoor(reason) {
  stopPage();
  stopPage = () => {};
  document.title = "Sign in · Cumulus console";
  replace(frame, doorPage(open, reason));
}

// The frame

function sign(strokes) {
  return svg("svg", { viewBox: "0 0 24 24", "aria-hidden": "true" },
    strokes.map((d) => svg("path", { d })));
}

async function leave() {
  if (!await mayLeave()) return;
  await signOut();
  showDoor();
}

function side(current, scope, status) {
  const items = pages.map(([name, title, strokes]) => (name
    ? h("li", {}, h("a", { href: address(name, scope),
      "aria-current": name === current ? "page" : undefined }, sign(strokes), title))
    : h("li", { class: "group" }, title)));
  const nav = h("nav", { "aria-label": "Console", id: "pages" }, h("ul", {}, items));
  const menu = button("Menu", () => {
    const isOpen = side.classList.toggle("open");
    menu.setAttribute("aria-expanded", String(isOpen));
  }, "menu", { "aria-expanded": "false", "aria-controls": "pages" });
  const side = add(h("div", { class: "side" }),
    h("div", { class: "brand" },
      h("img", { src: "/console/icon.svg", alt: "" }), h("span", { class: "grow" }, "Cumulus"),
      menu), nav,
    h("footer", {}, h("span", {}, `Node ${status.nodeID.slice(0, 8)}, ${status.version}`),
      h("span", {}, `State: ${status.state}`),
      button("Sign out", leave)));
  return side;
}

function scopeBar(at, containers, names) {
  if (ofNode.includes(at.page)) return null;
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
    field("Environment", environment), h("span", { class: "grow" }),
    actorPart(at.scope, names, open));
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
    // The page is asked for at once; only parts that show names wait for them.
    const names = readNames(at.scope.container ? at.scope : {});
    names.catch(() => {});
    const main = h("main", { id: "main", tabindex: "-1" });
    const heading = h("h1", { tabindex: "-1" }, module.title);
    replace(frame, h("div", { class: "frame" }, side(at.page, at.scope, status),
      h("div", { class: "content" }, scopeBar(at, containers, names), main)));
    document.title = `${module.title} · Cumulus console`;
    main.append(h("div", { class: "head" }, heading,
      h("p", { class: "muted" }, module.about)));
    heading.focus();
    const context = { ...at, containers, status, names, open, address, remember };
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

/// Goes to the page of a new address, unless something there is not saved and is to stay.
async function move() {
  if (!location.hash.startsWith("#/") || location.hash === way) return;
  const to = location.hash;
  if (hasChanges()) {
    history.replaceState(null, "", way || "#/");
    if (!await mayLeave()) return;
    history.replaceState(null, "", to);
  }
  way = to;
  await open();
}

document.addEventListener("signed-out", () => showDoor("The session has ended. Sign in again."));
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  document.getElementById("main")?.focus();
});
window.addEventListener("hashchange", move);

/// The link stands behind the #, which no request carries, and not in the history.
async function begin() {
  const link = location.hash.match(/^#link=([0-9a-f]+)$/)?.[1];
  if (!link) return readSession();
  remember(location.pathname);
  return signInByLink(link);
}

begin().then(open, (error) => showDoor(error.message));
