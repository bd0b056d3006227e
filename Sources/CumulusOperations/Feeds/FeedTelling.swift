// Turns the rows of a window into news: the rows of one record become one piece of news.
//
// Made by `FeedRead` for each page, which calls `tell` for each subscription.

import CumulusModel
import CumulusStorage

struct FeedTelling {
    private struct Place: Hashable {
        let zone: String
        /// Empty for the zone itself.
        let name: String
    }

    /// The rows of a record in the window that the device has not seen.
    private struct Story {
        let first: TopicEvent
        let firstPosition: UInt64
        private(set) var last: TopicEvent
        private(set) var position: UInt64
        /// The highest stamp of the rows.
        private(set) var stamp: Stamp
        /// The key of the life that the commit with that stamp created for a request.
        private(set) var key: LifeKey?
        private(set) var dots: [Dot]
        /// Whether the device that is told made all the changes.
        private(set) var isOwn: Bool
        /// Whether a creation of which the device has heard elsewhere came after a change.
        var isOvertaken = false

        init(_ event: FeedWindow.Event, isOwn: Bool) {
            first = event.row
            firstPosition = event.position
            last = event.row
            position = event.position
            stamp = event.row.stamp
            key = event.row.key
            dots = [event.row.stamp.dot]
            self.isOwn = isOwn
        }

        mutating func append(_ event: FeedWindow.Event, isOwn: Bool) {
            last = event.row
            position = event.position
            if event.row.stamp > stamp { (stamp, key) = (event.row.stamp, event.row.key) }
            dots.append(event.row.stamp.dot)
            self.isOwn = self.isOwn && isOwn
        }

        var isSeveral: Bool { dots.count > 1 }

        /// The user of the first and the last change; empty if these are two.
        var user: String { first.user == last.user ? last.user : "" }

        func reason(matchesNow: Bool) -> FeedNotification.Reason {
            if last.flags.contains(.deleted) { return .deleted }
            return matchesNow && first.flags.contains(.created) ? .created : .updated
        }
    }

    let fetch: FetchFeed
    /// The device that is told, as `TopicEvent.deviceDigest` names it; 0 means any device.
    let ownDevice: UInt64
    /// The changes that the device has seen.
    let known: VersionVector
    let scope: ScopeNumber
    let window: FeedWindow
    /// The first position of the read, of which the window may be a later part.
    let first: UInt64
    /// Whether another run of a node told the device some of these changes.
    let isCut: Bool
    /// Whether the device asked its queries in between, so that it may hold what came and went.
    let isAsking: Bool
    /// Whether this run told some of the read in an earlier window.
    let isLater: Bool
    let reader: ReadTransaction
    let schemas: SchemaDirectory
    private(set) var news: [FeedNews] = []
    /// Subscriptions whose firing can't be told here: they had fired on this node already, and the
    /// firing on another node is kept.
    private(set) var lost: [SubscriptionName] = []
    /// Marks of the devices that made the changes.
    private(set) var authors: Set<UInt64> = []
    /// What `FeedTelling+Repeats` has looked up.
    var creations = FeedCreations()

    /// Adds the news of a subscription.
    ///
    /// - Parameters:
    ///   - position: Changes up to there are older than the subscription, and not told.
    ///   - seen: The changes up to there, as a vector for zones as a whole.
    mutating func tell(
        _ stored: StoredSubscription,
        _ topic: Topic,
        since position: UInt64,
        _ seen: VersionVector
    ) throws(EngineError) {
        guard topic.recordType != nil else {
            // Only the last page moves the token's vector, so only that page tells of zones.
            if !window.isLast { return }
            if topic.database.kind == .shared { return try tellSharedZones(stored, seen) }
            return try tellZones(stored, topic, seen)
        }
        if let fired = stored.fired, try hasLost(fired, topic) { lost.append(stored.name) }
        let mixes = stored.fired == nil ? try mixes(topic) : [:]
        let deletions = stored.fired == nil ? deletions(topic) : [:]
        let stories = try stories(topic, since: position, stored.fired)
        for (place, story) in stories where mixes[place] == nil && isNews(story) {
            if story.isOvertaken || mayBeGone(place, story, deletions[place.zone]) {
                let changes = (story.stamp, story.dots, story.position, story.key)
                let reason = story.reason(matchesNow: story.last.flags.contains(.matchesNow))
                try addState(
                    after: changes,
                    at: place,
                    stored,
                    topic,
                    deletions[place.zone],
                    besides: [reason]
                )
            } else if let told = told(story, at: place, stored) {
                try add(told, of: topic, at: place)
            }
        }
        for (place, mix) in mixes {
            try addState(after: mix, at: place, stored, topic, deletions[place.zone])
        }
    }

