// The pages that followers were told from the newest state of the store: those who ask the same get
// the same bytes, read and encoded once.
//
// Shared by all followers of a node, asked on reader threads. It is emptied whenever the store
// moves on, since the next page of each follower begins elsewhere then. hot: once per page of a
// follower.

import CumulusModel
import CumulusOperations
import Synchronization

/// A page as it goes over the wire, and what it says.
struct FollowedPage: Sendable {
    var token: ChangeToken
    var isEmpty: Bool
    /// With the sealed token.
    var message: Bytes
}

final class FollowedPages: Sendable {
    private struct State {
        var version: UInt64 = 0
        var pages: [FollowChanges.Question: FollowedPage] = [:]
        var byteCount = 0

        mutating func reset(to newer: UInt64) {
            guard newer > version else { return }
            self = State(version: newer)
        }
    }

    private let state = Mutex(State())
    /// Bytes that are kept at most.
    private static let capacity = 4 << 20

    /// The answer to a question, from the store as it was at that version or later.
    ///
    /// - Parameters:
    ///   - question: nil means that nobody shares the answer.
    ///   - version: Of the visible state; asked before `read` looks at the store.
    func page(
        _ question: FollowChanges.Question?,
        at version: UInt64,
        read: () throws -> FollowedPage
    ) throws -> FollowedPage {
        guard let question else { return try read() }
        let known = state.withLock { state -> FollowedPage? in
            state.reset(to: version)
            return state.version == version ? state.pages[question] : nil
        }
        if let known { return known }
        let page = try read()
        state.withLock { state in
            let size = page.message.count
            guard state.version == version, state.pages[question] == nil,
                state.byteCount + size <= FollowedPages.capacity
            else { return }
            state.pages[question] = page
            state.byteCount += size
        }
        return page
    }
}
