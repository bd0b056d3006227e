// What a commit leaves for feeds beside its events: how the parts of one commit become one event,
// and what its maker did not know.
//
// Called by `WriteTransaction+Topics` for each record that a commit changed. hot: once per saved
// record.

import CumulusModel

extension WriteTransaction {
    /// An event, together with what an earlier part of the same commit did to the record; nil if it
    /// came and went with the commit.
    func folded(
        _ event: TopicEvent,
        at key: RowKey,
        _ commit: Commit
    ) throws(EngineError) -> TopicEvent? {
        guard commit.operations.count > 1, let earlier: TopicEvent = try row(key) else {
            return event
        }
        let first: TopicEvent.Flags = [.matchedBefore, .created]
        var event = event
        event.flags = event.flags.subtracting(first).union(earlier.flags.intersection(first))
        event.key = earlier.key
        return event.flags.isDisjoint(with: [.matchedBefore, .matchesNow]) ? nil : event
    }

    /// The mixed row of a record that a commit changed; nil if the commit's maker knew its latest
    /// changes, or nobody watches its types.
    mutating func mix(
        _ before: RecordRow?,
        _ after: RecordRow,
        _ application: CommitApplication,
        _ creation: CommitApplication.Creation?,
        at place: ZonePlace
    ) throws(EngineError) -> MixedRow? {
        var unknown = (before?.frontier ?? []).map(\.dot).filter { !application.cut.covers($0) }
        // Other creations by the same request say the same.
        if case .repeated(let births) = creation { unknown.removeAll(where: births.contains) }
        if unknown.isEmpty { return nil }
        let topics = try loadFeeds(of: place.scope).topics
        let types = Set([before, after].compactMap { $0 }.map { StoredName.shown($0.type) })
            .filter { topics.watches(.init(database: place.zone.database, type: $0)) }
        if types.isEmpty { return nil }
        return MixedRow(
            stamp: application.commit.stamp,
            unknown: unknown,
            zone: place.zone.name,
            types: types.sorted(),
            database: place.zone.database
        )
    }
}