    /// Adds news of a record for the users who may read it.
    ///
    /// These are the users who may read it as it is now, or who might when it was deleted.
    private mutating func add(
        _ news: FeedNews,
        of topic: Topic,
        at place: Place
    ) throws(EngineError) {
        var news = news
        // News of a zone say only that it is gone: no right is needed.
        if news.database.kind == .public, !place.name.isEmpty {
            let type = topic.recordType ?? ""
            let grants = try schemas.find(type, of: scope, reader).schema.grants
            let row = try row(at: place)
            // The creator is unknown if the record is forgotten, or if a record of another type has
            // its name now.
            let isSame = row.map { StoredName.shown($0.type) == type } ?? false
            news.readers = grants.readers(ofRecordBy: isSame ? row?.createdBy : nil)
            if news.readers == .nobody { return }
        }
        self.news.append(news)
    }

    /// The row of a record of the public database as it is now; nil if it is forgotten.
    private func row(at place: Place) throws(EngineError) -> RecordRow? {
        guard let database = try reader.database(scope, .public),
            let zone = try reader.zone(database, place.zone), zone.exists
        else { return nil }
        return try reader.record(zone.number, place.name)
    }

    /// Adds news of the zones in which others changed something that the device has not seen.
    private mutating func tellZones(
        _ stored: StoredSubscription,
        _ topic: Topic,
        _ seen: VersionVector
    ) throws(EngineError) {
        var (zones, newest): ([ZoneAddress], Stamp?) = ([], nil)
        var dots: [Dot] = []
        for (key, value) in try reader.rows(.meta, .watchedHeads(of: topic.id, in: scope)) {
            let (zone, device, incarnation) = try RowKey.watchedHead(key)
            let row = try reader.decoding(key) { () throws(MalformedBytes) in
                try WatchedHead(row: value)
            }
            let stamp = Stamp(row.time, Dot(incarnation, row.seq))
            if seen.covers(stamp.dot) { continue }
            authors.insert(device)
            if ownDevice != 0 && device == ownDevice { continue }
            if zones.last?.name != zone { zones.append(ZoneAddress(name: zone)) }
            newest = max(newest ?? stamp, stamp)
            dots.append(stamp.dot)
        }
        guard let newest else { return }
        add(zones, newest, dots, of: stored)
    }

    /// Adds news of the zones of others.
    private mutating func tellSharedZones(
        _ stored: StoredSubscription,
        _ seen: VersionVector
    ) throws(EngineError) {
        let user = stored.database.owner
        let found = try reader.visibleZoneNews(for: user, since: seen, in: scope)
        guard let newest = found.stamps.max() else { return }
        add(found.zones, newest, found.stamps.map(\.dot), of: stored)
    }

