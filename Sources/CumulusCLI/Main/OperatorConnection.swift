// How a command reaches a node as its operator: groups of options.
//
// Most commands of operators have `OperatorConnection`: of several nodes they ask the first that
// answers. Commands that do something to one node have `NodeConnection`, those that ask each of
// several have `OperatorAccess`. Commands that users have as well hold `OperatorOption` beside
// `Connection`, whose --token-file is the operator's then.

import ArgumentParser
import Cumulus
import CumulusModel
import CumulusSystem
import CumulusTerminal

struct OperatorOption: ParsableArguments {
    /// The name of --token-file in release 0.1.
    @Option(help: .hidden) var operatorTokenFile: String?

    /// - Parameter tokenFile: The value of --token-file.
    func setting(_ tokenFile: String? = nil) -> Setting {
        Setting(.operatorTokenFile, flag: tokenFile ?? operatorTokenFile)
    }

    /// The token of a profile; a file that is named goes before it.
    var tokenSetting: Setting {
        guard setting().isStandard else { return Setting(.operatorToken, only: nil) }
        return Setting(.operatorToken, flag: nil)
    }

    /// Whether an operator's token is named, or in the profile.
    func isNamed(_ tokenFile: String? = nil) -> Bool {
        !setting(tokenFile).isStandard || !tokenSetting.isStandard
    }

    /// Runs as the operator of one of the nodes.
    ///
    /// - Parameters:
    ///   - tokenFile: The value of --token-file.
    ///   - endpoint: The node's address; nil means the first of the nodes that answers.
    ///   - standard: Seconds of a call, if no others are named.
    func withOperator<Value>(
        of nodes: NodeOptions,
        tokenFile: String?,
        at endpoint: String? = nil,
        timeout standard: Double = 10,
        _ body: (NodeOperator) async throws -> Value
    ) async throws -> Value {
        if setting(tokenFile).isStandard { try nodes.checkAddressees(of: tokenSetting) }
        var configuration = try nodes.configuration(timeout: standard)
        // It may be a pipe, which is read once.
        let token = try token(tokenFile)
        let asked = if let endpoint { endpoint } else { try await nodes.answering(token) }
        configuration.endpoints = [asked]
        let node = NodeOperator(configuration, token: token)
        let result = await Result { try await body(node) }
        await node.close()
        return try result.get()
    }

    private func token(_ tokenFile: String?) throws -> String {
        if let path = setting(tokenFile).file { return try OperatorOption.token(path) }
        let kept = tokenSetting.value
        guard kept.isEmpty else { return kept }
        let other = (try? ProfileFile.read())?.profiles
            .filter { $0.value.values[.operatorToken] != nil }.keys.min()
        throw UsageProblem(
            """
            this needs the operator's token: name its file, operator.token in the node's data \
            directory, with --token-file or CUMULUS_OPERATOR_TOKEN_FILE, or \
            \(other.map { "ask with --profile \($0)" } ?? "keep it with 'cumulus login --operator'")
            """
        )
    }
}

extension OperatorOption {
    /// The operator's token in a file, which a node makes at its first start.
    static func token(_ path: String) throws -> String {
        do {
            return try TokenFile.token(path, "the operator's token")
        } catch let problem as InputProblem where path != "-" && access(path, F_OK) != 0 {
            throw InputProblem(
                problem.message + "; 'cumulusd' makes it in its data directory when it starts"
            )
        }
    }
}

extension NodeOptions {
    /// Seconds that each of several nodes has to answer.
    private static let longestAnswer = 3.0

    /// The first address at which a node answers an operator, and is ready if any of them is.
    ///
    /// A refusal is an answer: the command shows it. Where only one node is named, it is not asked.
    func answering(_ token: String) async throws -> String {
        guard endpoints.count > 1 else { return endpoints[0] }
        var unready: String?
        var problems: [String] = []
        for endpoint in endpoints {
            switch await answer(of: endpoint, token) {
            case .success(let status) where !status.notReady.isEmpty:
                unready = unready ?? endpoint
            case .failure(let error as ServiceError) where error.isUnreachable:
                problems.append(error.message)
            case .success, .failure: return endpoint
            }
        }
        if let unready { return unready }
        throw ServiceError(.networkUnavailable, problems.joined(separator: "; "))
    }

    private func answer(
        of endpoint: String,
        _ token: String
    ) async -> Result<NodeOperator.Status, any Error> {
        await Result {
            var configuration = try self.configuration(timeout: NodeOptions.longestAnswer)
            configuration.endpoints = [endpoint]
            configuration.timeout = min(configuration.timeout, .seconds(NodeOptions.longestAnswer))
            let node = NodeOperator(configuration, token: token)
            let status = await Result { try await node.status() }
            await node.close()
            return try status.get()
        }
    }
}

/// Options for commands that ask any node of a cluster as an operator.
struct OperatorConnection: ParsableArguments {
    @OptionGroup var access: OperatorAccess

    var nodes: NodeOptions { access.nodes }

    func withOperator<Value>(
        timeout standard: Double = 10,
        _ body: (NodeOperator) async throws -> Value
    ) async throws -> Value {
        try await access.withOperator(timeout: standard, body)
    }
}

/// Options for commands that do something to one node, or show it, as its operator.
struct NodeConnection: ParsableArguments {
    @OptionGroup var access: OperatorAccess

    var nodes: NodeOptions { access.nodes }

    func validate() throws {
        try nodes.checkSingle()
    }

    func withOperator<Value>(
        timeout standard: Double = 10,
        _ body: (NodeOperator) async throws -> Value
    ) async throws -> Value {
        try await access.withOperator(timeout: standard, body)
    }
}

/// Options for commands that ask as an operator, one node or several.
struct OperatorAccess: ParsableArguments {
    // `cumulus help connection` shows them.
    @OptionGroup(visibility: .hidden) var nodes: NodeOptions
    @Option(
        help: ArgumentHelp(
            "File or pipe with the operator's token; - is standard input.",
            visibility: .hidden
        )
    )
    var tokenFile: String?
    @OptionGroup var role: OperatorOption

    func validate() throws {
        guard tokenFile == nil || role.operatorTokenFile == nil else {
            throw ValidationError("Name one --token-file.")
        }
    }

    /// - Parameter endpoint: The node's address; nil means the first of the nodes that answers.
    func withOperator<Value>(
        at endpoint: String? = nil,
        timeout standard: Double = 10,
        _ body: (NodeOperator) async throws -> Value
    ) async throws -> Value {
        try await role.withOperator(
            of: nodes,
            tokenFile: tokenFile,
            at: endpoint,
            timeout: standard,
            body
        )
    }
}
