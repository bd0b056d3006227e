// Rules of accounts and roles, which histories of accounts show.
//
// Part of the table `Rule`. `AccountSimulation` breaks them: in some registers the newest write
// stands then, in others it does something else than a node.

extension Rule {
    static let ofAccounts: [Rule: Row] = [
        .version: Row(
            holds: "A session holds the password's version, and ends with it.",
            without: "It doesn't know its password.",
            check: "A1"
        ),
        .apart: Row(
            holds: "A revocation is a register of its own that is never unset.",
            without: "The newest write of a session says whether it is revoked.",
            check: "A1"
        ),
        .generations: Row(
            holds: "A request to end all sessions raises a generation.",
            without: "It revokes the sessions that the node knows.",
            check: "A1"
        ),
        .number: Row(
            holds: "The state of a user is a number that each change raises.",
            without: "The newest write stands.",
            check: "A3"
        ),
        .role: Row(
            holds: "A role is a number that each change raises; at equal numbers it is taken away.",
            without: "The newest write stands.",
            check: "A4"
        ),
        .ids: Row(
            holds: "Passwords and tokens are kept by user id, not by name.",
            without: "A token belongs to a name.",
            check: "A6"
        ),
        .first: Row(
            holds: "The first to register a name keeps it.",
            without: "The last one has it.",
            check: "name"
        ),
        .operator: Row(
            holds: "An operator's password stands over one that was set without knowing of it.",
            without: "The newest write stands.",
            check: "A5"
        ),
        .deletedUsers: Row(
            holds: "Whatever looks up a user asks whether it was deleted.",
            without: "A deletion is a register that nobody reads.",
            check: "A7"
        ),
    ]
}
