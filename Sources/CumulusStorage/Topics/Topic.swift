// What a subscription watches, without its user: equal subscriptions share one topic.
//
// Made from subscriptions by the writer, and by feeds. The keys of a topic's events contain its id,
// which is the same on every node; see `TopicEvent`.

import Crypto
package import CumulusModel

package struct Topic: Hashable, Sendable {
    /// The first 64 bits of a SHA-256 over what the topic watches.
    package typealias ID = UInt64

    /// Zones of a database.
    package enum Zones: Hashable, Sendable {
        case all
        /// All but the default one.
        case custom
        case one(String)

        package func contain(_ name: String) -> Bool {
            switch self {
            case .all: true
            case .custom: name != Names.defaultZone
            case .one(let zone): zone == name
            }
        }
    }

    package let database: DatabaseID
    package let zones: Zones
    /// The type as callers know it.
    ///
    /// nil if the topic watches zones as a whole: it tells only which zones changed.
    package let recordType: String?
    /// nil means every record of the type.
    package let predicate: Query.Predicate?
    package let id: ID

    package init(
        database: DatabaseID,
        zones: Zones,
        recordType: String?,
        predicate: Query.Predicate?
    ) {
        self.database = database
        self.zones = zones
        self.recordType = recordType
        self.predicate = predicate
        var writer = CanonicalWriter(reserving: 128)
        writer.database(database)
        switch zones {
        case .all: writer.varint(0)
        case .custom: writer.varint(1)
        case .one(let name):
            writer.varint(2)
            writer.delimited(name.utf8)
        }
        writer.delimited((recordType ?? "").utf8)
        writer.varint(predicate == nil ? 0 : 1)
        predicate?.write(to: &writer)
        let digest = SHA256.hash(data: writer.bytes).first(8)
        id = digest.reduce(0) { $0 << 8 | UInt64($1) }
    }

    package init(_ stored: StoredSubscription) {
        switch stored.subscription.kind {
        case .query(let type, let predicate, let zone):
            self.init(
                database: stored.database,
                zones: zone.map { .one($0.zoneName) } ?? .all,
                recordType: type,
                predicate: predicate
            )
        case .zone(let zone, let type):
            self.init(
                database: stored.database,
                zones: .one(zone.zoneName),
                recordType: type,
                predicate: nil
            )
        case .database(let type):
            self.init(
                database: stored.database,
                zones: .custom,
                recordType: type,
                predicate: nil
            )
        }
    }
}
