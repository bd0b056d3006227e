// One call in progress: what the session must remember about it until its stream ends.
//
// Objects, so that a step of a call changes one in place; owned by `ClientSession`, touched on its
// loop only.

import CumulusModel
import CumulusStorage
import CumulusWire

/// What a call brought.
struct Call: Sendable {
    var stream: UInt32
    var header: CallHeader
    var message: Bytes
    /// No further message comes.
    var isEnd = true
}

final class CallState {
    let token: CallToken
    /// For the log; nil: one that this release doesn't know.
    let method: Method?
    let requestID: Bytes
    /// It has no deadline and goes on until its caller cancels it.
    var isEndless = false
    /// How long an answer may wait for credit, in milliseconds; nil: until the call's deadline.
    var patience: Int64?
    /// When it has waited too long.
    var stallDeadline: Instant?
    /// Bytes of the request, charged to the connection until the call ends.
    var requestBytes: Int
    /// Bytes of answer that the caller has room for; may go below zero by one message.
    var credit: Int
    /// Messages that wait for credit, and whether they are all.
    var waiting: [MessagePieces] = []
    var isComplete = false
    /// What comes of an upload; nil: the call is none.
    var upload: ChunkUpload?
    /// Its pages are read from packs, not from the store.
    var readsAssets = false
    /// Reads the next page of the answer; nil: there is none, or it is being read now.
    var next: NextPage?
    /// The same, but there is nothing before something is committed.
    var idle: NextPage?
    /// Its wait for that.
    var wait: BellWait?
    /// The next page had no room: how long it was waited since, and when it is tried again.
    var pause: Int64?
    var retry: Instant?
    /// The next page waits until the peer has taken others.
    var waitsForRoom = false

    init(token: CallToken, of header: CallHeader, requestBytes: Int, credit: Int) {
        self.token = token
        method = Method(rawValue: header.method)
        requestID = header.requestID
        self.requestBytes = requestBytes
        self.credit = credit
    }

    var waitingBytes: Int {
        waiting.reduce(held?.byteCount ?? 0) { $0 + $1.count }
    }

    /// The answer has begun and goes on when its caller has room for it.
    var isWaiting: Bool { !waiting.isEmpty || next != nil }

    /// It has not begun: this node has yet to read what its caller saw elsewhere.
    var behind: BehindCall?
    /// It has waited for what its caller saw: what is lost of that is not waited for again.
    var hasWaited = false
    /// When it has waited for that long enough; nil: it has not waited.
    var waitDeadline: Instant?
    /// Its answer is held back until other nodes have what it tells.
    var held: HeldAnswer?

    /// When a call ends that can't begin, or whose answer waits for credit.
    var deadline: Instant? {
        if let behind { return behind.deadline }
        if let held { return held.deadline }
        if let upload { return upload.stallDeadline }
        return isWaiting ? stallDeadline ?? (isEndless ? nil : token.deadline) : nil
    }
}

/// On a reader thread.
typealias NextPage = @Sendable () throws -> Page

/// One message of an answer, and how to read the one after it.
///
/// A large answer is never in memory as a whole: a page is read when its caller has room for it,
/// from the snapshot in which the call began.
struct Page: Sendable {
    var message: MessagePieces
    /// nil: this is the last one.
    var next: NextPage?
    /// There is nothing more before the bell, which had rung so often, rings again for the scope.
    var idle: (scope: ScopeNumber, rings: UInt64)?
    /// There is nothing to tell: the message is not sent.
    var isSilent = false
}

extension Page {
    init(message: Bytes, next: NextPage? = nil) {
        self.init(message: MessagePieces(message), next: next)
    }

    /// A list that is in memory, in as many messages as it takes: a frame holds so many items of
    /// any kind.
    init<Item: Sendable>(
        _ items: ArraySlice<Item>,
        perMessage count: Int = 1_000,
        encode: @escaping @Sendable (ArraySlice<Item>) -> Bytes
    ) {
        let rest = items.dropFirst(count)
        self.init(message: encode(items.prefix(count)))
        if rest.isEmpty { return }
        next = { Page(rest, perMessage: count, encode: encode) }
    }
}

extension [UInt32: CallState] {
    /// As they began.
    var inOrder: [(stream: UInt32, call: CallState)] {
        sorted { $0.key < $1.key }.map { ($0, $1) }
    }
}
