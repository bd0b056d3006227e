// The lines of an export of a whole database: its zones, its records with their types and zones,
// and the user's subscriptions.
//
// A line of a record is that of an export of one type, with its type and zone beside the name. What
// an import can't save again is passed over: shares, since others have to join them, and users' own
// records, whose names are the cluster's and which no list has.

import Cumulus
package import CumulusModel
import CumulusTerminal

package enum DatabaseLine {
    static let typeKey = "$type"
    static let zoneKey = "$zone"
    static let subscriptionKey = "$subscription"

    case zone(String)
    case record(Record)
    case subscription(Subscription)
    /// A record of a type that an import can't save.
    case passedOver

    /// - Throws: `InputProblem` for what no export of a database wrote.
    package init(_ json: JSON) throws {
        if case .string(let name)? = json[DatabaseLine.zoneKey], json["recordName"] == nil {
            self = .zone(name)
            return
        }
        if let subscription = json[DatabaseLine.subscriptionKey] {
            self = .subscription(try Subscription(line: subscription))
            return
        }
        guard case .string(let type)? = json[DatabaseLine.typeKey] else {
            throw InputProblem("there is no '$type': name the type, or export with --all")
        }
        guard type != Names.shareType, type != "Users" else {
            self = .passedOver
            return
        }
        var zone = RecordZone.ID.default
        if case .string(let name)? = json[DatabaseLine.zoneKey] {
            zone = RecordZone.ID(zoneName: name)
        }
        self = .record(try Record(line: json, type: type, zoneID: zone))
    }

    static func json(ofZone name: String) -> JSON { [zoneKey: .string(name)] }

    static func json(of subscription: Subscription) -> JSON {
        [subscriptionKey: subscription.line]
    }

    /// The type and zone of a record, for its line.
    static func members(of record: Record) -> [JSON.Member] {
        let zone = record.recordID.zoneID.zoneName
        let type = JSON.Member(typeKey, .string(record.recordType))
        return zone == Names.defaultZone ? [type] : [type, JSON.Member(zoneKey, .string(zone))]
    }
}

// MARK: - Subscriptions

extension Subscription {
    private static let changes: [(name: String, option: Options)] = [
        ("create", .firesOnRecordCreation), ("update", .firesOnRecordUpdate),
        ("delete", .firesOnRecordDeletion), ("once", .firesOnce),
    ]

    /// As `cumulus subscription list --json` shows it.
    var line: JSON {
        var members = [JSON.Member("subscriptionID", .string(id))]
        func add(_ name: String, _ text: String?) {
            if let text { members.append(JSON.Member(name, .string(text))) }
        }
        switch kind {
        case .query(let type, let predicate, let zone):
            add("subscriptionType", "query")
            add("recordType", type)
            add("predicate", predicate.format)
            add("zoneName", zone?.zoneName)
            let names = Subscription.changes.filter { options.contains($0.option) }.map(\.name)
            members.append(JSON.Member("firesOn", .array(names.map { .string($0) })))
            members.append(JSON.Member("allowsExtensions", .bool(allowsExtensions)))
        case .zone(let zone, let type):
            add("subscriptionType", "zone")
            add("zoneName", zone.zoneName)
            add("recordType", type)
        case .database(let type):
            add("subscriptionType", "database")
            add("recordType", type)
        }
        if let info = notificationInfo {
            members.append(JSON.Member("notificationInfo", info.line))
        }
        return .object(members)
    }

    init(line json: JSON) throws {
        do {
            try self.init(line: SourceObject(json, at: DatabaseLine.subscriptionKey))
        } catch let problem as SourceProblem {
            throw InputProblem(problem.description)
        }
    }

    private init(line object: SourceObject) throws {
        let id = try object.needed("subscriptionID")
        let type = try object.string("recordType")
        let zone = try object.string("zoneName").map { RecordZone.ID(zoneName: $0) }
        switch try object.needed("subscriptionType") {
        case "query":
            var options: Options = []
            for name in try object.strings("firesOn") {
                guard let change = Subscription.changes.first(where: { $0.name == name }) else {
                    throw SourceProblem(object.place("firesOn"), "has the unknown '\(name)'")
                }
                options.insert(change.option)
            }
            let predicate = try Query.Predicate(format: try object.needed("predicate"))
            self.init(
                id: id,
                kind: .query(
                    recordType: try object.needed("recordType"),
                    predicate: predicate,
                    zone: zone
                ),
                options: options
            )
            allowsExtensions = try object.flag("allowsExtensions") ?? false
        case "zone":
            guard let zone else { throw SourceProblem(object.place("zoneName"), "is missing") }
            self.init(id: id, kind: .zone(zone, recordType: type))
        case "database": self.init(id: id, kind: .database(recordType: type))
        case let kind:
            throw SourceProblem(object.place("subscriptionType"), "is the unknown '\(kind)'")
        }
        notificationInfo = try object.object("notificationInfo").map { info in
            try NotificationInfo(line: info)
        }
    }
}

extension Subscription.NotificationInfo {
    /// The parts that are set, by CloudKit's names.
    fileprivate var line: JSON {
        var members = Self.texts.compactMap { part in
            self[keyPath: part.path].map { JSON.Member(part.name, .string($0)) }
        }
        for part in Self.lists where !self[keyPath: part.path].isEmpty {
            let names = self[keyPath: part.path].map { JSON.string($0) }
            members.append(JSON.Member(part.name, .array(names)))
        }
        for part in Self.flags where self[keyPath: part.path] {
            members.append(JSON.Member(part.name, .bool(true)))
        }
        return .object(members)
    }

    fileprivate init(line object: SourceObject) throws(SourceProblem) {
        self.init()
        for part in Self.texts { self[keyPath: part.path] = try object.string(part.name) }
        for part in Self.lists { self[keyPath: part.path] = try object.strings(part.name) }
        for part in Self.flags { self[keyPath: part.path] = try object.flag(part.name) ?? false }
    }
}
