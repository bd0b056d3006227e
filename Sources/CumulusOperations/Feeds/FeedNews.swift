// What a device is told: of a subscription, that a record changed; and how several rows of a record
// become one piece of news.
//
// Made by `FetchFeed` of the rows of a window; `FeedNews+Notification` adds what is shown.

package import CumulusModel
import CumulusStorage

package struct FeedNews: Hashable, Sendable {
    package enum Change: Hashable, Sendable {
        case record(
            zone: String,
            name: String,
            FeedNotification.Reason,
            FeedNotification.Transition
        )
        /// A zone is gone, with all its records that matched.
        case zoneDeleted(String)
        /// Of a subscription to zones as a whole: something changed in these, in their order.
        case zones([String])
    }

    package var subscription: Subscription
    package var database: DatabaseID
    package var change: Change
    /// Of the latest commit that it tells of, whatever the order in which they came here.
    package var stamp: Stamp
    /// All commits that it tells of.
    package var dots: [Dot]
    /// Where that stands on this node.
    package var position: UInt64
    /// Whose change it was; empty: several, or a node's own.
    package var user: String
    /// Those who may be told of it, of all who asked for it.
    package var readers = Grants.Readers.everybody

    /// What its name is made of: the same on every node.
    package var identity: Bytes {
        var writer = CanonicalWriter(reserving: 128)
        writer.dot(stamp.dot)
        writer.varint(UInt64(database.kind.rawValue))
        writer.delimited(database.owner.utf8)
        writer.delimited(subscription.id.utf8)
        writer.delimited(place.utf8)
        return writer.bytes
    }

    /// Orders what a commit tells.
    var place: String {
        switch change {
        case .record(let zone, let name, _, _): "\(zone)\0\(name)"
        case .zoneDeleted(let zone): zone
        case .zones: ""
        }
    }
}

/// Makes news of a window's rows.
struct FeedTelling {
    private struct Place: Hashable {
        let zone: String
        let name: String
    }

    /// The rows of a record in the window.
    private struct Story {
        var first: TopicEvent
        var last: TopicEvent
        var position: UInt64
        /// The latest one.
        var stamp: Stamp
        var dots: [Dot]
        /// All of it was done by the device that is told.
        var isOwn: Bool
        /// There is more than one row.
        var isSeveral = false
    }

    private let fetch: FetchFeed
    /// Of the device that is told.
    private let mark: UInt64
    private let known: VersionVector
    private let scope: ScopeNumber
    private let window: FeedWindow
    /// Where the device was told all there was.
    private let first: UInt64
    private let reader: ReadTransaction
    private let schemas: SchemaDirectory
    /// The device was told some of it already: it left another run of a node in the middle.
    private let isCut: Bool
    /// This run told some of it in an earlier window.
    private let isLater: Bool
    private(set) var news: [FeedNews] = []
    /// Subscriptions that fired here on nothing: another node's firing of theirs stands.
    private(set) var lost: [SubscriptionName] = []
    /// Marks of the devices that made the changes.
    private(set) var authors: Set<UInt64> = []

    init(
        _ fetch: FetchFeed,
        _ mark: UInt64,
        known: VersionVector,
        of scope: ScopeNumber,
        _ window: FeedWindow,
        since first: UInt64,
        isCut: Bool,
        isLater: Bool,
        _ reader: ReadTransaction,
        _ schemas: SchemaDirectory
    ) {
        self.fetch = fetch
        self.mark = mark
        self.known = known
        self.scope = scope
        self.window = window
        self.first = first
        self.isCut = isCut
        self.isLater = isLater
        self.reader = reader
        self.schemas = schemas
    }

    /// - Parameters:
    ///   - position: What happened up to there is not told, since nobody had asked for it.
    ///   - seen: The same for zones as a whole.
    mutating func tell(
        _ stored: StoredSubscription,
        _ topic: Topic,
        since position: UInt64,
        _ seen: VersionVector
    ) throws(EngineError) {
        guard topic.recordType != nil else {
            // A page that is not the last one leaves the token where it was.
            if window.isLast { try tellZones(stored, topic, seen) }
            return
        }
        if let fired = stored.fired, try hasLost(fired, topic) {
            lost.append(
                SubscriptionName(
                    databaseScope: stored.database.kind,
                    subscriptionID: stored.subscription.id
                )
            )
        }
        let uncertain = stored.fired == nil ? try uncertain(topic) : [:]
        let stories = stories(topic, since: position, stored.fired)
        for (place, story) in stories where uncertain[place] == nil {
            if let told = try told(story, at: place, stored, topic) {
                try add(told, of: topic, at: place)
            }
        }
        for (place, mix) in uncertain {
            let matches = try matches(topic, place)
            try add(
                FeedNews(
                    subscription: stored.subscription,
                    database: stored.database,
                    change: .record(
                        zone: place.zone,
                        name: place.name,
                        .updated,
                        matches ? .uncertainMatch : .uncertainMiss
                    ),
                    stamp: mix.stamp,
                    dots: [mix.stamp.dot],
                    position: mix.position,
                    user: ""
                ),
                of: topic,
                at: place
            )
        }
    }

