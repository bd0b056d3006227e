// What differs between a share of the source and the share here, and between subscriptions.
//
// Pure. People are compared by the users who stand for them here, or by the addresses by which they
// were invited.

package import CumulusModel
import CumulusSystem

extension SourceShare.Participant {
    /// What names it here; nil if the source does not tell who it is.
    ///
    /// - Parameter mapped: The record name of a user here, by its name there.
    package func key(_ mapped: (String) -> String) -> String? {
        if hasAccepted, !user.isEmpty { return mapped(user) }
        if let address = emailAddress { return address.lowercased().trimmed }
        if let number = phoneNumber { return number.filter { !" -()./".contains($0) } }
        return user.isEmpty ? nil : mapped(user)
    }
}

package enum ShareComparison {
    /// What differs, a text for each thing.
    ///
    /// - Parameters:
    ///   - seesAll: Whether the source shows all participants to who asks.
    ///   - mapped: The record name of a user here, by its name there.
    package static func differences(
        _ wanted: SourceShare,
        _ found: ShareDetails,
        seesAll: Bool,
        mapped: (String) -> String
    ) -> [String] {
        var texts: [String] = []
        if wanted.root != found.root { texts.append("shares another record here") }
        if wanted.publicPermission != found.publicPermission {
            texts.append("is open to others than at the source")
        }
        return texts
            + people(wanted.participants, found.participants, seesAll: seesAll, mapped: mapped)
    }

    /// What differs between those who were invited by name.
    package static func invited(
        _ wanted: SourceShare,
        _ found: ShareDetails,
        seesAll: Bool,
        mapped: (String) -> String
    ) -> [String] {
        people(
            wanted.participants.filter { $0.role != .publicUser },
            found.participants.filter { $0.role != .publicUser },
            seesAll: seesAll,
            mapped: mapped
        )
    }

    private static func people(
        _ wanted: [SourceShare.Participant],
        _ found: [ShareDetails.Participant],
        seesAll: Bool,
        mapped: (String) -> String
    ) -> [String] {
        var rest = Dictionary(found.map { ($0.key, $0) }) { first, _ in first }
        var texts: [String] = []
        for participant in wanted {
            guard let key = participant.key(mapped) else {
                texts.append("has a participant of whom the source does not tell who it is")
                continue
            }
            guard let other = rest.removeValue(forKey: key) else {
                texts.append("lacks the participant '\(key)' here")
                continue
            }
            if participant.role != other.role {
                texts.append("gives '\(key)' another role here")
            } else if participant.role != .publicUser, participant.permission != other.permission {
                texts.append("gives '\(key)' another permission here")
            }
            if participant.hasAccepted != (other.status == .accepted) {
                let text = participant.hasAccepted ? "has not accepted" : "has accepted"
                texts.append("has the participant '\(key)', who \(text) here")
            }
        }
        guard seesAll else { return texts }
        return texts
            + rest.keys.sorted().map { "has the participant '\($0)', who is not at the source" }
    }
}

extension ShareDetails.Participant {
    fileprivate var key: String {
        status == .accepted && !user.isEmpty ? user : handle?.text ?? user
    }
}

// MARK: - Subscriptions

package enum SubscriptionComparison {
    /// Whether two subscriptions of one database ask for the same.
    ///
    /// A node writes predicates in its own words: their comparisons are compared in any order.
    ///
    /// - Parameter user: The record name here of their user.
    package static func isSame(
        _ one: Subscription,
        _ other: Subscription,
        of user: String,
        in database: DatabaseScope
    ) -> Bool {
        func text(_ subscription: Subscription) -> [String] {
            self.text(subscription, user, database)
        }
        return one.id == other.id && text(one) == text(other)
            && one.notificationInfo ?? .init() == other.notificationInfo ?? .init()
    }

    private static func text(
        _ subscription: Subscription,
        _ user: String,
        _ database: DatabaseScope
    ) -> [String] {
        func name(_ zone: RecordZone.ID?) -> String {
            guard let zone else { return "*" }
            let isOwn = zone.ownerName == user || zone.ownerName == Names.currentUser
            return "\(isOwn ? "" : zone.ownerName)/\(zone.zoneName)"
        }
        switch subscription.kind {
        case .database(let type): return ["database", type ?? "*"]
        case .zone(let zone, let type): return ["zone", name(zone), type ?? "*"]
        case .query(let type, let predicate, let zone):
            // The public database has one zone.
            let zone = database == .public ? "*" : name(zone)
            return ["query", type, zone, "\(subscription.options.rawValue)"]
                + terms(predicate.nodes, user)
        }
    }

    private static func terms(_ nodes: [Query.Node], _ user: String) -> [String] {
        var terms: [String] = []
        for node in nodes {
            switch node {
            case .constant(true): break
            case .constant(false): terms.append("false")
            case .comparison(let comparison): terms.append(text(comparison, user))
            case .not:
                guard let last = terms.popLast() else { break }
                terms.append("not \(last)")
            case .and: break
            case .or: terms.append("or")
            }
        }
        if terms.contains("or") { return terms }
        return Array(Set(terms)).sorted()
    }

    private static func text(_ comparison: Query.Comparison, _ user: String) -> String {
        var operands = comparison.operands.map { text($0, user) }
        var relation = comparison.relation
        if relation == .isIn || relation == .listContainsAny {
            operands = Array(Set(operands)).sorted()
            if operands.count == 1 { relation = relation == .isIn ? .equals : .listContains }
        }
        return "\(comparison.key) \(relation) \(operands)"
    }

    /// Numbers of all types alike, and references as the names of their records.
    private static func text(_ operand: Query.Operand, _ user: String) -> String {
        guard case .value(let value) = operand else { return "\(operand)" }
        switch value {
        case .int64(let number): return "\(number)"
        case .double(let number):
            return Int64(exactly: number).map { "\($0)" } ?? "\(number)"
        case .timestamp(let time): return "\(time.millisecondsSince1970)"
        case .string(let text): return text == Names.currentUser ? user : text
        case .reference(let reference):
            return reference.recordName == Names.currentUser ? user : reference.recordName
        default: return "\(value)"
        }
    }
}
