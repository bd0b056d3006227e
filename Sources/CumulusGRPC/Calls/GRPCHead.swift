// What a call says about itself in gRPC's metadata: who calls, where, and the fields that the
// binary protocol has in `Hello` and `CallHeader`.
//
// Read by `GRPCDoor` before the node is asked, from values alone. `proto/grpc.md` has the list of
// the keys. A value that can't be read is refused, and never passed over: a caller that asks for a
// deadline or for copies must not be served without.

import Crypto
import CumulusModel
import CumulusNode
import CumulusWire
import GRPCCore

struct GRPCHead: Sendable {
    let entrance: LocalEntrance
    let header: CallHeader

    /// The keys of metadata, in requests and in trailers.
    enum Key {
        static let token = "authorization"
        static let role = "cumulus-role"
        static let container = "cumulus-container"
        static let environment = "cumulus-environment"
        static let device = "cumulus-device"
        static let chunks = "cumulus-chunks"
        static let replicas = "cumulus-replicas"
        static let requestID = "cumulus-request-id-bin"
        static let causal = "cumulus-causal-bin"
        static let status = "cumulus-status-bin"
        static let trace = "traceparent"
        static let timeout = "grpc-timeout"
        static let pushback = "grpc-retry-pushback-ms"
    }

    /// - Parameters:
    ///   - peer: The other end of the connection.
    ///   - isEncrypted: Whether the connection has TLS.
    init(
        _ fields: Metadata,
        _ method: GRPCMethod,
        from peer: GRPCPeer,
        isEncrypted: Bool
    ) throws(ServiceError) {
        let token = try GRPCHead.token(in: fields)
        let isOperator = try GRPCHead.isOperator(fields, method, hasToken: !token.isEmpty)
        let environment = try GRPCHead.environment(in: fields)
        let container = try fields.one(Key.container) ?? ""
        var header = CallHeader(method.method)
        header.timeout = try GRPCHead.timeout(in: fields)
        header.requestID = try fields.bytes(Key.requestID).first ?? []
        header.traceContext = GRPCHead.trace(in: fields)
        header.replicas = try GRPCHead.replicas(in: fields)
        if isOperator {
            header.container = Bytes(container.utf8)
            header.environment = UInt32(environment.rawValue)
        }
        var entrance = LocalEntrance(
            isOperator ? .cluster : try GRPCHead.scope(container, environment),
            GRPCHead.proof(token, isOperator: isOperator),
            address: peer.address,
            device: Bytes((try fields.one(Key.device) ?? "").utf8),
            isSecret: isEncrypted || peer.isLoopback,
            seen: try fields.bytes(Key.causal)
        )
        entrance.wantsPlainChunks = try GRPCHead.wantsPlainChunks(fields)
        guard entrance.device.count <= Limits.standard.deviceBytes else {
            throw .unreadable(Key.device, "at most \(Limits.standard.deviceBytes) bytes")
        }
        (self.entrance, self.header) = (entrance, header)
    }

    // MARK: Who calls

    /// The token of `Bearer cumulus_5ff8...`; empty without one.
    ///
    /// Another scheme is no credential here: a proxy may have passed on its own.
    private static func token(in fields: Metadata) throws(ServiceError) -> String {
        guard let text = try fields.one(Key.token) else { return "" }
        let words = text.split(separator: " ")
        guard let scheme = words.first, scheme.lowercased() == "bearer" else { return "" }
        guard words.count == 2 else {
            throw ServiceError(.notAuthenticated, "authorization has no token behind Bearer")
        }
        return String(words[1])
    }

    /// A method for operators takes the token for an operator's; `cumulus-role` decides for all
    /// methods.
    private static func isOperator(
        _ fields: Metadata,
        _ method: GRPCMethod,
        hasToken: Bool
    ) throws(ServiceError) -> Bool {
        switch try fields.one(Key.role) {
        case nil: return method.isForOperators && hasToken
        case "client": return false
        case "operator": return true
        default: throw .unreadable(Key.role, "'client' or 'operator'")
        }
    }

    private static func proof(_ token: String, isOperator: Bool) -> LocalEntrance.Proof {
        let token = Bytes(token.utf8)
        if isOperator { return .operatorToken(token) }
        return token.isEmpty ? .nothing : .accessToken(digest: Bytes(SHA256.hash(data: token)))
    }

    // MARK: Where

    private static func scope(
        _ container: String,
        _ environment: Environment
    ) throws(ServiceError) -> ScopeID {
        guard !container.isEmpty else {
            throw ServiceError(
                .invalidArguments,
                "name a container in \(Key.container), such as iCloud.dev.cumulus"
            )
        }
        let name = try Names.checkIdentifier(Bytes(container.utf8)[...], "container")
        return ScopeID(container: name, environment: environment)
    }

    private static func environment(in fields: Metadata) throws(ServiceError) -> Environment {
        guard let text = try fields.one(Key.environment) else { return .development }
        guard let found = Environment.allCases.first(where: { $0.name == text }) else {
            throw .unreadable(Key.environment, "'development' or 'production'")
        }
        return found
    }

    // MARK: How

    /// Milliseconds; 0 without a deadline, and at least 1 with one.
    private static func timeout(in fields: Metadata) throws(ServiceError) -> UInt32 {
        guard let text = try fields.one(Key.timeout) else { return 0 }
        guard let milliseconds = milliseconds(of: text) else {
            throw .unreadable(Key.timeout, "up to 8 digits and one of H, M, S, m, u and n")
        }
        return UInt32(clamping: max(1, milliseconds))
    }

    private static func milliseconds(of text: String) -> Int64? {
        let digits = text.dropLast()
        guard (1...8).contains(digits.count), digits.allSatisfy({ ("0"..."9").contains($0) }),
            let number = Int64(digits)
        else { return nil }
        switch text.last {
        case "H": return number * 3_600_000
        case "M": return number * 60_000
        case "S": return number * 1_000
        case "m": return number
        case "u": return number / 1_000
        case "n": return number / 1_000_000
        default: return nil
        }
    }

    /// A call that names two traces belongs to none.
    private static func trace(in fields: Metadata) -> Bytes {
        let named = Array(fields[stringValues: Key.trace])
        return named.count == 1 ? Bytes(named[0].utf8) : []
    }

    private static func replicas(in fields: Metadata) throws(ServiceError) -> UInt32? {
        guard let text = try fields.one(Key.replicas) else { return nil }
        guard let number = UInt32(text) else { throw .unreadable(Key.replicas, "a number") }
        return number
    }

    private static func wantsPlainChunks(_ fields: Metadata) throws(ServiceError) -> Bool {
        switch try fields.one(Key.chunks) {
        case nil, "zstd": return false
        case "plain": return true
        default: throw .unreadable(Key.chunks, "'plain' or 'zstd'")
        }
    }
}

extension Metadata {
    /// The value of a key that a call may name once; nil if it does not.
    fileprivate func one(_ key: String) throws(ServiceError) -> String? {
        let values = Array(self[stringValues: key])
        guard values.count < 2 else { throw .unreadable(key, "one value") }
        return values.first
    }

    /// The values of a key whose name ends with `-bin`.
    fileprivate func bytes(_ key: String) throws(ServiceError) -> [Bytes] {
        let values = Array(self[binaryValues: key])
        guard values.count == Array(self[key]).count else { throw .unreadable(key, "base64") }
        return values
    }
}

extension ServiceError {
    fileprivate static func unreadable(_ key: String, _ form: String) -> ServiceError {
        ServiceError(.invalidArguments, .invalidValue, "the metadata \(key) must be \(form)")
    }
}