    /// Adds news of a record for those who may read it as it stands now, or might when it was
    /// deleted.
    private mutating func add(
        _ news: FeedNews,
        of topic: Topic,
        at place: Place
    ) throws(EngineError) {
        var news = news
        // Of a zone nothing is told but that it is gone.
        if news.database.kind == .public, !place.name.isEmpty {
            let type = topic.recordType ?? ""
            let grants = try schemas.find(type, of: scope, reader).schema.grants
            let row = try row(at: place)
            // Nobody can say any more who created a record that is forgotten, or that left its name
            // to one of another type.
            let isSame = row.map { StoredName.shown($0.type) == type } ?? false
            news.readers = grants.readers(ofRecordBy: isSame ? row?.createdBy : nil)
            if news.readers == .nobody { return }
        }
        self.news.append(news)
    }

    /// A record of the public database as it stands now.
    private func row(at place: Place) throws(EngineError) -> RecordRow? {
        guard let database = try reader.database(scope, .public),
            let zone = try reader.zone(database, place.zone), zone.exists
        else { return nil }
        return try reader.record(zone.number, place.name)
    }

    /// In which zones others changed something that the device has not seen.
    private mutating func tellZones(
        _ stored: StoredSubscription,
        _ topic: Topic,
        _ seen: VersionVector
    ) throws(EngineError) {
        var (zones, newest): ([String], Stamp?) = ([], nil)
        var dots: [Dot] = []
        for (key, value) in try reader.rows(.meta, .watchedHeads(of: topic.id, in: scope)) {
            let (zone, device, incarnation) = try RowKey.watchedHead(key)
            let row = try reader.decoding(key) { () throws(MalformedBytes) in
                try WatchedHead(row: value)
            }
            let stamp = Stamp(row.time, Dot(incarnation, row.seq))
            if seen.covers(stamp.dot) { continue }
            authors.insert(device)
            if mark != 0 && device == mark { continue }
            if zones.last != zone { zones.append(zone) }
            newest = max(newest ?? stamp, stamp)
            dots.append(stamp.dot)
        }
        guard let newest else { return }
        news.append(
            FeedNews(
                subscription: stored.subscription,
                database: stored.database,
                change: .zones(zones),
                stamp: newest,
                dots: dots,
                position: window.end,
                user: ""
            )
        )
    }

    /// What the device has not seen, by records.
    private mutating func stories(
        _ topic: Topic,
        since position: UInt64,
        _ fired: Dot?
    ) -> [Place: Story] {
        var stories: [Place: Story] = [:]
        for event in window.events[topic.id] ?? [] where event.position > position {
            if !fetch.broken.contains(.feedCovered), known.covers(event.row.stamp.dot) { continue }
            if let fired, event.row.stamp.dot != fired { continue }
            authors.insert(event.row.device)
            let isOwn = mark != 0 && event.row.device == mark
            let place = Place(zone: event.row.zone, name: event.name)
            guard let story = stories[place], !fetch.broken.contains(.feedFold) else {
                stories[place] = Story(
                    first: event.row,
                    last: event.row,
                    position: event.position,
                    stamp: event.row.stamp,
                    dots: [event.row.stamp.dot],
                    isOwn: isOwn
                )
                continue
            }
            stories[place]?.last = event.row
            stories[place]?.position = event.position
            stories[place]?.stamp = max(story.stamp, event.row.stamp)
            stories[place]?.dots.append(event.row.stamp.dot)
            if !isOwn { stories[place]?.isOwn = false }
            stories[place]?.isSeveral = true
        }
        return stories
    }

