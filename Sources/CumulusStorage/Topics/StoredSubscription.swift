// A subscription as nodes keep it: a register of its scope, which replicates like the schema's. If
// two nodes save one id at the same time, the later save wins.
//
// Written by `ModifySubscriptions`. Keys begin with the user and the database, so the subscriptions
// of a user, or of all users of a scope, are one range. Equal subscriptions have equal bytes; a
// value in any other form is damaged.
//
// Folder: subscriptions as nodes keep them, and the rows from which feeds are read. Read
// `StoredSubscription` and `CanonicalPredicate`, then `Topic`, `TopicGroup`, `TopicIndex` and
// `TopicLoad`, then `TopicRows`, `ScopeFeeds` and `FeedRetention`. `ReadMarks` needs
// none of them.

package import CumulusModel

package struct StoredSubscription: Hashable, Sendable {
    /// User record name of its owner.
    package var user: String
    package var database: DatabaseID
    /// Its predicate is canonical; the user's own zones have `currentUserName` as owner.
    package var subscription: Subscription
    /// The commit on which a subscription with `firesOnce` fired; nil if it has not.
    ///
    /// A fired subscription tells of that commit only. Its user does not see it any more, but it
    /// counts towards the user's limits, until the user deletes it or `FeedRetention` removes it.
    package var fired: Dot?

    package init(
        user: String,
        database: DatabaseID,
        _ subscription: Subscription,
        fired: Dot? = nil
    ) {
        self.user = user
        self.database = database
        self.subscription = subscription
        self.fired = fired
    }

    /// Names it to its user.
    package var name: SubscriptionName {
        SubscriptionName(databaseScope: database.kind, subscriptionID: subscription.id)
    }

    /// The namespace of its registers; the key is the user, the database and the id.
    package static let namespace = "subscription"

    /// The form of values that this release writes.
    fileprivate static let form: UInt64 = 1
    /// The same for a subscription that has fired.
    private static let firedForm: UInt64 = 2

    /// The value of its register: everything but the id.
    package var value: Bytes {
        guard let fired else { return subscription.storedBytes }
        var writer = CanonicalWriter(reserving: 128)
        writer.varint(StoredSubscription.firedForm)
        writer.dot(fired)
        writer.raw(subscription.content)
        return writer.bytes
    }

    // MARK: Keys

    /// A key that stands for all subscriptions of a scope; no register has it.
    package static let anyKey: [Bytes] = []

    package var key: [Bytes] {
        StoredSubscription.key(user, database) + [Bytes(subscription.id.utf8)]
    }

    /// What the keys of a user's subscriptions of a database begin with.
    package static func key(_ user: String, _ database: DatabaseID) -> [Bytes] {
        var content = [database.kind.rawValue]
        // The owner of a private database is the user.
        if database.kind == .shared { content += database.owner.utf8 }
        return [Bytes(user.utf8), content]
    }

    /// Decodes a register.
    package init(key: [Bytes], value: Bytes) throws(MalformedBytes) {
        guard key.count == 3, let user = String(utf8: key[0][...]), let number = key[1].first,
            let kind = DatabaseScope(rawValue: number), kind == .shared || key[1].count == 1,
            let owner = String(utf8: key[1][1...]), let id = String(utf8: key[2][...])
        else { throw MalformedBytes("a subscription has a key of another form") }
        self.user = user
        switch kind {
        case .public: database = .public
        case .private: database = DatabaseID(kind: .private, owner: user)
        case .shared: database = DatabaseID(kind: .shared, owner: owner)
        }
        var reader = CanonicalReader(value)
        switch try reader.varint() {
        case StoredSubscription.form: fired = nil
        case StoredSubscription.firedForm: fired = try reader.dot()
        default: throw MalformedBytes("a subscription was written by a later release")
        }
        subscription = try Subscription(id: id, stored: &reader)
        guard self.value == value else {
            throw MalformedBytes("a subscription is not in its canonical form")
        }
    }
}

