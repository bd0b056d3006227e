// The names of users in place of their ids, as far as the node knows them.
//
// Called by the frame, and by pages that tell who did or has something.

import { get } from "/console/api.js";
import { h } from "/console/kit.js";

/// A user's name that stands for an id of a container and environment.
export class Names {
  constructor(users) {
    this.users = users;
    this.byRecord = new Map(users.map((user) => [user.recordName, user.name]));
    this.byID = new Map(users.map((user) => [user.id, user.name]));
  }

  /// The name of a user record name, or of an id of accounts; empty if the node knows none.
  of(id) { return this.byRecord.get(id) ?? this.byID.get(id) ?? ""; }

  /// A user as a page shows it; the id stands in the title.
  who(id) {
    if (!id) return "–";
    const name = this.of(id);
    return name ? h("span", { title: id }, name)
      : h("code", { title: id }, id.length > 13 ? `${id.slice(0, 12)}…` : id);
  }
}

/// Asks for the names of a container's users.
export async function readNames(scope) {
  const { users } = await get("users", scope);
  return new Names(users);
}
