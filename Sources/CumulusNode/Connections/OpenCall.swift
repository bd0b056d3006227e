// One call in progress: what its connection remembers of it until its stream ends.
//
// An object, so that a step of a call changes it in place. Owned by `OpenCalls`, touched on its
// loop only. hot: one per call.

import CumulusModel
import CumulusStorage
import CumulusWire

/// What a caller sent to begin a call.
struct Call: Sendable {
    var stream: UInt32
    var header: CallHeader
    var message: Bytes
    /// No further message comes.
    var isEnd = true
    /// What a caller in this process sends in place of the message; nil for others.
    var value: ValueCall?

    var byteCount: Int { value?.byteCount ?? message.count }
}

/// A call whose caller goes on to send messages: what becomes of them.
protocol CallInput: AnyObject {
    /// Takes the next message; throws when the caller had no right to send it.
    func receive(_ message: Bytes, isEnd: Bool) throws(ProtocolFault)
    /// When the caller has been silent too long; nil while it is this node's turn.
    var deadline: Instant? { get }
}

final class OpenCall {
    /// Where a call stands: at one of these at a time.
    enum Step {
        /// A thread of the store or a task works for it, or its caller is about to send more.
        case working
        /// It has not begun: this node has yet to read what its caller saw elsewhere.
        case behind(BehindCall)
        /// Its answer is held back until other nodes have the change.
        case held(HeldAnswer)
        /// The next page is read once the caller has credit.
        case next(NextPage)
        /// The next page waits until something is committed.
        case idle(NextPage, BellWait, until: Instant?)
        /// The next page waits until the peer has taken others.
        case turn(NextPage)
        /// The next page had no room; it is read again at a time.
        case retry(NextPage, at: Instant)
        /// All of the answer is known; what is not sent yet waits for credit.
        case complete
    }

    var step = Step.working
    let token: CallToken
    /// When it began, in the environment's nanoseconds.
    let start: UInt64
    /// nil if this release does not know the method.
    let method: Method?
    let requestID: Bytes
    /// The trace that it belongs to; nil if its caller named none.
    let trace: TraceContext?
    /// That an operator named.
    let container: Bytes
    /// The call by value of a caller in this process; nil for others.
    let value: ValueCall?
    /// What the call is about, for the audit log.
    var target = ""
    /// It gets a line in the audit log, however it ends.
    var isAct = false
    /// Shares that ended with zones which it deleted.
    var endedShares: EndedShares?
    /// An item that the caller had no right to.
    var refused: RefusedItem?
    /// It counts for what its caller may do at once.
    var isInBudget = true
    /// It has no deadline and goes on until its caller cancels it.
    var isEndless = false
    /// How soon the call goes on after news; nil means that its caller follows no stream.
    var pacing: Pacing?
    /// For how long its next page gathers news, see `AwaitedNews`.
    var gathering: (@Sendable () -> Int64)?
    /// How long an answer may wait for credit, in milliseconds; nil: until the call's deadline.
    var patience: Int64?
    /// When the answer has waited for credit too long.
    var stallDeadline: Instant?
    /// Bytes of the request, charged to the connection until a thread takes them over.
    var requestBytes: Int
    /// Bytes of answer that the caller has room for; may go below zero by one message.
    var credit: Int
    /// Messages that wait for credit.
    var waiting: [MessagePieces] = []
    /// Takes what the caller sends after its first message; nil means it may send nothing.
    var input: (any CallInput)?
    /// Reads its next page on the loop, see `AwaitedNews`; nil means a reader thread does.
    var fromMemory: NextPage?
    /// Its pages are read from packs, not from the store.
    var readsAssets = false
    /// The last pause before a page was read again, in milliseconds.
    var pause: Int64?
    /// Part of the answer is on its way; or, of a followed stream, a page was read.
    var hasAnswered = false
    /// The call has waited for what its caller saw; what was lost of that is not waited for again.
    var hasWaited = false
    /// When the call has waited for that long enough; nil means it has not waited.
    var waitDeadline: Instant?