    private func told(
        _ story: Story,
        at place: Place,
        _ stored: StoredSubscription,
        _ topic: Topic
    ) throws(EngineError) -> FeedNews? {
        let before = story.first.flags.contains(.matchedBefore)
        var now = story.last.flags.contains(.matchesNow)
        var isUncertain = isUncertain(story, now)
        // The device may know of the zone's deletion, which took the record along here.
        if now, place.zone != Names.defaultZone, try !matches(topic, place) {
            (now, isUncertain) = (false, true)
        }
        guard before || now || isUncertain, !story.isOwn else { return nil }
        let isDeleted = story.last.flags.contains(.deleted)
        let isCreated = now && story.first.flags.contains(.created)
        let reason: FeedNotification.Reason =
            isDeleted ? .deleted : isCreated ? .created : .updated
        guard stored.subscription.fires(on: reason) else { return nil }
        let transition: FeedNotification.Transition =
            if isUncertain {
                now ? .uncertainMatch : .uncertainMiss
            } else {
                !now ? .left : before ? .stayed : .entered
            }
        return FeedNews(
            subscription: stored.subscription,
            database: stored.database,
            change: place.name.isEmpty
                ? .zoneDeleted(place.zone)
                : .record(zone: place.zone, name: place.name, reason, transition),
            stamp: story.stamp,
            dots: story.dots,
            position: story.position,
            user: story.first.user == story.last.user ? story.last.user : ""
        )
    }

    /// Whether the device may hold the record or not, whatever was there before.
    private func isUncertain(_ story: Story, _ now: Bool) -> Bool {
        if fetch.broken.contains(.feedCut) { return false }
        // It may have been told some of several changes, and hold what came and went.
        if isCut, story.isSeveral { return true }
        // It may have dropped what leaves, since an earlier window told of concurrent changes how
        // the record stands now.
        return !now && (isLater || isCut)
    }

    // MARK: Concurrent changes

    /// Whether a subscription fired on a commit of which there is no event here: when it came, the
    /// subscription had fired here already, and only that other firing is kept.
    private func hasLost(_ fired: Dot, _ topic: Topic) throws(EngineError) -> Bool {
        guard window.isLast, !known.covers(fired) else { return false }
        let all = try FeedWindow(
            of: [topic.id],
            from: first,
            through: window.end,
            isLast: true,
            in: scope,
            reader
        )
        return all.events[topic.id]?.contains { $0.row.stamp.dot == fired } != true
    }

    /// Records of which the device has seen one of two concurrent changes, and is to learn of the
    /// other; with the last commit of each.
    private func uncertain(
        _ topic: Topic
    ) throws(EngineError) -> [Place: (stamp: Stamp, position: UInt64)] {
        if fetch.broken.contains(.feedMixed) { return [:] }
        var found: [Place: (stamp: Stamp, position: UInt64)] = [:]
        guard let type = topic.recordType else { return [:] }
        for mix in window.mixes where mix.row.types.contains(type) {
            guard topic.zones.contain(mix.row.zone), known.covers(mix.row.stamp.dot) else {
                continue
            }
            let late = mix.row.unknown.filter { !known.covers($0) }
            guard let dot = late.max() else { continue }
            found[Place(zone: mix.row.zone, name: mix.name)] = (
                Stamp(mix.row.stamp.time, dot), mix.position
            )
        }
        return found
    }

    private func matches(_ topic: Topic, _ place: Place) throws(EngineError) -> Bool {
        guard let type = topic.recordType,
            let database = try reader.database(scope, topic.database),
            let zone = try reader.zone(database, place.zone), zone.exists,
            let row = try reader.record(zone.number, place.name), !row.isDead,
            StoredName.shown(row.type) == type,
            try !RecordLens(of: scope, in: reader).hides(row.type)
        else { return false }
        let schema = try reader.typeSchema(scope, type)
        var group = TopicGroup(
            TopicGroup.Binding(schema: schema, environment: fetch.environment)
        )
        group.insert(topic)
        return try reader.decoding(RowKey.record(zone.number, place.name).bytes) {
            () throws(MalformedBytes) in
            try group.matches(
                row,
                named: place.name,
                in: place.zone,
                now: row.modified.time.milliseconds
            ).contains(topic.id)
        }
    }
}

extension Subscription {
    /// Whether it tells of that.
    fileprivate func fires(on reason: FeedNotification.Reason) -> Bool {
        guard case .query = kind else { return true }
        return switch reason {
        case .created: options.contains(.firesOnRecordCreation)
        case .updated: options.contains(.firesOnRecordUpdate)
        case .deleted: options.contains(.firesOnRecordDeletion)
        }
    }
}

extension Authorisation {
    /// Feeds are a user's.
    static func checkFeed(of caller: Caller) throws(ServiceError) {
        switch caller.role {
        case .user: return
        case .anonymous:
            throw ServiceError(
                .notAuthenticated,
                "feeds are for signed-in users; connect with an access token"
            )
        case .operator:
            throw ServiceError(
                .permissionFailure,
                "an operator has no feed; use a user's access token"
            )
        }
    }
}
