// Marks notifications as read, for all devices of the user.
//
// Each notification says whether it is read, see `FeedNotification.isRead`.

public import CumulusModel
import CumulusWire

extension Container {
    /// Marks notifications as read, for all devices of the user.
    ///
    /// They come with `FeedNotification.isRead` set from then on. The server keeps the last 400
    /// ids of a user; notifications that were marked before these count as unread again. An app
    /// that marks many should mark everything up to a token now and then, which needs no ids.
    ///
    /// Ids that name no notification are accepted. More than 400 ids go in several calls. If one of
    /// them fails, some ids may be marked; marking them again does no harm.
    ///
    /// - Throws: `notAuthenticated` without an access token.
    public func markNotificationsRead(_ ids: [FeedNotification.ID]) async throws {
        guard !ids.isEmpty else { return }
        let limit = try await core.hello().limits.itemsPerRequest
        for part in ids.parts(of: min(limit, FeedNotification.ID.mostMarked)) {
            try await mark(MarkReadRequest(ids: part.map(\.bytes)))
        }
    }

    /// Marks everything as read that the user's subscriptions told up to a token, for all devices.
    ///
    /// Use the token of a page that is up to date (``FeedPage/isUpToDate``). The token of another
    /// page marks only what was told up to the last such page before it.
    ///
    /// - Throws: `notAuthenticated` without an access token; `invalidArguments` for a token of
    ///   another container or user; `changeTokenExpired` for one that this cluster can't use.
    public func markNotificationsRead(upTo token: FeedToken) async throws {
        try await mark(MarkReadRequest(ids: [], token: token.bytes))
    }

    private func mark(_ request: MarkReadRequest) async throws {
        _ = try await core.change(.feedsMarkRead, request.encoded())
    }
}