extension RowReader where Self: ~Copyable {
    /// The subscriptions of a scope, of a user, or of a user in one database, in the order of their
    /// keys.
    ///
    /// Subscriptions that have fired once are among them.
    package borrowing func subscriptions(
        in scope: ScopeNumber,
        of user: String? = nil,
        _ database: DatabaseID? = nil
    ) throws(EngineError) -> [StoredSubscription] {
        var prefix: [Bytes] = []
        if let user {
            prefix = database.map { StoredSubscription.key(user, $0) } ?? [Bytes(user.utf8)]
        }
        let registers = try registers(scope, StoredSubscription.namespace, below: prefix)
        return try registers.map { rest, value throws(EngineError) in
            try decoding(value) { () throws(MalformedBytes) in
                try StoredSubscription(key: prefix + rest, value: value)
            }
        }
    }
}

// MARK: - Values

extension Subscription {
    /// The value of its register before it fires: everything but the id.
    package var storedBytes: Bytes {
        var writer = CanonicalWriter(reserving: 128)
        writer.varint(StoredSubscription.form)
        writer.raw(content)
        return writer.bytes
    }

    fileprivate var content: Bytes {
        var writer = CanonicalWriter(reserving: 128)
        writer.delimited(essence)
        writer.varint(allowsExtensions ? 1 : 0)
        writer.varint(notificationInfo == nil ? 0 : 1)
        notificationInfo?.write(to: &writer)
        return writer.bytes
    }

    /// What it watches and which changes it fires on, as bytes.
    ///
    /// Subscriptions with equal essences are equivalent. The notification info and
    /// `allowsExtensions` are not part of it.
    package var essence: Bytes {
        var writer = CanonicalWriter(reserving: 96)
        switch kind {
        case .query(let type, let predicate, let zone):
            writer.varint(1)
            writer.delimited(type.utf8)
            predicate.write(to: &writer)
            writer.zone(zone)
            writer.varint(UInt64(options.rawValue))
        case .zone(let zone, let type):
            writer.varint(2)
            writer.zone(zone)
            writer.delimited((type ?? "").utf8)
        case .database(let type):
            writer.varint(3)
            writer.delimited((type ?? "").utf8)
        }
        return writer.bytes
    }

    fileprivate init(id: ID, stored reader: inout CanonicalReader) throws(MalformedBytes) {
        var essence = try reader.message()
        switch try essence.varint() {
        case 1:
            let kind = Kind.query(
                recordType: try essence.text(),
                predicate: try Query.Predicate(reading: &essence),
                zone: try essence.zone()
            )
            let bits = UInt32(try essence.count(limit: Int(UInt32.max)))
            self.init(id: id, kind: kind, options: Options(rawValue: bits))
        case 2:
            guard let zone = try essence.zone() else {
                throw MalformedBytes("a subscription names no zone")
            }
            self.init(id: id, kind: .zone(zone, recordType: try essence.optionalText()))
        case 3: self.init(id: id, kind: .database(recordType: try essence.optionalText()))
        default: throw MalformedBytes("a subscription is of an unknown kind")
        }
        guard essence.isAtEnd else { throw MalformedBytes("a subscription is too long") }
        allowsExtensions = try reader.varint() == 1
        if try reader.varint() == 1 {
            let rest = CanonicalReader(reader.bytes, reader.position..<reader.end)
            notificationInfo = try NotificationInfo(strict: rest)
        } else if !reader.isAtEnd {
            throw MalformedBytes("a subscription is too long")
        }
    }
}

extension CanonicalWriter {
    fileprivate mutating func zone(_ zone: RecordZone.ID?) {
        delimited((zone?.zoneName ?? "").utf8)
        let owner = zone?.ownerName ?? RecordZone.ID.currentUserName
        delimited((owner == RecordZone.ID.currentUserName ? "" : owner).utf8)
    }
}

extension CanonicalReader {
    fileprivate mutating func zone() throws(MalformedBytes) -> RecordZone.ID? {
        let (name, owner) = (try text(), try text())
        if name.isEmpty { return nil }
        if owner.isEmpty { return RecordZone.ID(zoneName: name) }
        return RecordZone.ID(zoneName: name, ownerName: owner)
    }

    fileprivate mutating func optionalText() throws(MalformedBytes) -> String? {
        let text = try text()
        return text.isEmpty ? nil : text
    }
}
