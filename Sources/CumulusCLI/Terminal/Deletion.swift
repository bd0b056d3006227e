// How commands delete something for good: they say what goes along, ask for the name once more, and
// tell what is gone.
//
// Used by `cumulus user delete` and `cumulus container delete`. Without a terminal nobody can be
// asked: then nothing is deleted without --yes.

import ArgumentParser
import Cumulus
import CumulusModel
import CumulusSystem
import CumulusTerminal

/// The options of a command that deletes something for good.
struct DeletionOptions: ParsableArguments {
    @Flag(help: "Delete without asking.") var yes = false
    @OptionGroup var connection: OperatorConnection
    @OptionGroup var output: OutputOptions

    /// Shows what goes along, asks, and deletes.
    ///
    /// - Parameters:
    ///   - kind: The word for what is deleted: it stands before the name.
    ///   - delete: Deletes it, or only says what goes along if it is told so.
    func delete(
        _ kind: String,
        _ name: String,
        _ delete: @escaping @Sendable (NodeOperator, Bool) async throws -> NodeOperator.Deletion
    ) async throws {
        if !yes {
            let found = try await connection.withOperator { try await delete($0, true) }
            writeToStandardError(Table.aligned(found.rows(of: kind, name)) + "\n")
            try confirm(kind, name)
        }
        let gone = try await connection.withOperator { try await delete($0, false) }
        try output.show(
            .object([JSON.Member(kind, .string(name))] + gone.members),
            rows: gone.rows(of: kind, name) + [["state", "deleted"]]
        )
        complain(
            "Each node deletes the data as soon as it has heard of it, a little at a time; logs "
                + "and the conflict log keep what was in them until they are dropped, after a "
                + "month at most."
        )
    }

    private func confirm(_ kind: String, _ name: String) throws {
        guard isatty(STDIN_FILENO) == 1 else {
            throw UsageProblem("nobody can be asked here; --yes deletes \(kind) '\(name)'")
        }
        writeToStandardError("This can't be undone. Type the name of the \(kind) to delete it: ")
        guard readLine()?.trimmed == name else {
            throw InputProblem("that is another name; nothing was deleted")
        }
    }
}

extension NodeOperator.Deletion {
    fileprivate var members: [JSON.Member] {
        let backups = backups.map { backup in
            JSON.object([
                .init("path", .string(backup.path)), .init("made", .string(backup.made.text)),
            ])
        }
        return Kind.allCases.map {
            JSON.Member($0.rawValue, .integer(Int64(clamping: counts[$0] ?? 0)))
        } + [JSON.Member("backups", .array(backups))]
    }

    /// The counts that are not zero, and the backups.
    fileprivate func rows(of kind: String, _ name: String) -> [[String]] {
        var rows = [[kind, name]]
        for kind in Kind.allCases {
            if let count = counts[kind], count > 0 { rows.append([kind.text, "\(count)"]) }
        }
        return rows + backups.map { ["still in the backup", "\($0.path), made \($0.made.text)"] }
    }
}

extension NodeOperator.Deletion.Kind {
    fileprivate var text: String {
        switch self {
        case .bytes: "bytes of records"
        case .assetBytes: "bytes of assets"
        case .shares: "shares that end"
        case .joinedShares: "shares of others"
        case .keys: "service keys"
        case .users: "users with data"
        case .zones, .records, .assets, .subscriptions, .roles, .sessions, .handles: rawValue
        }
    }
}
