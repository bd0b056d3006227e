// A stream that a caller follows: pages as long as there are any, then one whenever its scope has
// news. It has no end of its own and no deadline.
//
// A handler begins it with `CallContext.follow` and gives the function that reads its next page; a
// page says which news the one after it waits for. That is all that kinds of streams differ in. A
// follower that waits holds that function and one wait for the bell: no thread, no timer, no bytes.
// A caller without credit holds the function only, and is woken by the credit.
//
// Folder: streams that wait for news. Read `OpenCalls+Following`, then `FollowCalls`, which follows
// changes, `SharedPages` and `Pacing`.

import CumulusModel
import CumulusStorage
import CumulusWire

/// The news that a stream waits for before its next page is read.
struct AwaitedNews: Sendable {
    var scope: ScopeNumber
    /// How often the bell had rung for the scope before the last page was read.
    var rings: UInt64
    /// The parts of the scope that matter; nil means all of it.
    var places: [NewsPlace]?
    /// When the next page is read though there is no news; nil means never.
    var until: Instant?
}

extension CallContext {
    /// Answers with pages until the caller cancels the call, or one throws.
    func follow(_ read: @escaping NextPage) throws(ServiceError) {
        try calls.follow(call.stream, read)
    }
}

extension OpenCalls {
    fileprivate func follow(
        _ stream: UInt32,
        _ read: @escaping NextPage
    ) throws(ServiceError) {
        // The other half of the connection's calls is for those that have an end.
        let most = max(1, limits.streamsPerConnection / 2)
        guard inOrder(where: { $0.isFollowed }).count < most else {
            throw .overloaded("more than \(most) streams are followed on one connection")
        }
        guard let call = self[stream] else { return }
        makeEndless(stream, patience: nil)
        call.pacing = Pacing()
        watchAccounts()
        readLater(stream, read)
    }

    /// What comes after a page of an answer.
    func advance(_ call: OpenCall, _ stream: UInt32, after page: Page) {
        if !page.isSilent { call.pacing?.told(now: node.environment.now()) }
        guard let next = page.next else {
            call.step = .complete
            return
        }
        guard let news = page.news else {
            call.step = .next(next)
            return
        }
        let wait = BellWait(node.gate.bell)
        // The bell may have rung meanwhile: then it calls back at once.
        call.step = .idle(next, wait, until: news.until)
        wait.begin(after: news.rings, of: news.scope, in: news.places) { [weak self] in
            self?.onLoop { $0.wakeUp(stream) }
        }
    }

    /// Something was committed: a stream that waits may go on.
    private func wakeUp(_ stream: UInt32) {
        guard let call = self[stream], case .idle(let next, _, _) = call.step else { return }
        let now = node.environment.now()
        let time = call.pacing?.readTime(now: now) ?? now
        if time > now, call.credit > 0 {
            call.step = .retry(next, at: time)
        } else {
            call.step = .next(next)
            sendWaiting(stream)
        }
    }
}