    init(
        token: CallToken,
        of header: CallHeader,
        start: UInt64,
        requestBytes: Int,
        credit: Int,
        value: ValueCall? = nil
    ) {
        self.token = token
        self.start = start
        method = Method(rawValue: header.method)
        requestID = header.requestID
        trace =
            header.traceContext.isEmpty ? nil : TraceContext(traceparent: header.traceContext)
        container = header.container
        self.value = value
        self.requestBytes = requestBytes
        self.credit = credit
    }

    /// Bytes of answer that wait for credit, or are held back.
    var waitingBytes: Int {
        waiting.reduce(held?.byteCount ?? 0) { $0 + $1.count }
    }

    var behind: BehindCall? {
        if case .behind(let behind) = step { behind } else { nil }
    }

    var held: HeldAnswer? {
        if case .held(let held) = step { held } else { nil }
    }

    /// When the next page is read again; nil means it is not waiting for that.
    var retryTime: Instant? {
        switch step {
        case .retry(_, let time): time
        case .idle(_, _, let time): time
        case .working, .next, .behind, .held, .turn, .complete: nil
        }
    }

    var isFollowed: Bool { pacing != nil }

    var isComplete: Bool {
        if case .complete = step { true } else { false }
    }

    /// Whether the answer has begun and goes on when its caller has room for it.
    var isWaiting: Bool {
        switch step {
        case .next, .turn, .retry: true
        case .working, .behind, .held, .idle, .complete: !waiting.isEmpty
        }
    }

    /// When the call ends because it can't begin, or its caller is too slow; nil means never.
    var deadline: Instant? {
        if let behind { return behind.deadline }
        if let held { return held.deadline }
        if let input { return input.deadline }
        return isWaiting ? stallDeadline ?? (isEndless ? nil : token.deadline) : nil
    }

    /// Takes the page that may be read now out of the call; nil means there is no such page.
    func takePage() -> NextPage? {
        switch step {
        case .next(let page), .retry(let page, _):
            step = .working
            return page
        case .working, .behind, .held, .idle, .turn, .complete: return nil
        }
    }
}

/// Reads the next page, on a reader thread or on the loop.
typealias NextPage = @Sendable () throws -> Page

/// One message of an answer, and how to read the one after it.
///
/// A large answer is never in memory as a whole: a page is read when its caller has room for it. A
/// caller may take as long as it likes for that, so each page asks anew for the rights that it
/// needs, in the newest state; what it tells may be of the state in which the call began.
struct Page: Sendable {
    var message: MessagePieces
    /// What a caller in this process gets in place of the message.
    var value: PartOfValue?
    /// nil means this is the last one.
    var next: NextPage?
    /// The next page waits for these; nil means it does not wait.
    var news: AwaitedNews?
    /// There is nothing to tell: the message is not sent.
    var isSilent = false
    /// An item of it that the caller had no right to.
    var refused: RefusedItem?

    var byteCount: Int { value?.byteCount ?? message.count }
}

extension Page {
    init(message: Bytes, next: NextPage? = nil) {
        self.init(message: MessagePieces(message), next: next)
    }

    /// A turn on a reader thread that did not finish a message: nothing is sent before the next
    /// one.
    static func unfinished(_ next: @escaping NextPage) -> Page {
        var page = Page(message: [], next: next)
        page.isSilent = true
        return page
    }
}

extension Page {
    /// An answer that is in memory.
    ///
    /// - Parameter messages: At least one.
    init(_ messages: [Bytes]) {
        self.init(messages[...])
    }

    private init(_ messages: ArraySlice<Bytes>) {
        let rest = messages.dropFirst()
        self.init(message: messages.first ?? [])
        if !rest.isEmpty { next = { Page(rest) } }
    }
}

extension Array {
    /// In parts of about so many bytes; one part if there is nothing.
    func parts(byteLimit: Int, _ size: (Element) -> Int) -> [ArraySlice<Element>] {
        var parts: [ArraySlice<Element>] = []
        var (start, bytes) = (startIndex, 0)
        for index in indices {
            // With the tag and the length around it.
            let next = size(self[index]) + 8
            if bytes > 0, bytes + next > byteLimit {
                parts.append(self[start..<index])
                (start, bytes) = (index, 0)
            }
            bytes += next
        }
        return parts + [self[start...]]
    }
}
