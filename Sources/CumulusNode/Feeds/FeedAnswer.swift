// What a page of a feed tells all devices of a user that are equally far: read, judged and encoded
// once.
//
// Made by `FollowedFeed`, kept in `CommonFeeds` for one state of the store. A device that made one
// of the changes has an answer of its own. hot: looked up once per page of a feed.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusWire

/// What a device asks.
///
/// Equal questions of one state have equal answers, but for the changes that a device made itself.
struct FeedQuestion: Hashable, Sendable {
    private let scope: ScopeNumber
    /// The caller, on any device.
    private let caller: Caller
    private let token: FeedToken
    private let position: UInt64
    private let isAsking: Bool

    /// nil if the feed does not go on where the last page of the same call ended.
    init?(_ fetch: FetchFeed, _ scope: ScopeNumber, by caller: Caller) {
        guard let token = fetch.token, let position = fetch.position, !fetch.isLost,
            !fetch.isHistory
        else { return nil }
        self.scope = scope
        self.caller = Caller(role: caller.role, registered: caller.registered)
        self.token = token
        self.position = position
        isAsking = fetch.isAsking
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(position)
        hasher.combine(caller.user)
    }
}

final class FeedAnswer: Sendable {
    let page: FetchFeed.Page
    /// The notifications of the message, encoded.
    let notifications: [Bytes]
    /// The message has no room for what comes next.
    let isFull: Bool
    /// The message holds enough without anything of this page.
    let isEnough: Bool
    /// Digests of devices that must not share it; nil means all devices.
    let authors: Set<UInt64>?
    /// The places that may have news for the page after it; nil means any.
    let places: [NewsPlace]?
    /// The message, if it is told in any case.
    let message: Bytes?

    init(
        _ page: FetchFeed.Page,
        notifications: [Bytes] = [],
        isFull: Bool = false,
        isEnough: Bool = false,
        authors: Set<UInt64>?,
        places: [NewsPlace]?,
        message: Bytes?
    ) {
        self.page = page
        self.notifications = notifications
        self.isFull = isFull
        self.isEnough = isEnough
        self.authors = authors
        self.places = places
        self.message = message
    }

    /// Whether other devices may share it.
    var isShared: Bool { authors != nil }

    /// Whether a device gets it that may be one of the authors.
    func isFor(_ device: UInt64) -> Bool {
        authors.map { device == 0 || !$0.contains(device) } ?? false
    }

    /// The approximate size in memory.
    var byteCount: Int {
        notifications.reduce(1_024 + (message?.count ?? 0)) { $0 + $1.count }
    }
}
