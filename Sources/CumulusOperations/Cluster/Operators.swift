// Operators of a cluster: who may administer every node of it, by tokens of their own.
//
// A token is 32 random bytes. A register of the cluster's scope holds its SHA-256 and the
// operator's name, so every node takes it, and writes the name into its audit log. It ends by the
// register that revokes sessions, which no node takes back. Two nodes may make tokens of one name
// without knowing of each other: both are good, and both end with the name.
//
// The token in a node's data directory needs no register, and opens that node alone.

package import CumulusModel
package import CumulusStorage

package enum Operators {
    package struct Operator: Hashable, Sendable {
        package var name: String
        /// Milliseconds since 1970 UTC.
        package var created: Int64
        /// SHA-256 of the token.
        package var digest: Bytes
    }

    /// The operator who has a token; nil if nobody has, or it was revoked.
    ///
    /// - Parameter digest: SHA-256 of the token.
    package static func find<Reader: RowReader & ~Copyable>(
        _ digest: Bytes,
        in reader: borrowing Reader
    ) throws(EngineError) -> Operator? {
        guard let scope = try reader.scope(.cluster),
            let value = try reader.register(scope, AccountRegister.operator, [digest])?.value,
            try reader.register(scope, AccountRegister.revoked, [digest])?.value == nil
        else { return nil }
        return try reader.decoding(digest) { () throws(MalformedBytes) in
            var reader = CanonicalReader(value)
            return Operator(
                name: try reader.text(),
                created: try reader.signed(),
                digest: digest
            )
        }
    }

    /// The operators whose tokens are good, by names.
    package static func all<Reader: RowReader & ~Copyable>(
        in reader: borrowing Reader
    ) throws(EngineError) -> [Operator] {
        guard let scope = try reader.scope(.cluster) else { return [] }
        var found: [Operator] = []
        for (key, _) in try reader.registers(scope, AccountRegister.operator) {
            guard let digest = key.first, let known = try find(digest, in: reader) else { continue }
            found.append(known)
        }
        return found.sorted { ($0.name, $0.created) < ($1.name, $1.created) }
    }

    /// The refusal of an operator whose token was revoked while it was connected.
    package static let refusal = ServiceError(
        .notAuthenticated,
        "the operator's token was revoked; ask another operator for a new one"
    )

    fileprivate static func unknown(_ name: String) -> ServiceError {
        ServiceError(
            .unknownItem,
            "there is no operator '\(name)'; see 'cumulus operator list'"
        )
    }
}

/// Gives an operator a token that every node of the cluster takes.
package struct AddOperator: AccountChange {
    package typealias Outcome = Bytes

    private let name: String
    private let token: Bytes

    package init(_ name: String, token: Bytes) {
        self.name = name
        self.token = token
    }

    package static var isOperators: Bool { true }

    /// Plans the register of the token; the outcome is the token.
    package func plan(
        for asker: Asker,
        in scope: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Plan {
        guard try !Operators.all(in: transaction).contains(where: { $0.name == name }) else {
            return .failure(
                ServiceError(
                    .invalidArguments,
                    .invalidName,
                    """
                    there is an operator '\(name)', whose token is not shown again; choose another \
                    name, or end that token with 'cumulus operator remove \(name)'
                    """
                )
            )
        }
        var value = CanonicalWriter()
        value.delimited(name.utf8)
        value.varint(zigzag(transaction.now))
        let register = Commit.Register(
            namespace: AccountRegister.operator,
            key: [Sessions.digest(of: token)],
            value: value.bytes
        )
        return .success(([register], token))
    }
}

/// Ends the tokens of an operator, on every node as soon as it has heard of it.
package struct RemoveOperator: AccountChange {
    /// How many tokens ended.
    package typealias Outcome = Int

    private let name: String

    package init(_ name: String) {
        self.name = name
    }

    package static var isOperators: Bool { true }
    package var onlyDeletes: Bool { true }

    package func plan(
        for asker: Asker,
        in scope: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Plan {
        let ended = try Operators.all(in: transaction).filter { $0.name == name }
        if ended.isEmpty { return .failure(Operators.unknown(name)) }
        let registers = ended.map {
            Commit.Register(namespace: AccountRegister.revoked, key: [$0.digest], value: [])
        }
        return .success((registers, ended.count))
    }
}
