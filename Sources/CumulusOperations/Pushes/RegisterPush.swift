// Keeps the address at which a device of the caller is woken.
//
// Run by the writer. What was saved before is not told to the address: its mark covers all that the
// node has by then. To register the same again changes nothing.

package import CumulusModel
package import CumulusStorage

package struct RegisterPush: ContainerChange {
    /// The most addresses of one user in a scope; a further one ends the oldest one.
    package static let mostPerUser = 100

    package struct Outcome: Hashable, Sendable {
        package var id: StoredPush.ID
        /// Whether anything was changed.
        package var isChanged: Bool
    }

    private let address: PushAddress
    private let device: Bytes

    /// - Parameters:
    ///   - address: It was checked.
    ///   - device: The device id of the caller's connection.
    package init(_ address: PushAddress, device: Bytes) {
        self.address = address
        self.device = device
    }

    package func keeps(_ outcome: Outcome) -> Bool { outcome.isChanged }

    package func run(
        for asker: Asker,
        in scope: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Result<Outcome, ServiceError> {
        guard case .user(let user) = asker.caller.role, let owner = asker.credential?.session else {
            return .failure(Sessions.refusal)
        }
        if let refusal = try Feature.push.refusal(in: transaction) { return .failure(refusal) }
        let now = transaction.now
        let push = StoredPush(
            user: user,
            address,
            device: device,
            session: owner.digest,
            registered: now
        )
        var known = try transaction.pushes(in: scope, of: user)
        if let same = known.first(where: { $0.id == push.id }), same.says(push) {
            return .success(Outcome(id: push.id, isChanged: false))
        }
        known.removeAll { $0.id == push.id }
        let ending = try ending(of: known, now: now, transaction)
        let marks = ReadMarks(upTo: try transaction.runs(of: scope).shortVector)
        let registers =
            [
                Commit.Register(namespace: StoredPush.namespace, key: push.key, value: push.value),
                Commit.Register(
                    namespace: push.marker.namespace,
                    key: push.marker.key,
                    value: marks.value
                ),
            ] + ending.map(\.removal)
        _ = try transaction.perform(
            registers.map(Commit.Operation.register),
            in: scope,
            zone: nil,
            author: Author(user: user)
        )
        return .success(Outcome(id: push.id, isChanged: true))
    }

    /// The addresses that make room: those whose session is over, then the oldest.
    private func ending(
        of known: [StoredPush],
        now: Int64,
        _ transaction: borrowing WriteTransaction
    ) throws(EngineError) -> [StoredPush] {
        var (valid, ending): ([StoredPush], [StoredPush]) = ([], [])
        for push in known {
            let isValid = try Sessions.find(push.session, now: now, in: transaction) != nil
            if isValid { valid.append(push) } else { ending.append(push) }
        }
        valid.sort { ($0.registered, $0.id.bytes.hex) < ($1.registered, $1.id.bytes.hex) }
        return ending + valid.prefix(max(0, valid.count + 1 - RegisterPush.mostPerUser))
    }
}

extension StoredPush {
    /// The register that ends it.
    var removal: Commit.Register {
        Commit.Register(namespace: StoredPush.namespace, key: key, value: nil)
    }
}
