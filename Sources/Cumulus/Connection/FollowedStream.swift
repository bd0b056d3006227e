// A stream of pages without an end, over whichever node answers: when a connection or a node is
// lost, it goes on at the next one, with the token of the last page.
//
// Made by the sequences of changes, one for each iterator. It holds at most one stream, which ends
// with it. Credit is granted as pages are taken, so a slow caller gets no more than it takes.

import CumulusModel
import CumulusWire

/// Only its one consumer calls `next`.
final class FollowedStream {
    private let core: ClientCore
    private let method: Method
    private var stream: PageStream?
    /// Streams in a row that told no more than where they began.
    private var failures = 0

    init(_ core: ClientCore, _ method: Method) {
        self.core = core
        self.method = method
    }

    /// The next page; it comes when there is news.
    ///
    /// Throws a node's error about the request itself, and the error of a call that no node takes
    /// in time.
    ///
    /// - Parameter request: Makes the request for a stream that begins behind the last page.
    func next(_ request: () -> Bytes) async throws -> Bytes {
        while true {
            do {
                if let stream, let page = try await stream.next() {
                    failures = 0
                    return page
                }
            } catch let error as ServiceError where FollowedStream.isPassing(error) {
                try ClientCore.checkCancellation()
            }
            let hadStream = stream != nil
            stream = nil
            if hadStream {
                try await core.pause(failures)
                failures += 1
            }
            let opened = try await PageStream.open(
                core,
                CallHeader(method),
                request(),
                patience: FollowedStream.patience
            )
            stream = opened
            if let page = try await opened.next() { return page }
        }
    }

    /// Another node, or the same one in a moment, goes on with the stream.
    private static func isPassing(_ error: ServiceError) -> Bool {
        error.code == .networkFailure || error.isPassing
    }

    /// A stream may be silent for years; PING finds out whether its node is there.
    private static let patience: Int64 = 10 * 365 * 86_400_000
}
