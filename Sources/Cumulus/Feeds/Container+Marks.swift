// Marks notifications as read, for all devices of the user.
//
// What is read comes with each notification, see `FeedNotification.isRead`.

public import CumulusModel
import CumulusWire

extension Container {
    /// Marks notifications as read, for all devices of the user.
    ///
    /// They come with ``FeedNotification/isRead`` from then on. The server keeps the last 400 ids
    /// of a user; what was marked before these counts as unread again. An app that marks many marks
    /// everything up to a token now and then, which takes no room.
    ///
    /// It is done also for ids that name nothing. More than 400 go in several calls; if one fails,
    /// some may be marked, and marking them again does no harm.
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
    /// That is what was told up to the last page that was up to date, see
    /// ``FeedPage/isUpToDate``: use that page's token.
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
