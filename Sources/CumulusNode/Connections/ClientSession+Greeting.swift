// Judging HELLO: which scope, which caller.
//
// A token is looked up in memory first, on a reader thread if that doesn't decide.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusWire
import Logging

extension ClientSession {
    func judge(_ payload: Bytes) {
        do {
            let hello = try Hello(wire: payload)
            try check(hello)
            look(hello, reach: .memory)
        } catch let error as ServiceError {
            close(error)
        } catch {
            close(ServiceError(.invalidArguments, .protocolError, "HELLO can't be read"))
        }
    }

    /// What can be said without looking anything up.
    private func check(_ hello: Hello) throws(ServiceError) {
        guard hello.protocolVersion == 1 else {
            throw ServiceError(
                .incompatibleVersion,
                "this server speaks protocol version 1, not \(hello.protocolVersion)"
            )
        }
        guard (WireRole.client.rawValue...WireRole.operator.rawValue).contains(hello.role) else {
            throw ServiceError(
                .invalidArguments,
                "callers of role \(hello.role) are not served by this release"
            )
        }
        guard hello.largestFrame == 0 || Int(hello.largestFrame) >= limits.frameBytes else {
            throw ServiceError(
                .invalidArguments,
                .invalidValue,
                "largest_frame must be 0, or at least this server's \(limits.frameBytes) bytes"
            )
        }
        guard hello.deviceID.count <= limits.deviceBytes else {
            throw ServiceError(
                .invalidArguments,
                .invalidName,
                "the device id is longer than \(limits.deviceBytes) bytes"
            )
        }
        guard hello.endpoint.isEmpty || Endpoint.split(hello.endpoint) != nil else {
            throw ServiceError(
                .invalidArguments,
                .invalidName,
                "a peer's endpoint is host:port, of at most \(limits.nameBytes) bytes"
            )
        }
        let isSafe =
            link.isLoopback || !link.certificate.isEmpty
            || node.configuration.acceptsInsecureCredentials
        guard isSafe || (hello.token.isEmpty && hello.role != WireRole.peer.rawValue) else {
            throw ServiceError(
                .notAuthenticated,
                """
                tokens and peers are refused over plain TCP from another machine; give the node a \
                certificate (--tls-certificate), or allow it (--insecure-credentials)
                """
            )
        }
        guard hello.role != WireRole.peer.rawValue || isPeer(hello) else {
            node.warn(of: hello.endpoint, "a peer is refused", why: Node.otherKey)
            throw ServiceError(.notAuthenticated, Node.otherKey)
        }
    }

    private func look(_ hello: Hello, reach: Reach) {
        let reader = node.gate.latest(reach: reach)
        let result: Result<(Identity, UInt32), ServiceError>
        do {
            result = .success(try identify(hello, reader))
        } catch let error as ServiceError {
            result = .failure(error)
        } catch EngineError.notInMemory {
            let isQueued = node.gate.read(.prompt) { [self] in
                resume { session in
                    session.look(hello, reach: .disk)
                    session.takeFrames(now: session.node.environment.now())
                }
            }
            if !isQueued { close(overloaded("too many reads are waiting")) }
            return
        } catch {
            result = .failure(serviceError(error))
        }
        switch result {
        case .success(let (identity, _)) where identity.isPeer: admit(identity, hello)
        case .success(let (identity, role)): greet(identity, role: role)
        case .failure(let error): close(error)
        }
    }

    private func identify(
        _ hello: Hello,
        _ reader: ReadTransaction
    ) throws -> (Identity, UInt32) {
        var identity = Identity()
        if hello.role == WireRole.operator.rawValue {
            guard isEqual(hello.token, node.configuration.operatorToken) else {
                throw ServiceError(
                    .notAuthenticated,
                    "this is not the node's operator token"
                )
            }
            identity.caller = Caller(role: .operator, device: hello.deviceID)
            return (identity, hello.role)
        }
        if hello.role == WireRole.peer.rawValue {
            if node.gate.stops.isReadOnly { throw WriteStops.readOnly }
            // Its proof was judged before.
            identity.peer = hello.nodeID
            return (identity, hello.role)
        }
        let scope = try self.scope(hello.container, hello.environment)
        guard let number = try reader.scope(scope) else {
            throw Containers.unknown(scope.container)
        }
        identity.scope = scope
        identity.scopeNumber = number
        identity.wantsTokens = hello.features.contains(.causalTokens)
        identity.caller = Caller(role: .anonymous, device: hello.deviceID)
        if !hello.token.isEmpty {
            guard let user = try Users.user(withToken: hello.token, in: reader) else {
                throw ServiceError(
                    .notAuthenticated,
                    "the access token is not known here; ask an operator for a new one"
                )
            }
            identity.caller.role = .user(user.recordName(in: scope.container))
            identity.caller.registered = user.created
        }
        return (identity, hello.role)
    }

    /// The scope that a HELLO or an operator's call names.
    func scope(_ container: Bytes, _ environment: UInt32) throws(ServiceError) -> ScopeID {
        let name = try Names.checkIdentifier(container[...], "container")
        guard let environment = UInt8(exactly: environment).flatMap(Environment.init(rawValue:))
        else {
            throw ServiceError(
                .invalidArguments,
                "name an environment: 1 (development) or 2 (production)"
            )
        }
        return ScopeID(container: name, environment: environment)
    }

    /// Compares in a time that doesn't tell how much is equal.
    private func isEqual(_ left: Bytes, _ right: Bytes) -> Bool {
        guard left.count == right.count, !left.isEmpty else { return false }
        return zip(left, right).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
