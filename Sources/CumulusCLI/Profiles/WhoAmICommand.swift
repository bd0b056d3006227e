// `cumulus whoami`: who asks, where, and whether the node takes the token.

import ArgumentParser
import Cumulus
import CumulusModel
import CumulusTerminal

struct WhoAmICommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "whoami",
        abstract: "Show profile, server and who asks, and whether the node takes the token.",
        discussion: help(
            "cumulus whoami",
            "cumulus whoami --profile work --json",
            "cumulus whoami --operator --token-file operator.token",
            note: """
                It asks as other commands do: as a user, if a token of one is named or in the \
                profile; as a server, if a key is named; else as the operator whose token is \
                named or in the profile. A token that the node refuses is exit code 1. 'cumulus \
                config show' says where each value comes from, and asks nobody.
                """
        )
    )

    @Flag(name: .customLong("operator"), help: "Ask as the operator.") var isOperator = false
    @OptionGroup(visibility: .hidden) var operatorOption: OperatorOption
    @OptionGroup(visibility: .hidden) var connection: Connection
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let role = role
        let answer = await Result { try await ask(role) }
        if case .failure(let error) = answer, !isRefusal(error) { throw error }
        try output.show(
            .object(members(role, answer)),
            rows: rows(role, answer)
        )
        if case .failure = answer { throw ExitCode.refused }
    }

    private var role: CallerRole {
        if isOperator { return .operator }
        let isOperators = connection.role == .nobody && operatorOption.isNamed()
        return isOperators ? .operator : connection.role
    }

    /// The record name of the user, or the id of the node whose operator asks; nil for nobody.
    private func ask(_ role: CallerRole) async throws -> String? {
        switch role {
        case .nobody: nil
        case .user, .server:
            try await connection.withContainer { try await $0.userRecordID().recordName }
        case .operator:
            try await operatorOption.withOperator(
                of: connection.nodes,
                tokenFile: connection.tokenFile
            ) { try await $0.status().nodeID }
        }
    }

    private func isRefusal(_ error: any Error) -> Bool {
        (error as? ServiceError)?.code == .notAuthenticated
    }

    // MARK: Output

    private func value(_ name: Setting.Name) -> String {
        connection.settings.first { $0.name == name }?.value ?? ""
    }

    /// The name of the user, which only a profile knows.
    private var user: String? {
        guard connection.isOfProfile, let name = Setting.usableProfile?.name else { return nil }
        return try? ProfileFile.read().profiles[name]?.user
    }

    private func members(
        _ role: CallerRole,
        _ answer: Result<String?, any Error>
    ) -> [JSON.Member] {
        let id = (try? answer.get()).flatMap(\.self).map(JSON.string) ?? .null
        let accepted: JSON = role == .nobody ? .null : .bool((try? answer.get()) != nil)
        var members: [JSON.Member] = [
            .init("profile", Setting.usableProfile.map { .string($0.name) } ?? .null),
            .init("endpoint", .string(value(.endpoint))),
            .init("container", .string(value(.container))),
            .init("environment", .string(value(.environment))),
            .init("as", .string(role.rawValue)),
            .init("user", user.map(JSON.string) ?? .null),
            .init("recordName", role == .operator ? .null : id),
            .init("node", role == .operator ? id : .null), .init("accepted", accepted),
        ]
        if let problem = problem(answer) { members.append(.init("problem", .string(problem))) }
        return members
    }

    private func rows(_ role: CallerRole, _ answer: Result<String?, any Error>) -> [[String]] {
        let id = (try? answer.get()).flatMap(\.self)
        var state = problem(answer).map { "refused: \($0)" } ?? "accepted"
        // A token that is named goes before the profile's.
        if Setting.usableProfile != nil, role == .user, let source = connection.tokenSource {
            state += " (of \(source), not of the profile)"
        }
        let rows = [
            ["profile", Setting.usableProfile?.name ?? "none"], ["endpoint", value(.endpoint)],
            ["container", value(.container)], ["environment", value(.environment)],
            ["as", role.rawValue], user.map { ["user", $0] },
            id.map { [role == .operator ? "node" : "recordName", $0] },
            role == .nobody ? nil : [role == .server ? "key" : "token", state],
        ]
        return rows.compactMap(\.self)
    }

    private func problem(_ answer: Result<String?, any Error>) -> String? {
        guard case .failure(let error) = answer else { return nil }
        return (error as? ServiceError)?.message ?? "\(error)"
    }
}
