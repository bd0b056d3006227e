// An operator's connection to one node: the calls of `cumulus` that need the operator token.
//
// The command line uses it. The token lies in the node's data directory. Each other file of this
// folder holds the values and calls of one subject.
//
// Folder: what an operator asks of a node. Read `NodeOperator`, which sends the calls, then the
// subject: `NodeOperator+Status`, `NodeOperator+Members`, `NodeOperator+Accounts`.

import CumulusModel
import CumulusTransport
import CumulusWire

package struct NodeOperator: Sendable {
    let core: ClientCore

    package init(endpoint: String, token: String, timeout: Duration = .seconds(10)) {
        var configuration = Container.Configuration(endpoints: [endpoint])
        configuration.timeout = timeout
        self.init(configuration, token: token)
    }

    /// Reaches a node as the configuration says.
    package init(_ configuration: Container.Configuration, token: String) {
        var hello = Hello()
        hello.role = WireRole.operator.rawValue
        hello.software = "Cumulus for Swift"
        hello.softwareVersion = Release.version
        hello.token = Array(token.utf8)
        core = ClientCore(
            ClientSettings(configuration, hello: hello),
            environment: .system(configuration)
        )
    }

    /// The address of the node, as the configuration has it.
    package var endpoint: String { core.settings.endpoints.first ?? "" }

    package func close() async {
        await core.close()
    }

    /// Joins a list that comes in several messages.
    func list<Item>(
        _ method: Method,
        message: Bytes = [],
        container: String? = nil,
        _ environment: Environment? = nil,
        repeats: Bool = true,
        _ decode: (Bytes) throws -> [Item]
    ) async throws -> [Item] {
        let header = CallHeader(method, in: container, environment)
        let messages =
            repeats
            ? try await core.read(method, message, header: header)
            : try await core.once(message, header: header)
        return try decoding { try messages.flatMap(decode) }
    }

    func call<Value>(
        _ method: Method,
        name: Bytes? = nil,
        message: Bytes = [],
        container: String? = nil,
        _ environment: Environment? = nil,
        repeats: Bool = true,
        _ decode: (Bytes) throws -> Value
    ) async throws -> Value {
        let header = CallHeader(method, in: container, environment)
        let message = name.map { BytesRequest($0).encoded() } ?? message
        let messages =
            repeats
            ? try await core.read(method, message, header: header)
            : try await core.once(message, header: header)
        return try decoding { try decode(messages.first ?? []) }
    }
}

extension CallHeader {
    fileprivate init(_ method: Method, in container: String?, _ environment: Environment?) {
        self.init(method)
        self.container = Bytes((container ?? "").utf8)
        self.environment = environment.map { UInt32($0.rawValue) } ?? 0
    }
}
