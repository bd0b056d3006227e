// Calls of the console's node: JSON, the session's cookie, and its secret on each change.
//
// Called by the frame and by every page.

export const session = { isSignedIn: false, token: "", user: null };

export class CallError extends Error {
  constructor(status, body) {
    super(body.reason ?? `The node answered with status ${status}.`);
    this.status = status;
    this.code = body.serverErrorCode ?? "";
  }
}

async function call(name, options) {
  let response;
  try {
    response = await fetch(`/console/api/${name}`, {
      credentials: "same-origin", cache: "no-store", redirect: "error", ...options,
    });
  } catch {
    throw new CallError(0, { reason: "The node does not answer. Is it running?" });
  }
  const body = await response.json().catch(() => ({}));
  if (response.status === 401 && session.isSignedIn) {
    session.isSignedIn = false;
    document.dispatchEvent(new Event("signed-out"));
  }
  if (!response.ok) throw new CallError(response.status, body);
  return body;
}

function query(values) {
  const text = new URLSearchParams(
    Object.entries(values).filter(([, value]) => value !== undefined && value !== ""));
  // The node reads percent-encoding, and no plus signs.
  return text.size > 0 ? `?${text.toString().replaceAll("+", "%20")}` : "";
}

/// Asks; nothing changes.
export function get(name, values = {}) { return call(name + query(values), {}); }

/// Changes something.
export function post(name, values = {}) {
  return call(name, {
    method: "POST", body: JSON.stringify(values),
    headers: { "Content-Type": "application/json", "X-Console-Token": session.token },
  });
}

/// Bytes of a file that the node takes.
export const mostFileBytes = Number(document.documentElement.dataset.mostFileBytes);

/// Uploads a file, as the user of the session; returns what the record's field takes.
export async function upload(values, file) {
  // A file that can't be read, or changed since it was chosen, fails here.
  await file.slice(0, 1).arrayBuffer();
  const { singleFile } = await call(`asset/upload${query(values)}`, {
    method: "POST", body: file, headers: { "Content-Type": "application/octet-stream",
      "X-Console-Token": session.token },
  });
  return singleFile;
}

/// An endpoint of web services, as the operator or as the user of the session.
export function web(scope, database, endpoint, values = {}, as = "") {
  const container = encodeURIComponent(scope.container);
  const path = `database/1/${container}/${scope.environment}/${database}/${endpoint}`;
  return post(path + query({ as }), values);
}

/// The URL of an asset's bytes.
export function assetURL(values) { return `/console/api/asset${query(values)}`; }

export async function readSession() { take(await get("session")); }

export async function signIn(token) { take(await post("session", { token })); }

/// Signs in by a link of `cumulus console`, which is good once.
export async function signInByLink(link) { take(await post("session", { link })); }

export async function signOut() {
  await post("session/end").catch(() => {});
  take({ isSignedIn: false });
}

export async function actAsUser(values) { take(await post("user", values)); }

export async function stopActing() { take(await post("user/end")); }

function take(answer) {
  session.isSignedIn = answer.isSignedIn;
  session.token = answer.token ?? "";
  session.user = answer.user ?? null;
}

/// Whether the session's user belongs to a scope.
export function actsIn(scope) {
  return session.user !== null && session.user.container === scope.container
    && session.user.environment === scope.environment;
}