    private mutating func add(
        _ zones: [ZoneAddress],
        _ newest: Stamp,
        _ dots: [Dot],
        of stored: StoredSubscription
    ) {
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

    /// The rows that the device has not seen, by their records.
    private mutating func stories(
        _ topic: Topic,
        since position: UInt64,
        _ fired: Dot?
    ) throws(EngineError) -> [Place: Story] {
        var stories: [Place: Story] = [:]
        for event in window.events[topic.id] ?? [] where event.position > position {
            let place = Place(zone: event.row.zone, name: event.name)
            let isHeard = try hasHeard(of: event) && !fetch.broken.contains(.feedCovered)
            if isHeard, fired != nil || known.covers(event.row.stamp.dot) { continue }
            // Earlier rows don't say how the record is then. An earlier window may have told them.
            if isHeard { stories[place]?.isOvertaken = true }
            if isHeard, !isLater { continue }
            if let fired, event.row.stamp.dot != fired { continue }
            authors.insert(event.row.device)
            let isOwn = ownDevice != 0 && event.row.device == ownDevice
            if stories[place] == nil || fetch.broken.contains(.feedFold) {
                stories[place] = Story(event, isOwn: isOwn)
            } else {
                stories[place]?.append(event, isOwn: isOwn)
            }
            if isHeard { stories[place]?.isOvertaken = true }
        }
        return stories
    }

    /// Whether others changed what the device may hold.
    private func isNews(_ story: Story) -> Bool {
        let before = story.first.flags.contains(.matchedBefore)
        let now = story.last.flags.contains(.matchesNow)
        return (before || now || isUncertain(story)) && !story.isOwn
    }

    /// The news of a record's rows; nil if the subscription does not tell of them.
    private func told(
        _ story: Story,
        at place: Place,
        _ stored: StoredSubscription
    ) -> FeedNews? {
        let before = story.first.flags.contains(.matchedBefore)
        let now = story.last.flags.contains(.matchesNow)
        let isUncertain = isUncertain(story)
        let reason = story.reason(matchesNow: now)
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
            user: story.user,
            key: story.key
        )
    }

    /// Whether it is unknown if the device holds the record.
    private func isUncertain(_ story: Story) -> Bool {
        let before = story.first.flags.contains(.matchedBefore)
        let now = story.last.flags.contains(.matchesNow)
        if isAsking, !before, !now, !fetch.broken.contains(.feedAsked) { return true }
        if fetch.broken.contains(.feedCut) { return false }
        // The device was told some of the changes, so it may hold a record that came and went.
        if isCut, story.isSeveral { return true }
        // The device may have dropped the record. An earlier window may have told of concurrent
        // changes how the record is now, or another node may have told the changes of a later
        // window.
        return !now && (isLater || isCut || !window.isLast)
    }

    // MARK: Concurrent changes

    /// Whether a subscription fired on a commit that has no event here.
    ///
    /// The subscription had fired on this node when that commit came, so nothing was written. The
    /// firing on the other node is the one that is kept.
    private func hasLost(_ fired: Dot, _ topic: Topic) throws(EngineError) -> Bool {
        guard window.isLast, !known.covers(fired) else { return false }
        if window.events[topic.id]?.contains(where: { $0.row.stamp.dot == fired }) == true {
            return false
        }
        // An earlier window of the read may have told it.
        return try !FeedWindow.holds(
            fired,
            of: topic.id,
            from: first,
            before: window.first,
            in: scope,
            reader
        )
    }

    /// Changes of a record that the device has not seen, though it has seen concurrent ones.
    private typealias Changes = (stamp: Stamp, dots: [Dot], position: UInt64, key: LifeKey?)

    /// The records of which the device has seen only one of two concurrent changes, or may have.
    private mutating func mixes(_ topic: Topic) throws(EngineError) -> [Place: Changes] {
        if fetch.broken.contains(.feedMixed) { return [:] }
        var found: [Place: Changes] = [:]
        guard let type = topic.recordType else { return [:] }
        for mix in window.mixes where mix.row.types.contains(type) {
            guard topic.zones.contain(mix.row.zone), let stamp = try unseen(of: mix),
                try isMix(mix, of: topic.database)
            else { continue }
            found[Place(zone: mix.row.zone, name: mix.name)] = (
                stamp, [stamp.dot], mix.position,
                try key(of: stamp.dot, mix.name, in: mix.zone, topic)
            )
        }
        return found
    }

