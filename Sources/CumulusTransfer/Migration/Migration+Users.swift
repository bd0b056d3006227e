// The users here who stand for users of the source, and the access tokens as whom a migration acts.
//
// Each user of the source is one user here, and no other's: else one would get what is another's.

import Cumulus
import CumulusModel
import CumulusSystem
import CumulusTerminal

extension Migration {
    /// The users of a text: in each line a record name at the source, a space, and a name here.
    ///
    /// - Throws: `InputProblem` with the number of a line that has another form.
    package static func names(in text: String, of file: String) throws -> [String: String] {
        var names: [String: String] = [:]
        var taken: Set<String> = []
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false)
            .enumerated()
        {
            let line = line.trimmed
            if line.isEmpty { continue }
            let parts = line.split(separator: " ", maxSplits: 1).map { $0.trimmed }
            guard parts.count == 2, Names.isUserRecordName(parts[0]), names[parts[0]] == nil,
                taken.insert(parts[1]).inserted
            else {
                throw InputProblem(
                    "\(file):\(index + 1): write a user record name of the source, a space, and "
                        + "the user's name here, each once"
                )
            }
            names[parts[0]] = parts[1]
        }
        return names
    }

    /// Refuses a name for the user who asks, if this user has another name here or another user has
    /// this one.
    func checkUser() throws {
        let name = wanted(caller)
        if let known = state.users[caller]?.name {
            guard let wanted = options.user, wanted != known else { return }
            throw InputProblem(
                "the user \(caller) of the source is '\(known)' here already, since records of it "
                    + "were copied: leave --user out, or begin anew with another --state and "
                    + "container; --users names users before their records come"
            )
        }
        try checkTaken(name, by: caller)
        guard let other = options.names.first(where: { $0.value == name && $0.key != caller })
        else { return }
        throw Migration.taken(name, other.key, caller)
    }

    private func checkTaken(_ name: String, by user: String) throws {
        guard let other = taken[name], other != user else { return }
        throw Migration.taken(name, other, user)
    }

    private static func taken(_ name: String, _ other: String, _ user: String) -> InputProblem {
        InputProblem(
            "'\(name)' stands for the user \(other) of the source, and can't stand for \(user), "
                + "too: name another user with --user or --users, and see whose token it is"
        )
    }

    /// The name here that a user of the source gets.
    private func wanted(_ user: String) -> String {
        options.names[user]
            ?? (user == caller && !user.isEmpty ? options.user : nil) ?? "migrated\(user)"
    }

    /// Makes the users here who stand for users of the source.
    func needUsers(_ names: some Sequence<String>) async throws {
        var isNew = false
        for name in Set(names).sorted() where state.users[name] == nil {
            guard !isVerifying else {
                throw InputProblem(
                    "the user '\(name)' of the source is none here yet: run it without --verify"
                )
            }
            let wanted = wanted(name)
            try checkTaken(wanted, by: name)
            let made = try await target.user(named: wanted)
            state.users[name] = made
            taken[made.name] = name
            isNew = true
        }
        if isNew { try keep() }
    }

    // MARK: Access tokens

    /// The container here as the user sees it who stands for one of the source.
    func container(of user: String) async throws -> Container {
        try await target.container(of: user) { try noteSession($0, of: user) }
    }

    /// Ends the access tokens that this migration made here, or one that was interrupted.
    func endSessions() async throws {
        for (user, ids) in state.sessions.sorted(by: { $0.key < $1.key }) {
            for id in ids { try await target.revoke(id, of: user) }
            state.sessions[user] = nil
        }
        try keep()
    }

    private func noteSession(_ id: String, of user: String) throws {
        state.sessions[user, default: []].append(id)
        try keep()
    }
}
