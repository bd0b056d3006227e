// Short ways to write requests in tests.
//
// Folder: requests, values and random work for tests, and oracles. Read `Requests`, then
// `RandomWork`, `QueryOracle` and `Golden`.

package import CumulusModel
package import CumulusOperations
import CumulusStorage

extension Caller {
    package static let anonymous = Caller(role: .anonymous)
    package static let administrator = Caller(role: .operator)
    package static let alice = Caller(role: .user("_alice"), device: [0xA1])
    package static let bob = Caller(role: .user("_bob"))
}

extension SaveItem {
    /// A save; fields that can't be stored make it one that fails, as on the node.
    package init(
        _ name: String,
        _ fields: [String: FieldValue?] = [:],
        type: String = "Note",
        in zone: ZoneAddress = ZoneAddress(),
        tag: Bytes? = nil,
        increments: [String: Int64] = [:],
        parent: String? = nil
    ) {
        let content = Result { () throws(ServiceError) in
            Content(
                type: type,
                changeTag: tag,
                fields: try RecordBody(checking: fields, zone: zone.name),
                increments: increments.sorted { $0.key < $1.key }.map {
                    Commit.Increment(field: $0.key, delta: $0.value)
                },
                parent: parent
            )
        }
        self.init(address: RecordAddress(zone: zone, name: name), content: content)
    }
}

extension DeleteItem {
    package init(_ name: String, in zone: ZoneAddress = ZoneAddress()) {
        self.init(address: RecordAddress(zone: zone, name: name))
    }
}

extension ModifyZones {
    package init(saving saves: [String] = [], deleting deletes: [String] = []) {
        self.init(
            database: .private,
            saves: saves.map { .success(ZoneAddress(name: $0)) },
            deletes: deletes.map { .success(ZoneAddress(name: $0)) }
        )
    }
}

extension ModifySubscriptions {
    package init(
        in database: DatabaseScope = .private,
        saving saves: [Subscription] = [],
        deleting deletes: [Subscription.ID] = []
    ) {
        self.init(
            database: database,
            saves: saves.map { .success($0) },
            deletes: deletes.map { .success($0) }
        )
    }
}

extension FieldValue {
    /// A reference that takes its record along when the target goes.
    package static func owner(_ name: String) -> FieldValue {
        .reference(Record.Reference(recordName: name, action: .deleteSelf))
    }

    /// A reference that does nothing.
    package static func link(_ name: String) -> FieldValue {
        .reference(Record.Reference(recordName: name, action: .none))
    }
}

extension ModifyOutcome.Item {
    /// CloudKit's error number; nil means the item was done.
    package var code: ServiceError.Code? {
        if case .failure(let failure) = self { failure.code } else { nil }
    }

    package var saved: ModifyOutcome.Saved? { try? get() }
}

extension ModifyOutcome {
    /// The codes of all items, saves first; nil where the item was done.
    package var codes: [ServiceError.Code?] { (saves + deletes).map(\.code) }
}
