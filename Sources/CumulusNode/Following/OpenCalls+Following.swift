// A stream that a caller follows: pages until the caller is up to date, then a page when its scope
// has news. It has no deadline, and ends when the caller cancels it or a page throws.
//
// A handler begins it with `CallContext.follow` and the function that reads the next page. Each
// page says which news the page after it waits for. A waiting follower holds that function and a
// wait for the bell, but no thread, timer or bytes. Once its news has come, a page that is in
// memory is read on the loop. A follower without credit holds the function, and goes on when credit
// comes.
//
// Folder: streams that wait for news. Read `OpenCalls+Following`, then `FollowCalls`, which follows
// changes, `CommonPages` and `Pacing`.

import CumulusModel
import CumulusStorage
import CumulusWire

/// The news that a stream waits for before its next page is read.
struct AwaitedNews: Sendable {
    var scope: ScopeNumber
    /// How often the bell had rung for the scope before the last page was read.
    var rings: UInt64
    /// The parts of the scope whose changes are news; nil means the whole scope.
    var places: [NewsPlace]?
    /// When the next page is read even without news; nil means never.
    var until: Instant?
    /// For how many milliseconds news is gathered before the next page is read, asked when the bell
    /// rings; nil means that the page is read at once.
    var gathering: (@Sendable () -> Int64)?
    /// Reads the next page on the loop, or throws `.notInMemory`; nil means it is read later.
    var fromMemory: NextPage?
}

extension CallContext {
    /// Answers with pages until the caller cancels the call, or `read` throws.
    func follow(_ read: @escaping NextPage) throws(ServiceError) {
        try calls.follow(call.stream, read)
    }
}

extension OpenCalls {
    fileprivate func follow(
        _ stream: UInt32,
        _ read: @escaping NextPage
    ) throws(ServiceError) {
        // Half of the connection's streams are for calls that end by themselves.
        let most = max(1, limits.streamsPerConnection / 2)
        guard inOrder(where: { $0.isFollowed }).count < most else {
            throw .overloaded("more than \(most) streams are followed on one connection")
        }
        guard let call = self[stream] else { return }
        makeEndless(stream, patience: nil)
        leaveBudget(call)
        call.pacing = Pacing()
        node.meter.followers.add(1)
        watchAccounts()
        readLater(stream, read)
    }

    /// Decides what a call does after a page.
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
        // If the bell has rung since the page was read, it calls back at once.
        call.step = .idle(next, wait, until: news.until)
        call.gathering = news.gathering
        call.fromMemory = news.fromMemory
        wait.begin(after: news.rings, of: news.scope, in: news.places) { [weak self] in
            self?.onLoop { $0.wakeUp(stream) }
        }
    }

    /// Lets a waiting stream go on after a commit.
    private func wakeUp(_ stream: UInt32) {
        guard let call = self[stream], case .idle(let next, let wait, _) = call.step else { return }
        let now = node.environment.now()
        if let gathering = call.gathering?(), gathering > 0 {
            // It has rung, and does not ring again.
            call.step = .idle(next, wait, until: now + gathering)
            return
        }
        let time = call.pacing?.readTime(now: now) ?? now
        if time > now, call.credit > 0 {
            call.step = .retry(next, at: time)
        } else {
            call.step = .next(next)
            sendWaiting(stream)
        }
    }
}