    /// Whether a record with concurrent changes is of a database.
    ///
    /// A row of release 0.1 names no database. It counts for the database whose zone has its number
    /// now, and for no database once the zone was made anew.
    private func isMix(
        _ mix: FeedWindow.Mix,
        of database: DatabaseID
    ) throws(EngineError) -> Bool {
        if fetch.broken.contains(.feedDatabase) { return true }
        if let named = mix.row.database { return named == database }
        guard let number = try reader.database(scope, database) else { return false }
        return try reader.zone(number, mix.row.zone)?.number == mix.zone
    }

    /// The positions of the last deletions of zones in the window, by the names of these.
    private func deletions(_ topic: Topic) -> [String: UInt64] {
        var found: [String: UInt64] = [:]
        for event in window.events[topic.id] ?? [] where event.row.flags.contains(.zoneDeleted) {
            found[event.row.zone] = event.position
        }
        return found
    }

    /// Whether the device may have seen a zone's deletion that took a change of the record along,
    /// which this node applied before the deletion.
    ///
    /// If several nodes delete a zone at the same time, each writes a row of the first deletion
    /// that it applies. So the device may have seen another one than the row names. A window that
    /// is not the last one may end before the row.
    private func mayBeGone(_ place: Place, _ story: Story, _ deletion: UInt64?) -> Bool {
        guard place.zone != Names.defaultZone, !place.name.isEmpty else { return false }
        return !window.isLast || deletion ?? 0 > story.firstPosition
    }

    /// Adds the news of a record with concurrent changes: how it is now.
    ///
    /// The subscription tells it if it asks for a change that may have led there. It comes behind
    /// the deletion of its zone: a device drops all records of a zone that is gone.
    ///
    /// - Parameters:
    ///   - deletion: The position of the last deletion of the record's zone in the window.
    ///   - known: Kinds of changes that the window shows.
    private mutating func addState(
        after changes: Changes,
        at place: Place,
        _ stored: StoredSubscription,
        _ topic: Topic,
        _ deletion: UInt64?,
        besides known: [FeedNotification.Reason] = []
    ) throws(EngineError) {
        let state = try state(of: place, topic)
        let reasons = known + state.reasons
        guard reasons.contains(where: stored.subscription.fires(on:)) else { return }
        let news = FeedNews(
            subscription: stored.subscription,
            database: stored.database,
            change: .record(
                zone: place.zone,
                name: place.name,
                .updated,
                state == .matches ? .uncertainMatch : .uncertainMiss
            ),
            stamp: changes.stamp,
            dots: changes.dots,
            position: max(changes.position, deletion ?? 0),
            user: "",
            key: changes.key
        )
        try add(news, of: topic, at: place)
    }

    /// How a record stands to a topic.
    private enum State {
        /// There is no record of the topic's type.
        case gone
        case misses, matches

        /// The kinds of changes that may have led there.
        var reasons: [FeedNotification.Reason] {
            switch self {
            case .gone: [.deleted]
            case .misses: [.updated]
            case .matches: [.created, .updated]
            }
        }
    }

    /// How a record stands to a topic now.
    private func state(of place: Place, _ topic: Topic) throws(EngineError) -> State {
        guard let type = topic.recordType,
            let database = try reader.database(scope, topic.database),
            let zone = try reader.zone(database, place.zone), zone.exists,
            let row = try reader.record(zone.number, place.name), !row.isDead,
            StoredName.shown(row.type) == type,
            try !RecordLens(of: scope, in: reader).hides(row.type)
        else { return .gone }
        let schema = try reader.typeSchema(scope, type)
        var group = TopicGroup(
            TopicGroup.Binding(schema: schema, environment: fetch.environment)
        )
        group.insert(topic)
        let matched = try reader.decoding(RowKey.record(zone.number, place.name).bytes) {
            () throws(MalformedBytes) in
            try group.matches(
                row,
                named: place.name,
                in: place.zone,
                now: row.modified.time.milliseconds
            )
        }
        return matched.contains(topic.id) ? .matches : .misses
    }
}
