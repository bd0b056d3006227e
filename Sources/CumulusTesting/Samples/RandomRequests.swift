// Requests at random: two users save, delete, increment and refer in a few zones, in batches.
//
// Names are few, so that conflicts, cascades, parents and recreated zones happen all the time.
// Drawn from one seed, in any process alike.

package import CumulusModel
package import CumulusOperations

/// A change of a kind that histories draw.
package enum DrawnChange: Sendable {
    case modifyRecords(ModifyRecords)
    case modifyZones(ModifyZones)
    case acceptShare(AcceptShare)
}

package struct DrawnRequest: Sendable {
    package let change: DrawnChange
    package let asker: Asker

    /// An accepted share has no items.
    package typealias Answer = Result<ModifyOutcome?, ServiceError>

    package init(_ change: DrawnChange, for asker: Asker) {
        self.change = change
        self.asker = asker
    }
}

package struct RandomRequests {
    /// The type of nearly all records.
    package static let recordType = "Note"
    package typealias Tag = (String, DatabaseScope, ZoneAddress, Caller) -> Bytes?

    package var dice: SeededGenerator

    package init(seed: UInt64) {
        dice = SeededGenerator(seed: seed)
    }

    private static let names = ["a", "b", "c", "d", "e", "f", "g", "h"]
    private static let users = ["_alice", "_bob"]
    private static let zones = ["_defaultZone", "x", "y"]

    private mutating func pick<Element>(_ choices: [Element]) -> Element {
        choices[Int.random(in: 0..<choices.count, using: &dice)]
    }

    /// The next request, and whose it is; `tag` tells a record's change tag where it is to run.
    package mutating func next(
        _ tag: Tag
    ) -> (change: DrawnChange, caller: Caller) {
        let caller = Caller(role: .user(pick(Self.users)))
        if Int.random(in: 0..<12, using: &dice) == 0 {
            let name = pick(["x", "y"])
            let isDelete = Int.random(in: 0..<4, using: &dice) == 0
            let modify = isDelete ? ModifyZones(deleting: [name]) : ModifyZones(saving: [name])
            return (.modifyZones(modify), caller)
        }
        let isPublic = Int.random(in: 0..<3, using: &dice) == 0
        let zone = ZoneAddress(name: isPublic ? Names.defaultZone : pick(Self.zones))
        var names = Self.names.shuffled(using: &dice)
        var modify = ModifyRecords(
            database: isPublic ? .public : .private,
            policy: pick([.changedKeys, .changedKeys, .allKeys, .ifUnchanged]),
            isAtomic: Bool.random(using: &dice)
        )
        for _ in 0..<Int.random(in: 0...4, using: &dice) {
            modify.saves.append(save(names.removeLast(), in: zone, isPublic, by: caller, tag))
        }
        for _ in 0..<Int.random(in: modify.saves.isEmpty ? 1...2 : 0...2, using: &dice) {
            modify.deletes.append(DeleteItem(names.removeLast(), in: zone))
        }
        return (.modifyRecords(modify), caller)
    }

    private mutating func save(
        _ name: String,
        in zone: ZoneAddress,
        _ isPublic: Bool,
        by caller: Caller,
        _ tag: Tag
    ) -> SaveItem {
        var fields: [String: FieldValue?] = [:]
        var increments: [String: Int64] = [:]
        for _ in 0..<Int.random(in: 0...3, using: &dice) {
            switch Int.random(in: 0..<9, using: &dice) {
            case 0: fields["title"] = .string(pick(["", "one", "two"]))
            case 1: fields["votes"] = .int64(.random(in: -5...5, using: &dice))
            case 2: fields["price"] = pick([.double(1.5), .int64(2)])
            case 3: fields["tags"] = pick([.list([]), .list(["a", "b", "a"])])
            case 4: fields["owner"] = .owner(pick(Self.names))
            case 5: fields["second"] = .list([.owner(pick(Self.names)), .link(pick(Self.names))])
            case 6: fields.updateValue(nil, forKey: pick(["title", "votes", "owner", "second"]))
            case 7: fields["title"] = .int64(1)  // the wrong type
            default: increments[pick(["votes", "likes"])] = .random(in: -3...9, using: &dice)
            }
        }
        for key in increments.keys.sorted() where Int.random(in: 0..<8, using: &dice) > 0 {
            fields.removeValue(forKey: key)
        }
        let isOther = Int.random(in: 0..<30, using: &dice) == 0
        let chance = Int.random(in: 0..<12, using: &dice)
        let parent: String? = chance == 0 ? pick(Self.names) : chance == 1 ? "" : nil
        return SaveItem(
            name,
            isOther ? [:] : fields,
            type: isOther ? "Other" : RandomRequests.recordType,
            in: zone,
            tag: changeTag(of: name, in: zone, isPublic, by: caller, tag),
            increments: isOther ? [:] : increments,
            parent: parent
        )
    }

    /// The record's tag, an old one, or none.
    private mutating func changeTag(
        of name: String,
        in zone: ZoneAddress,
        _ isPublic: Bool,
        by caller: Caller,
        _ tag: Tag
    ) -> Bytes? {
        if Int.random(in: 0..<6, using: &dice) == 0 {
            return pick([nil, Bytes(repeating: 0, count: 8)])
        }
        return tag(name, isPublic ? .public : .private, zone, caller)
    }
}
